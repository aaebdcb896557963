/**
 * Drives one run from its place at the head of the lane to its ending:
 *
 *     open the agent ─► look for the message in the session ─► write `started` ─► send ─► turn ends
 *
 * Owns the run's limits. Decides how the run ends and leaves the writing of it to the host.
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { Session, TurnEndReason, UserMessage } from '@deepseek-ai/dsh-session'
import type { Clock } from './clock.ts'
import { Deadline, type Limits } from './deadline.ts'
import type { Openers } from './openers.ts'
import { promptReport } from './prompt-report.ts'
import { ForeignSession } from './resume-session.ts'
import type { RunControl } from './run-control.ts'
import { continuationIdOf, continuationMessage } from './run-message.ts'
import type { RunRecord, Settlement } from './run-record.ts'
import { readTurn, traceMessage, type MessageTrace } from './session-trace.ts'
import { endingOfStop, endingOfTurn, failed, interrupted, isCutOff, type Stop } from './settlement.ts'
import type { TurnWatch, TurnWatcher, WatchOutcome } from './turn-watch.ts'

/** How often an agent may vanish between its opening and the sending. */
const MAX_OPENINGS = 3
/** How often a message is handed over that ends the process each time before it is read. */
const MAX_HANDOVERS = 10

/** A run whose message is about to be handed over, and the runs that are told with it. */
export interface StartedRun {
  readonly run: RunRecord
  readonly members: readonly RunRecord[]
}

export interface RunnerPorts {
  readonly clock: Clock
  readonly openers: Openers
  readonly watcher: TurnWatcher
  /** Makes the session's log durable. */
  readonly flush: (session: Session) => Promise<unknown>
  /** Writes the `started` entry. @returns the run as it is now, or none when it is settled already. */
  readonly markStarted: (run: RunRecord, via: 'turn' | 'steer') => Promise<StartedRun | undefined>
  /** The user message of a run. @throws what makes the message impossible. */
  readonly compose: (started: StartedRun) => Promise<UserMessage | undefined>
  readonly limitsOf: (run: RunRecord) => Limits
  /** What goes out of a run's settlement: its payloads, and what hooks make of its reply. */
  readonly letOut: (
    run: RunRecord,
    session: Session | undefined,
    settlement: Settlement,
  ) => Promise<Settlement>
  /** How long a stopped turn may take to end before the lane goes on. */
  readonly graceMs: number
  readonly afterCrash: 'interrupt' | 'resume'
  /** Whether a session that cannot be opened here may be one of another host. */
  readonly hasOtherHosts: boolean
  /** How often a message is tried that the agent does not take, and a turn that is cut off. */
  readonly attempts: number
  /** Ends whatever of the turn does not heed its cancellation. */
  readonly forceRelease: (agent: Agent, turn: number) => void
}

/**
 * - `settled`: this is how it ended.
 * - `retry`: its message could not be handed over, which may pass.
 * - `left`: the host let go of it, or the log has its end already.
 * - `elsewhere`: another host can open its session, and this one cannot.
 */
export type RunEnd =
  | { readonly kind: 'settled'; readonly settlement: Settlement }
  | { readonly kind: 'retry'; readonly settlement: Settlement }
  | { readonly kind: 'left' }
  | { readonly kind: 'elsewhere' }

export const LEFT: RunEnd = { kind: 'left' }
export const ended = (settlement: Settlement | undefined): RunEnd =>
  settlement === undefined ? LEFT : { kind: 'settled', settlement }

/** @param isFresh it is marked as started, and nothing was handed over yet. */
export async function driveRun(
  run: RunRecord,
  control: RunControl,
  ports: RunnerPorts,
  isFresh: boolean,
): Promise<RunEnd> {
  const deadline = new Deadline(ports.clock, ports.limitsOf(run), (limit) => control.stop(limit))
  try {
    const drive = new RunDrive(run, control, ports, deadline)
    return await drive.letOut(await drive.drive(isFresh))
  } finally {
    deadline.close()
  }
}

interface Over {
  readonly kind: 'over'
  readonly end: RunEnd
}
/** `vanished`: the agent has to be opened again. */
type Delivery = Over | { readonly kind: 'watch'; readonly watch: TurnWatch } | { readonly kind: 'vanished' }

const over = (end: RunEnd): Over => ({ kind: 'over', end })

class RunDrive {
  /** With its request, also when it is settled meanwhile. */
  private started: StartedRun
  private readonly control: RunControl
  private readonly ports: RunnerPorts
  private readonly deadline: Deadline
  /** Where its turn is. */
  private session: Session | undefined

