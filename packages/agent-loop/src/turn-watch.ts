/**
 * Which turn answers a run's message, and when that turn is over. Owns one set of listeners for all
 * runs of the host; a watch is a place in a table, so that a run costs no listener of its own.
 * Sends nothing except the wake of a parked inbox.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { createUserMessage, MessageId } from '@deepseek-ai/dsh-llm'
import type { Session, SessionEvent, TurnEndReason } from '@deepseek-ai/dsh-session'

export type WatchOutcome =
  | { readonly kind: 'ended'; readonly turn: number; readonly reason: TurnEndReason }
  /** Somebody took the message out of the inbox. */
  | { readonly kind: 'discarded' }
  /** The agent went away with the message. */
  | { readonly kind: 'disposed' }

/** One message under observation; made by {@link TurnWatcher.watch}. */
export class TurnWatch {
  readonly agent: Agent
  readonly messageId: string
  /** The turn that took the message, once one did. */
  turn: number | undefined
  /** Never rejects; never settles after {@link close}. */
  readonly outcome: Promise<WatchOutcome>
  /** The reason of the last turn that closed while the message waited behind it. */
  lastReason: TurnEndReason | undefined
  private readonly resolve: (outcome: WatchOutcome) => void
  private readonly release: () => void

  constructor(agent: Agent, messageId: string, turn: number | undefined, release: () => void) {
    this.agent = agent
    this.messageId = messageId
    this.turn = turn
    this.release = release
    const { promise, resolve } = Promise.withResolvers<WatchOutcome>()
    this.outcome = promise
    this.resolve = resolve
  }

  get isPending(): boolean {
    const { nextTurn, nextStep } = this.agent.inbox
    return [...nextTurn, ...nextStep].some((message) => message.id === this.messageId)
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

export class TurnWatcher {
  private readonly watches = new Map<string, TurnWatch>()
  /** Agents whose inbox our own cancel parked; woken when they come to rest. */
  private readonly toWake = new Set<Agent>()

  /** @param ctx owns the listeners; a plain plugin context hears every agent. */
  constructor(ctx: Context) {
    ctx.on('agent/inbox/claimed', ({ agent, message, turn }) => {
      const watch = this.watches.get(agent.id)
      if (watch?.messageId === message.id) watch.turn = turn
    })
    ctx.on('agent/inbox/discarded', ({ agent, message }) => {
      const watch = this.watches.get(agent.id)
      if (watch?.messageId === message.id) watch.end({ kind: 'discarded' })
    })
    ctx.on('session/event', (session, event) => this.onSessionEvent(session, event))
    ctx.on('agent/status', ({ agent, status }) => {
      if (status === 'idle') this.onIdle(agent)
    })
    ctx.on('agent/disposed', ({ agent }) => {
      this.toWake.delete(agent)
      const watch = this.watches.get(agent.id)
      if (watch?.agent === agent) watch.end({ kind: 'disposed' })
    })
  }

  /**
   * Observes one message of an agent; a session has one watch at a time, a new one replaces the old.
   *
   * @param turn the turn that already took the message, when it is still running.
   */
  watch(agent: Agent, messageId: string, turn?: number): TurnWatch {
    const watch: TurnWatch = new TurnWatch(agent, messageId, turn, () => {
      if (this.watches.get(agent.id) === watch) this.watches.delete(agent.id)
    })
    this.watches.set(agent.id, watch)
    return watch
  }

  /**
   * Lets an idle agent take up what its inbox holds; DSH parks an inbox at a restart, at a cancel and
   * at a failed turn. An agent that is not at rest yet is woken when it is.
   */
  wakeWhenIdle(agent: Agent): void {
    if (agent.status === 'idle') wake(agent)
    else this.toWake.add(agent)
  }

  private onSessionEvent(session: Session, event: SessionEvent): void {
    if (event.type !== 'turn/end') return
    const watch = this.watches.get(session.id)
    if (watch === undefined) return
    const { turn, reason } = event.data
    if (watch.turn === turn) watch.end({ kind: 'ended', turn, reason })
    else watch.lastReason = reason
  }

  private onIdle(agent: Agent): void {
    const watch = this.watches.get(agent.id)
    const isParked = watch?.turn === undefined && watch?.isPending === true
    if (this.toWake.delete(agent) || (isParked && !isPersonsStop(watch.lastReason))) wake(agent)
  }
}

/** After a person's stop nothing goes on by itself. */
function isPersonsStop(reason: TurnEndReason | undefined): boolean {
  return reason?.kind === 'aborted' && reason.reason.kind === 'user'
}

/**
 * Opens the next turn of an idle agent. DSH has no bare wake: a message is sent and taken back, and
 * a wake sent while idle opens its turn even when its message is gone. No message of somebody else is
 * moved, and the one sent never reaches the conversation.
 */
function wake(agent: Agent): void {
  if (agent.inbox.nextTurn.length === 0) return
  const probe = createUserMessage({
    content: [{ type: 'text', text: 'Continue with the queued message.' }],
    source: { kind: 'plugin', plugin: 'dsh-agent-loop-host' },
  })
  agent.send(probe, 'next-turn', true)
  agent.inbox.remove(probe.id)
}
