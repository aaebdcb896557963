/**
 * Drives one run from its place at the head of the lane to its ending:
 *
 *     open the agent ─► look for the message in the session ─► write `started` ─► send ─► turn ends
 *
 * Owns the run's deadline. Decides how the run ends and leaves the writing of it to the host.
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { Session, TurnEndReason } from '@deepseek-ai/dsh-session'
import type { Clock } from './clock.ts'
import type { Openers } from './openers.ts'
import type { RunControl } from './run-control.ts'
import type { RunRecord, Settlement } from './run-fold.ts'
import { runMessage } from './run-message.ts'
import { readTurn, traceMessage } from './session-trace.ts'
import { endingOfStop, endingOfTurn, failed, interrupted, type Stop } from './settlement.ts'
import type { TurnWatch, TurnWatcher, WatchOutcome } from './turn-watch.ts'

/** How often an agent may vanish between its opening and the sending. */
const MAX_OPENINGS = 3

export interface RunnerPorts {
  readonly clock: Clock
  readonly openers: Openers
  readonly watcher: TurnWatcher
  /** Makes the session's log durable. */
  readonly flush: (session: Session) => Promise<unknown>
  /** Writes the `started` entry. @returns the run as it is now, or none when it is settled already. */
  readonly markStarted: (run: RunRecord) => Promise<RunRecord | undefined>
  /** What goes out of a run's settlement: hooks may change or hold back its reply. */
  readonly outgoing: (run: RunRecord, settlement: Settlement) => Promise<Settlement>
  readonly defaultTimeoutMs: number
  /** How long a stopped turn may take to end before the lane goes on. */
  readonly graceMs: number
}

/** @returns how the run ended, or nothing when the host let go of it or it is settled already. */
export async function driveRun(
  run: RunRecord,
  control: RunControl,
  ports: RunnerPorts,
): Promise<Settlement | undefined> {
  const timeoutMs = run.request?.timeoutMs ?? ports.defaultTimeoutMs
  const disarm = ports.clock.after(timeoutMs, () => control.stop({ kind: 'deadline', timeoutMs }))
  try {
    const settlement = await new RunDrive(run, control, ports).drive()
    return settlement === undefined ? undefined : await ports.outgoing(run, settlement)
  } finally {
    disarm()
  }
}

/** Nothing is left to do; no settlement when the host let go of the run or the log has one already. */
interface Over {
  readonly kind: 'over'
  readonly settlement: Settlement | undefined
}

/** `vanished`: the agent has to be opened again. */
type Delivery = Over | { kind: 'watch'; watch: TurnWatch } | { kind: 'vanished' }

const over = (settlement: Settlement | undefined): Over => ({ kind: 'over', settlement })

function settleTurn(session: Session, turn: number, reason: TurnEndReason): Settlement {
  return { ...endingOfTurn(reason), turn, ...readTurn(session.events, turn) }
}

class RunDrive {
  private readonly run: RunRecord
  private readonly control: RunControl
  private readonly ports: RunnerPorts

  constructor(run: RunRecord, control: RunControl, ports: RunnerPorts) {
    this.run = run
    this.control = control
    this.ports = ports
  }

  async drive(): Promise<Settlement | undefined> {
    for (let opening = 0; opening < MAX_OPENINGS; opening += 1) {
      const opened = await this.openAgent()
      if (opened.kind === 'over') return opened.settlement
      const delivered = await this.deliver(opened.agent)
      if (delivered.kind === 'over') return delivered.settlement
      if (delivered.kind === 'watch') return await this.follow(delivered.watch)
    }
    return interrupted('the agent was disposed before it took the message')
  }

  private async openAgent(): Promise<Over | { kind: 'agent'; agent: Agent }> {
    const opening = this.ports.openers.open(this.run.sessionId, this.control.signal)
    // A stopped run does not wait for its opener; a late failure of it concerns nobody.
    opening.catch(() => undefined)
    try {
      const agent = await Promise.race([opening, this.control.ended])
      return this.checkReins() ?? (agent === undefined ? over(undefined) : { kind: 'agent', agent })
    } catch (error) {
      return this.checkReins() ?? over(failed('open-failed', error))
    }
  }

  /** The end of a run that was stopped or let go of before anything was sent. */
  private checkReins(): Over | undefined {
    const { released, stopped } = this.control
    if (released) return over(undefined)
    return stopped === undefined ? undefined : over(endingOfStop(stopped))
  }

  /** Brings the message to the agent, unless an earlier attempt did, and observes it from before that. */
  private async deliver(agent: Agent): Promise<Delivery> {
    if (this.run.attempt > 0) {
      const earlier = await this.recover(agent)
      if (earlier !== undefined) return earlier
    }
    const started = await this.ports.markStarted(this.run)
    if (started?.request === undefined) return over(undefined)
    const stopped = this.checkReins()
    if (stopped !== undefined) return stopped
    if (this.ports.openers.live(agent.id) !== agent) return { kind: 'vanished' }
    const watch = this.ports.watcher.watch(agent, this.run.messageId)
    try {
      agent.followup(runMessage(this.run.messageId, started.request))
      return { kind: 'watch', watch }
    } catch (error) {
      watch.close()
      return over(failed('send-failed', error))
    }
  }

  /** What became of the message of an earlier attempt; nothing when it has to be sent again. */
  private async recover(agent: Agent): Promise<Over | { kind: 'watch'; watch: TurnWatch } | undefined> {
    const { watcher } = this.ports
    const { session } = agent
    const trace = traceMessage(session.events.slice(session.header.seedLength ?? 0), this.run.messageId)
    if (trace.kind === 'absent') return undefined
    if (trace.kind === 'pending') {
      const watch = watcher.watch(agent, this.run.messageId)
      watcher.wakeWhenIdle(agent)
      return { kind: 'watch', watch }
    }
    const { turn, delivered, end } = trace
    if (end === undefined && agent.status === 'running') {
      return { kind: 'watch', watch: watcher.watch(agent, this.run.messageId, turn) }
    }
    const reason = end ?? { kind: 'interrupted' as const }
    // The process ended before the message reached the conversation: nothing was done for it yet.
    if (reason.kind === 'interrupted' && !delivered) return undefined
    await this.flush(session)
    return over(this.control.released ? undefined : settleTurn(session, turn, reason))
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
    if (outcome.kind === 'ended') return settleTurn(agent.session, outcome.turn, outcome.reason)
    const isGone = outcome.kind === 'disposed' || this.ports.openers.live(agent.id) !== agent
    return isGone
      ? interrupted('the agent was disposed before it took the message')
      : endingOfStop({ kind: 'abort', cause: 'the message was taken out of the inbox' })
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
    if (outcome === undefined) return { ...ending, turn, ...readTurn(agent.session.events, turn) }
    const ended = await this.conclude(agent, outcome)
    // The turn may have been complete before the cancel reached it.
    return ended === undefined || ended.state === 'ok' ? ended : { ...ended, ...ending }
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