  constructor(run: RunRecord, control: RunControl, ports: RunnerPorts, deadline: Deadline) {
    this.started = { run, members: [] }
    this.control = control
    this.ports = ports
    this.deadline = deadline
  }

  private get run(): RunRecord {
    return this.started.run
  }

  async drive(isFresh: boolean): Promise<RunEnd> {
    for (let opening = 0; opening < MAX_OPENINGS; opening += 1) {
      const opened = await this.openAgent()
      if (opened.kind === 'over') return opened.end
      const delivered = await this.deliver(opened.agent, isFresh && opening === 0)
      if (delivered.kind === 'over') return delivered.end
      if (delivered.kind === 'watch') return ended(await this.follow(delivered.watch))
    }
    return ended(interrupted('the agent was disposed before it took the message'))
  }

  /** What leaves of the run's end. */
  async letOut(end: RunEnd): Promise<RunEnd> {
    if (end.kind !== 'settled') return end
    return ended(await this.ports.letOut(this.run, this.session, end.settlement))
  }

  private async openAgent(): Promise<Over | { kind: 'agent'; agent: Agent }> {
    const opening = this.ports.openers.open(this.run.sessionId, this.control.signal)
    // A stopped run does not wait for its opener; a late failure of it concerns nobody.
    opening.catch(() => undefined)
    try {
      const agent = await Promise.race([opening, this.control.ended])
      return this.checkReins() ?? (agent === undefined ? over(LEFT) : this.checkPlace(agent))
    } catch (error) {
      if (error instanceof ForeignSession && this.ports.hasOtherHosts) {
        return this.checkReins() ?? over({ kind: 'elsewhere' })
      }
      const settlement = failed('open-failed', error)
      const isFinal = (error as { readonly code?: unknown }).code === 'session-not-found'
      return this.checkReins() ?? over({ kind: isFinal ? 'settled' : 'retry', settlement })
    }
  }

  private checkPlace(agent: Agent): Over | { kind: 'agent'; agent: Agent } {
    const asked = this.run.request?.cwd
    const { cwd } = agent.session.header
    if (asked === undefined || asked === cwd) return { kind: 'agent', agent }
    const text = `the session works in ${cwd ?? 'no folder'}, the run asks for ${asked}`
    return over(ended(failed('cwd-mismatch', text)))
  }

  /** The end of a run that was stopped or let go of before anything was sent. */
  private checkReins(): Over | undefined {
    const { released, stopped } = this.control
    if (released) return over(LEFT)
    return stopped === undefined ? undefined : over(ended(endingOfStop(stopped)))
  }

  /** Brings the message to the agent, unless an earlier attempt did, and observes it from before that. */
  private async deliver(agent: Agent, isFresh: boolean): Promise<Delivery> {
    this.session = agent.session
    let resumes = false
    if (this.run.attempt > 0 && !isFresh) {
      const earlier = await this.recover(agent)
      if (earlier === 'resume') resumes = true
      else if (earlier !== undefined) return earlier
    }
    if (this.run.attempt >= MAX_HANDOVERS) {
      return over(ended(failed('too-many-attempts', `it was handed over ${this.run.attempt} times`)))
    }
    const started = await this.ports.markStarted(this.run, 'turn')
    if (started?.run.request === undefined) return over(LEFT)
    this.started = started
    const message = await this.composeMessage(resumes)
    const stopped = this.checkReins()
    if (stopped !== undefined) return stopped
    if ('kind' in message) return message
    if (this.ports.openers.live(agent.id) !== agent) return { kind: 'vanished' }
    const watch = this.observe(agent, message.id)
    try {
      agent.followup(message)
      return { kind: 'watch', watch }
    } catch (error) {
      watch.close()
      return over({ kind: 'retry', settlement: failed('send-failed', error) })
    }
  }

  private async composeMessage(resumes: boolean): Promise<UserMessage | Over> {
    const { messageId, attempt } = this.run
    if (resumes) return continuationMessage(continuationIdOf(messageId, attempt))
    try {
      return (await this.ports.compose(this.started)) ?? over(LEFT)
    } catch (error) {
      return over(ended(failed('attachment-failed', error)))
    }
  }

  private observe(agent: Agent, messageId: string, turn?: number): TurnWatch {
    const onProgress = (): void => this.deadline.progress()
    return this.ports.watcher.watch(agent, messageId, {
      kind: 'turn',
      onProgress,
      ...(turn === undefined ? {} : { turn }),
    })
  }

