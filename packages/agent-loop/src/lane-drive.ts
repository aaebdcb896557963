/**
 * One run's way through its lane: the lease of its session, its turn, and what is written at its end.
 * Says what the lane is to do with the run afterwards; owns no place and no timer.
 */
import type { Clock } from './clock.ts'
import { AgentLoopError } from './errors.ts'
import type { RunLedger } from './ledger.ts'
import { writePatiently } from './patient-write.ts'
import type { RunControl } from './run-control.ts'
import type { RunRecord, Settlement } from './run-record.ts'
import type { RunWriter } from './run-writer.ts'
import { driveRun, type RunEnd, type RunnerPorts } from './runner.ts'
import type { SessionLeases } from './session-lease.ts'
import { endingOfStop, expired, failed } from './settlement.ts'

export interface LaneDrivePorts extends Omit<RunnerPorts, 'markStarted'> {
  readonly ledger: RunLedger
  readonly writer: RunWriter
  readonly leases: SessionLeases
  /** Called when the lease of a session is new here. @returns whether the session can be run here. */
  readonly takeOver: (sessionId: string) => Promise<boolean>
  readonly clock: Clock
  readonly retryDelayMs: number
  readonly warn: (text: string) => void
}

/** The lane's side of a drive. */
export interface WaitingRuns {
  /** Whether the run is marked as started and nothing of it was handed over. */
  readonly isFresh: (runId: string) => boolean
  /** The same, and from now on it is not any more. */
  readonly takeFresh: (runId: string) => boolean
  /** Brings in what the session has to run by the log. @returns whether this run is still the next one. */
  readonly catchUp: (run: RunRecord) => boolean
  /** Takes a run out of the queue that is told in the turn of another one. */
  readonly remove: (run: RunRecord) => void
}

/**
 * What a drive leaves behind: nothing, a run to try again then, one that is another process's now, or one
 * whose turn it is not yet.
 */
export type Verdict =
  | { readonly kind: 'over' }
  | { readonly kind: 'again'; readonly at: number }
  | { readonly kind: 'back' }
  | { readonly kind: 'later' }

const OVER: Verdict = { kind: 'over' }
const LONGEST_RETRY_MS = 60_000

export class LaneDrive {
  private readonly ports: LaneDrivePorts
  private readonly waiting: WaitingRuns

  constructor(ports: LaneDrivePorts, waiting: WaitingRuns) {
    this.ports = ports
    this.waiting = waiting
  }

  /** Writes a run's end while the log may be away, unless the host lets go of it. */
  async settlePatiently(run: RunRecord, settlement: Settlement, control: RunControl): Promise<void> {
    await this.patiently(control, () => this.ports.writer.settle(run, settlement, true))
  }

  patiently<T>(control: RunControl, write: () => Promise<T>): Promise<T | undefined> {
    return writePatiently(write, {
      clock: this.ports.clock,
      whenReleased: control.whenReleased,
      isReleased: () => control.released,
      onPause: (error, pauseMs) =>
        this.ports.warn(`the log does not answer, trying again in ${pauseMs} ms: ${error.message}`),
    })
  }

  /** Never rejects: what fails here is told, and the lane goes on. */
  async drive(sessionId: string, runId: string, control: RunControl): Promise<Verdict> {
    try {
      const before = this.ports.leases.epoch(sessionId)
      const epoch = await this.patiently(control, () => this.ports.leases.take(sessionId))
      const isNew = epoch !== undefined && epoch !== before
      const isReady = isNew ? await this.patiently(control, () => this.ports.takeOver(sessionId)) : true
      if (control.released) return control.lost ? { kind: 'back' } : OVER
      const run = this.ports.ledger.get(runId)
      if (run === undefined || run.settled !== undefined) return OVER
      if (epoch === undefined || isReady !== true) return await this.giveBack(run, control)
      if (isNew && this.ports.hasOtherHosts && !this.waiting.catchUp(run)) return { kind: 'later' }
      return await this.conclude(run, control, await this.run(run, control))
    } catch (error) {
      if (isLeaseLost(error)) {
        this.ports.leases.lost(sessionId)
        return { kind: 'back' }
      }
      this.ports.warn(`run ${runId} stays open in the log: ${String(error)}`)
      return OVER
    }
  }

  /** Another process has the session; an abort is nobody's privilege. */
  private async giveBack(run: RunRecord, { stopped }: RunControl): Promise<Verdict> {
    if (stopped === undefined) return { kind: 'back' }
    await this.ports.writer.settle(run, endingOfStop(stopped), false)
    return OVER
  }

  private async conclude(run: RunRecord, control: RunControl, end: RunEnd): Promise<Verdict> {
    if (end.kind === 'elsewhere') return { kind: 'back' }
    if (end.kind === 'left') return control.lost ? { kind: 'back' } : OVER
    const { failures } = this.ports.ledger.get(run.runId) ?? run
    if (end.kind === 'retry' && failures + 1 < this.ports.attempts && end.settlement.error !== undefined) {
      const { error } = end.settlement
      const at = this.ports.clock.now() + Math.min(LONGEST_RETRY_MS, this.ports.retryDelayMs * 2 ** failures)
      await this.patiently(control, () => this.ports.writer.defer(run, at, error))
      return { kind: 'again', at }
    }
    await this.settlePatiently(run, end.settlement, control)
    return control.lost ? { kind: 'back' } : OVER
  }

  private async run(run: RunRecord, control: RunControl): Promise<RunEnd> {
    const { expiresAt } = run.request ?? {}
    if (expiresAt !== undefined && run.attempt === 0 && expiresAt <= this.ports.clock.now()) {
      return { kind: 'settled', settlement: expired(expiresAt) }
    }
    const isFresh = this.waiting.isFresh(run.runId)
    const markStarted: RunnerPorts['markStarted'] = async (started, via) => {
      if (this.waiting.takeFresh(run.runId)) {
        const known = this.ports.ledger.get(run.runId)
        return known === undefined || known.settled !== undefined ? undefined : { run: known, members: [] }
      }
      const marked = await this.patiently(control, () => this.ports.writer.markStarted(started, via))
      for (const member of marked?.members ?? []) this.waiting.remove(member)
      return marked
    }
    try {
      return await driveRun(run, control, { ...this.ports, markStarted }, isFresh)
    } catch (error) {
      if (isLeaseLost(error)) throw error
      this.ports.warn(`run ${run.runId} failed in the host: ${String(error)}`)
      if (control.released) return { kind: 'left' }
      return { kind: 'settled', settlement: failed('host-failure', error) }
    }
  }
}

export function isLeaseLost(error: unknown): boolean {
  return error instanceof AgentLoopError && error.code === 'lease-lost'
}
