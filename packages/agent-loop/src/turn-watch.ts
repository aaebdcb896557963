/**
 * Which turn answers a run's message, and when that turn is over. Owns one set of listeners for all
 * runs of the host; a watch is a place in a table, so that a run costs no listener of its own. Knows
 * every turn that is open, ours or not. Sends nothing except the wake of a parked inbox.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { createUserMessage, MessageId } from '@deepseek-ai/dsh-llm'
import type { Session, SessionEvent, TurnEndReason } from '@deepseek-ai/dsh-session'
import { runMessageIdOf } from './run-message.ts'
import { isProgress } from './session-trace.ts'

export type WatchOutcome =
  | { readonly kind: 'ended'; readonly turn: number; readonly reason: TurnEndReason }
  /** Somebody took the message out of the inbox. */
  | { readonly kind: 'discarded' }
  /** The agent went away with the message. */
  | { readonly kind: 'disposed' }
  /** The agent came to rest with a steer unread. */
  | { readonly kind: 'parked' }

/** `steer`: it is for the open turn, and nothing wakes the agent for it. */
export type WatchKind = 'turn' | 'steer'

export interface WatchOptions {
  readonly kind: WatchKind
  /** The turn that already took the message, when it is still running. */
  readonly turn?: number
  /** The agent did something for the turn that took the message. */
  readonly onProgress?: () => void
}

/** One message under observation; made by {@link TurnWatcher.watch}. */
export class TurnWatch {
  readonly agent: Agent
  readonly messageId: string
  readonly kind: WatchKind
  readonly onProgress: (() => void) | undefined
  /** Never rejects; never settles after {@link close}. */
  readonly outcome: Promise<WatchOutcome>
  /** Resolves with the turn that took the message, once one did. */
  readonly claimed: Promise<number>
  /** The reason of the last turn that closed while the message waited behind it. */
  lastReason: TurnEndReason | undefined
  private claimedBy: number | undefined
  private readonly claim: (turn: number) => void
  private readonly resolve: (outcome: WatchOutcome) => void
  private readonly release: () => void

  constructor(agent: Agent, messageId: string, options: WatchOptions, release: () => void) {
    this.agent = agent
    this.messageId = messageId
    this.kind = options.kind
    this.onProgress = options.onProgress
    this.release = release
    const outcome = Promise.withResolvers<WatchOutcome>()
    this.outcome = outcome.promise
    this.resolve = outcome.resolve
    const claimed = Promise.withResolvers<number>()
    this.claimed = claimed.promise
    this.claim = claimed.resolve
    if (options.turn !== undefined) this.take(options.turn)
  }

  /** The turn that took the message, once one did. */
  get turn(): number | undefined {
    return this.claimedBy
  }

  get isPending(): boolean {
    const { nextTurn, nextStep } = this.agent.inbox
    return [...nextTurn, ...nextStep].some((message) => message.id === this.messageId)
  }

  take(turn: number): void {
    this.claimedBy = turn
    this.claim(turn)
  }

  /** Takes the message back out of the inbox. @returns whether it was still there. */
  withdraw(): boolean {
    this.close()
    return this.agent.inbox.remove(MessageId(this.messageId))
  }

  end(outcome: WatchOutcome): void {
    this.close()
    this.resolve(outcome)
  }

  /** Ends the observation. Idempotent. */
  close(): void {
    this.release()
  }
}

/** A turn that is open. */
export interface OpenTurn {
  readonly turn: number
  /** It began with a message of ours. */
  isOurs: boolean
  /** It took a message in its first step, so that what it is is certain. */
  isKnown: boolean
}

/** Told synchronously, inside DSH's own dispatch. */
export interface TurnListener {
  opened(agentId: string): void
  /** The turn has claimed its first messages. */
  begun(agentId: string, turn: OpenTurn): void
  claimed(watch: TurnWatch, turn: number): void
  closed(agentId: string, turn: OpenTurn, reason: TurnEndReason): void
}

export class TurnWatcher {
  private readonly watches = new Map<string, Map<string, TurnWatch>>()
  private readonly turns = new Map<string, OpenTurn>()
  /** Agents whose inbox our own cancel parked; woken when they come to rest. */
  private readonly toWake = new Set<Agent>()
  private readonly listener: TurnListener

  /** @param ctx owns the listeners; a plain plugin context hears every agent. */
  constructor(ctx: Context, listener: TurnListener) {
    this.listener = listener
    ctx.on('agent/inbox/claimed', ({ agent, message, turn }) => this.onClaimed(agent, message.id, turn))
    ctx.on('agent/inbox/discarded', ({ agent, message }) => {
      this.find(agent.id, message.id)?.end({ kind: 'discarded' })
    })
    ctx.on('session/event', (session, event) => this.onSessionEvent(session, event))
    ctx.on('agent/status', ({ agent, status }) => {
      if (status === 'idle') this.onIdle(agent)
    })
    ctx.on('agent/disposed', ({ agent }) => this.onDisposed(agent))
  }

  /** Takes up turns that were open before this host was loaded. */
  resume(agents: Iterable<Agent>): void {
    for (const agent of agents) {
      const turn = agent.status === 'running' ? openTurnOf(agent.session.events) : undefined
      if (turn === undefined) continue
      const isOurs = isTurnOfRun(agent.session.events, turn)
      const open = { turn, isOurs, isKnown: true }
      this.turns.set(agent.id, open)
      if (isOurs) continue
      this.listener.opened(agent.id)
      this.listener.begun(agent.id, open)
    }
  }