  /** What became of an earlier attempt; nothing when the message has to be sent again. */
  private async recover(
    agent: Agent,
  ): Promise<Over | { kind: 'watch'; watch: TurnWatch } | 'resume' | undefined> {
    const { messageId, trace } = this.trace(agent)
    if (trace.kind === 'absent') return undefined
    if (trace.kind === 'pending') {
      const watch = this.observe(agent, messageId)
      this.ports.watcher.wakeWhenIdle(agent)
      return { kind: 'watch', watch }
    }
    const { turn, delivered, end } = trace
    if (end === undefined && agent.status === 'running') {
      return { kind: 'watch', watch: this.observe(agent, messageId, turn) }
    }
    const reason = end ?? { kind: 'interrupted' as const }
    const wasCutOff = isCutOff(reason)
    // It ended before the message reached the conversation: nothing was done for it yet.
    if (wasCutOff && !delivered) return undefined
    const mayResume = this.ports.afterCrash === 'resume' && this.run.attempt < this.ports.attempts
    if (wasCutOff && mayResume) return 'resume'
    await this.flush(agent.session)
    return over(this.control.released ? LEFT : ended(this.settleTurn(agent.session, turn, reason)))
  }

  /** The newest of the run's messages that the session knows. */
  private trace(agent: Agent): { messageId: string; trace: MessageTrace } {
    const { messageId, attempt } = this.run
    const events = agent.session.events.slice(agent.session.header.seedLength ?? 0)
    for (let number = attempt; number > 1; number -= 1) {
      const continuation = continuationIdOf(messageId, number)
      const trace = traceMessage(events, continuation)
      if (trace.kind !== 'absent') return { messageId: continuation, trace }
    }
    return { messageId, trace: traceMessage(events, messageId) }
  }

  private async follow(watch: TurnWatch): Promise<Settlement | undefined> {
    try {
      const outcome = await Promise.race([watch.outcome, this.control.ended])
      if (outcome !== undefined) return await this.conclude(watch.agent, outcome)
      const { released, stopped } = this.control
      return released || stopped === undefined ? undefined : await this.stopTurn(watch, stopped)
    } finally {
      watch.close()
    }
  }

  private async conclude(agent: Agent, outcome: WatchOutcome): Promise<Settlement | undefined> {
    await this.flush(agent.session)
    if (this.control.released) return undefined
    if (outcome.kind === 'ended') return this.settleTurn(agent.session, outcome.turn, outcome.reason)
    const isGone = outcome.kind === 'disposed' || this.ports.openers.live(agent.id) !== agent
    return isGone
      ? interrupted('the agent was disposed before it took the message')
      : endingOfStop({ kind: 'abort', cause: 'the message was taken out of the inbox' })
  }

  private settleTurn(session: Session, turn: number, reason: TurnEndReason): Settlement {
    const { run, members } = this.started
    return {
      ...endingOfTurn(reason),
      turn,
      ...readTurn(session.events, turn),
      ...(run.request === undefined ? {} : { prompt: promptReport(session, turn, run, members) }),
    }
  }

  /** Ends our turn and no other: a message that waits behind somebody's turn is only taken back. */
  private async stopTurn(watch: TurnWatch, stop: Stop): Promise<Settlement | undefined> {
    const { agent, turn } = watch
    const ending = endingOfStop(stop)
    if (turn === undefined) {
      watch.withdraw()
      await this.flush(agent.session)
      return ending
    }
    agent.cancel(
      stop.kind === 'abort'
        ? { kind: 'user' }
        : { kind: 'hook', reason: ending.error?.message ?? ending.state },
      { keepInbox: true },
    )
    // The cancel parks what others have queued behind our turn.
    this.ports.watcher.wakeWhenIdle(agent)
    const outcome = await this.withinGrace(watch.outcome)
    if (this.control.released) return undefined
    if (outcome === undefined) {
      this.ports.forceRelease(agent, turn)
      return { ...ending, turn, ...readTurn(agent.session.events, turn) }
    }
    const over = await this.conclude(agent, outcome)
    // The turn may have been complete before the cancel reached it.
    return over === undefined || over.state === 'ok' ? over : { ...over, ...ending }
  }

  private async withinGrace(outcome: Promise<WatchOutcome>): Promise<WatchOutcome | undefined> {
    const passed = Promise.withResolvers<undefined>()
    const disarm = this.ports.clock.after(this.ports.graceMs, () => passed.resolve(undefined))
    try {
      return (await Promise.race([outcome, passed.promise, this.control.whenReleased])) ?? undefined
    } finally {
      disarm()
    }
  }

  /** A session that left the store with its agent flushes itself; its truth for us is in our own log. */
  private async flush(session: Session): Promise<void> {
    const flushed = this.ports.flush(session).catch(() => undefined)
    await Promise.race([flushed, this.control.whenReleased])
  }
}
