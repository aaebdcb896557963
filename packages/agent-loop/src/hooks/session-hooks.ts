/**
 * The hooks that tell what a session lives through: its start and end, its compactions, its commands and
 * the end of its turns. All of them only observe, and are told after the event is in the session log.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { SessionId, type Session, type TurnEndReason } from '@deepseek-ai/dsh-session'
import type { Clock } from '../clock.ts'
import { endingOfTurn } from '../settlement.ts'
import type { Announcer } from './announcer.ts'
import type { HookDispatcher } from './dispatcher.ts'
import { sessionFacts, type OpenTurn, type TurnBook } from './turn-book.ts'
import { isHookName } from './catalogue.ts'
import type { CommandHookName, HookEvent, HookName, SessionEndReason } from './types.ts'

/** Events of DSH packages whose types are not loaded here. */
interface ForeignEvent {
  readonly type: string
  readonly data: {
    readonly compactionId?: string
    readonly turn?: number | null
    readonly error?: string
    readonly shadowedSeqs?: readonly number[]
    readonly shadowedTokenCount?: number
    readonly name?: string
    readonly args?: string
  }
}

export interface SessionHooksPorts {
  readonly dispatcher: HookDispatcher
  readonly book: TurnBook
  readonly clock: Clock
  readonly announcer: Announcer
  /** Whether sessions end because the process does. */
  readonly isProcessGoing: () => boolean
}

export class SessionHooks {
  private readonly ports: SessionHooksPorts
  private readonly agents: Context['agents']
  /** Since when each agent is live, as seen from here. */
  private readonly live = new Map<Agent, number>()
  /** What the summary of a compaction under way took the place of. */
  private readonly summaries = new Map<string, { compactedCount: number; tokenCount?: number }>()

  /** @param ctx owns the listeners; injects `agents`. */
  constructor(ctx: Context, ports: SessionHooksPorts) {
    this.ports = ports
    this.agents = ctx.agents
    for (const agent of ctx.agents.list()) this.live.set(agent, ports.clock.now())
    ctx.on('agent/session-start', ({ agent, source }) => {
      this.live.set(agent, ports.clock.now())
      const facts = sessionFacts(agent.session)
      const resumed = source === 'resume' ? { resumedFrom: agent.id } : {}
      this.tell('session_start', () => ({ ...facts, source, ...resumed }))
      if (source === 'clear') this.tell('command:reset', () => ({ ...facts, action: 'reset' }))
    })
    ctx.on('agent/disposed', ({ agent }) => {
      // A publication that was rolled back began no session.
      if (!this.live.has(agent)) return
      const reason = ports.isProcessGoing() ? 'shutdown' : 'disposed'
      this.tell('session_end', () => this.end(agent, reason))
      this.live.delete(agent)
    })
    ctx.on('session/event', (session, event) => this.onEvent(session, event as unknown as ForeignEvent))
  }

  /** Tells that a turn is over, and that it was stopped if it was. */
  turnEnded(turn: OpenTurn, reason: TurnEndReason): void {
    if (reason.kind === 'aborted' && reason.reason.kind === 'user' && !turn.stopTold) {
      this.tell('command:stop', () => ({ ...sessionFacts(turn.agent.session), action: 'stop' }))
    }
    if (isWorthTelling(turn)) this.tell('agent_end', () => this.agentEnd(turn, reason))
  }

  /**
   * Ends every open turn and every session, as the process does; resolves when all were told. A handler
   * that hangs keeps nobody from hearing of the rest.
   */
  async endAll(): Promise<void> {
    const { announcer, book } = this.ports
    const cut: TurnEndReason = { kind: 'aborted', reason: { kind: 'disposed' } }
    for (const turn of book.all()) {
      if (isWorthTelling(turn)) this.tell('agent_end', () => this.agentEnd(turn, cut))
    }
    for (const agent of this.live.keys()) this.tell('session_end', () => this.end(agent, 'shutdown'))
    await announcer.drain()
  }

  private end(agent: Agent, reason: SessionEndReason): HookEvent<'session_end'> {
    const now = this.ports.clock.now()
    const since = this.live.get(agent) ?? now
    return {
      ...sessionFacts(agent.session),
      messageCount: agent.session.deriveMessages().length,
      durationMs: now - since,
      reason,
    }
  }

  private agentEnd(turn: OpenTurn, reason: TurnEndReason): HookEvent<'agent_end'> {
    const { state, error } = endingOfTurn(reason)
    return {
      ...turn.attemptFacts,
      messages: turn.agent.session.deriveMessages(),
      success: state === 'ok',
      reason: reason.kind,
      ...(error === undefined ? {} : { error }),
      durationMs: this.ports.clock.now() - turn.startedAt,
    }
  }

  private onEvent(session: Session, { type, data }: ForeignEvent): void {
    if (type === 'command/run') this.onCommand(session, data)
    else if (type === 'compaction/start') this.onCompaction('before_compaction', session, data)
    else if (type === 'compaction/summary') this.noteSummary(data)
    else if (type === 'compaction/end') this.onCompaction('after_compaction', session, data)
  }

  private onCommand(session: Session, { name = '', args }: ForeignEvent['data']): void {
    const hook: CommandHookName = `command:${name}`
    if (!isHookName(hook)) return
    const agent = this.agents.get(SessionId(session.id))
    const turn = agent === undefined ? undefined : this.ports.book.current(agent)
    if (name === 'stop' && turn !== undefined) turn.stopTold = true
    const said = args === undefined || args.trim() === '' ? {} : { args: args.trim() }
    this.tell(hook, () => ({ ...sessionFacts(session), action: name, ...said }))
  }

  private noteSummary({ compactionId, shadowedSeqs, shadowedTokenCount }: ForeignEvent['data']): void {
    if (compactionId === undefined) return
    this.summaries.set(compactionId, {
      compactedCount: shadowedSeqs?.length ?? 0,
      ...(shadowedTokenCount === undefined ? {} : { tokenCount: shadowedTokenCount }),
    })
  }

  private onCompaction(
    hook: 'before_compaction' | 'after_compaction',
    session: Session,
    { compactionId = '', turn, error }: ForeignEvent['data'],
  ): void {
    const summary = this.summaries.get(compactionId) ?? { compactedCount: 0 }
    if (hook === 'after_compaction') this.summaries.delete(compactionId)
    if (!this.ports.dispatcher.has(hook)) return
    const agent = this.agents.get(SessionId(session.id))
    const open = agent === undefined ? undefined : this.ports.book.current(agent)
    const facts = {
      ...sessionFacts(session),
      ...(open !== undefined && open.turn === turn ? open.attemptFacts : {}),
      compactionId,
      messageCount: session.deriveMessages().length,
    }
    if (hook === 'before_compaction') this.tell(hook, () => facts)
    else {
      const outcome = { success: error === undefined, ...(error === undefined ? {} : { error }) }
      this.tell(hook, () => ({ ...facts, ...outcome, ...summary }))
    }
  }

  private tell<N extends HookName>(hook: N, eventOf: () => HookEvent<N>): void {
    const { announcer, dispatcher } = this.ports
    if (!dispatcher.has(hook)) return
    const event = eventOf()
    announcer.push(() => dispatcher.observe(hook, event))
  }
}

/** A turn that took nothing and asked nobody is none. */
function isWorthTelling({ messages, hasStep }: OpenTurn): boolean {
  return messages.length > 0 || hasStep
}