  /** Observes one message of an agent; the same message is observed once, a new watch replaces the old. */
  watch(agent: Agent, messageId: string, options: WatchOptions): TurnWatch {
    const watch: TurnWatch = new TurnWatch(agent, messageId, options, () => this.forget(watch))
    const ofAgent = this.watches.get(agent.id)
    if (ofAgent === undefined) this.watches.set(agent.id, new Map([[messageId, watch]]))
    else ofAgent.set(messageId, watch)
    if (options.turn !== undefined) {
      const open = this.turns.get(agent.id)
      if (open?.turn === options.turn) open.isOurs = true
    }
    return watch
  }

  open(agentId: string): Readonly<OpenTurn> | undefined {
    return this.turns.get(agentId)
  }

  /**
   * Lets an idle agent take up what its inbox holds; DSH parks an inbox at a restart, at a cancel and
   * at a failed turn. An agent that is not at rest yet is woken when it is.
   */
  wakeWhenIdle(agent: Agent): void {
    if (agent.status === 'idle') wake(agent)
    else this.toWake.add(agent)
  }

  private find(agentId: string, messageId: string): TurnWatch | undefined {
    return this.watches.get(agentId)?.get(messageId)
  }

  private forget(watch: TurnWatch): void {
    const ofAgent = this.watches.get(watch.agent.id)
    if (ofAgent?.get(watch.messageId) !== watch) return
    ofAgent.delete(watch.messageId)
    if (ofAgent.size === 0) this.watches.delete(watch.agent.id)
  }

  private onClaimed(agent: Agent, messageId: string, turn: number): void {
    const watch = this.find(agent.id, messageId)
    const open = this.turns.get(agent.id)
    if (open?.turn === turn && !open.isKnown && watch !== undefined) open.isOurs = true
    if (watch === undefined) return
    watch.take(turn)
    this.listener.claimed(watch, turn)
  }

  private onSessionEvent(session: Session, event: SessionEvent): void {
    if (event.type === 'turn/start') return this.onTurnStart(session.id, event.data.turn)
    if (event.type === 'turn/end') return this.onTurnEnd(session.id, event.data.turn, event.data.reason)
    const open = this.turns.get(session.id)
    const ofAgent = open === undefined ? undefined : this.watches.get(session.id)
    if (open === undefined || ofAgent === undefined || !isProgress(event)) return
    for (const watch of ofAgent.values()) if (watch.turn === open.turn) watch.onProgress?.()
  }

  private onTurnStart(agentId: string, turn: number): void {
    const open: OpenTurn = { turn, isOurs: false, isKnown: false }
    this.turns.set(agentId, open)
    this.listener.opened(agentId)
    // The loop claims the first messages in the same tick in which it opened the turn.
    queueMicrotask(() => {
      if (this.turns.get(agentId) !== open) return
      open.isKnown = true
      this.listener.begun(agentId, open)
    })
  }

  private onTurnEnd(agentId: string, turn: number, reason: TurnEndReason): void {
    const open = this.turns.get(agentId) ?? { turn, isOurs: false, isKnown: true }
    this.turns.delete(agentId)
    for (const watch of this.watches.get(agentId)?.values() ?? []) {
      if (watch.turn === turn) watch.end({ kind: 'ended', turn, reason })
      else watch.lastReason = reason
    }
    this.listener.closed(agentId, open, reason)
  }

  private onDisposed(agent: Agent): void {
    this.toWake.delete(agent)
    for (const watch of this.watches.get(agent.id)?.values() ?? []) {
      if (watch.agent === agent) watch.end({ kind: 'disposed' })
    }
    const open = this.turns.get(agent.id)
    if (open !== undefined) this.onTurnEnd(agent.id, open.turn, { kind: 'interrupted' })
  }

  private onIdle(agent: Agent): void {
    let isParked = false
    for (const watch of this.watches.get(agent.id)?.values() ?? []) {
      if (watch.turn !== undefined || !watch.isPending) continue
      if (watch.kind === 'steer') watch.end({ kind: 'parked' })
      else isParked ||= !isPersonsStop(watch.lastReason)
    }
    if (this.toWake.delete(agent) || isParked) wake(agent)
  }
}

/** The turn that a session has begun and not ended. */
function openTurnOf(events: readonly SessionEvent[]): number | undefined {
  const last = events.findLast((event) => event.type === 'turn/start' || event.type === 'turn/end')
  return last?.type === 'turn/start' ? last.data.turn : undefined
}

/** Whether the turn has a message of a run in it. */
function isTurnOfRun(events: readonly SessionEvent[], turn: number): boolean {
  const start = events.findLastIndex((event) => event.type === 'turn/start' && event.data.turn === turn)
  return events
    .slice(start)
    .some((event) => event.type === 'user/message' && runMessageIdOf(event.data.id) !== undefined)
}

/** After a person's stop nothing goes on by itself. */
export function isPersonsStop(reason: TurnEndReason | undefined): boolean {
  return reason?.kind === 'aborted' && reason.reason.kind === 'user'
}

/**
 * Opens the next turn of an idle agent. DSH has no bare wake: a message is sent and taken back, and
 * a wake sent while idle opens its turn even when its message is gone. No message of somebody else is
 * moved, and the one sent never reaches the conversation.
 */
function wake(agent: Agent): void {
  if (!agent.inbox.hasPending) return
  const probe = createUserMessage({
    content: [{ type: 'text', text: 'Continue with the queued message.' }],
    source: { kind: 'plugin', plugin: 'dsh-agent-loop-host' },
  })
  agent.send(probe, 'next-turn', true)
  agent.inbox.remove(probe.id)
}
