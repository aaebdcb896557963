/**
 * The lanes of all sessions and the pump that drives them: one run of a session at a time, sessions
 * side by side. Owns which runs are under way. Does not decide what is accepted.
 *
 * Runs found at the start belong to held lanes. A lane is released when this process turns out to be
 * the one that has the session: its agent is live, an opener claims it, or something is accepted here.
 */
import type { Clock } from './clock.ts'
import { Lane } from './lane.ts'
import type { RunLedger } from './ledger.ts'
import { writePatiently } from './patient-write.ts'
import { RunControl } from './run-control.ts'
import type { RunRecord, Settlement } from './run-fold.ts'
import { driveRun, type RunnerPorts } from './runner.ts'
import { failed } from './settlement.ts'
import type { LaneSnapshot } from './types.ts'

export interface LanesPorts extends Omit<RunnerPorts, 'markStarted'> {
  readonly ledger: RunLedger
  readonly clock: Clock
  /** Runs an operation outside of whatever agent's turn the caller stands in. */
  readonly detached: (operation: () => void) => void
  readonly warn: (text: string) => void
}

export class Lanes {
  private readonly ports: LanesPorts
  private readonly lanes = new Map<string, Lane>()
  private readonly controls = new Map<string, RunControl>()
  private readonly driving = new Set<Promise<void>>()
  private closed = false

  constructor(ports: LanesPorts) {
    this.ports = ports
  }

  /** Keeps runs from before this process in order until their session is ours. */
  hold(sessionId: string, runIds: readonly string[]): void {
    const lane = this.lane(sessionId, true)
    for (const runId of runIds) lane.enqueue(runId)
  }

  /** Adds a run at the end of its lane and lets the lane go. */
  enqueue(run: RunRecord): void {
    this.lane(run.sessionId, false).enqueue(run.runId)
    this.release(run.sessionId)
  }

  release(sessionId: string): void {
    const lane = this.lanes.get(sessionId)
    if (lane === undefined || this.closed) return
    lane.held = false
    this.ports.detached(() => this.pump(lane))
  }

  /** Sessions whose lanes are held. */
  held(): readonly string[] {
    return [...this.lanes.values()].filter((lane) => lane.held).map((lane) => lane.sessionId)
  }

  has(run: RunRecord): boolean {
    return this.lanes.get(run.sessionId)?.has(run.runId) ?? false
  }

  /** Takes a waiting run out of its lane. @returns whether it was waiting. */
  remove(run: RunRecord): boolean {
    const lane = this.lanes.get(run.sessionId)
    const removed = lane?.remove(run.runId) ?? false
    if (lane?.isEmpty === true) this.lanes.delete(lane.sessionId)
    return removed
  }

  /** The reins of a run under way. */
  control(runId: string): RunControl | undefined {
    return this.controls.get(runId)
  }

  snapshots(): readonly LaneSnapshot[] {
    return [...this.lanes.values()].map((lane) => lane.snapshot())
  }

  /** Lets go of every run under way and resolves when none is driven any more. Idempotent. */
  async close(): Promise<void> {
    this.closed = true
    for (const control of this.controls.values()) control.release()
    await Promise.all(this.driving)
    this.lanes.clear()
  }

  /** Writes the terminal entry, unless the run has one. */
  async settle(run: RunRecord, settlement: Settlement): Promise<void> {
    await this.ports.ledger.stream(run.sessionId).transact((fold) => {
      const isOpen = fold.get(run.runId)?.settled === undefined
      if (!isOpen) return { result: undefined }
      const endedAt = this.ports.clock.now()
      const data = { v: 1 as const, runId: run.runId, ...settlement, endedAt }
      return { entry: { type: 'run/settled', data }, result: undefined }
    })
  }

  private lane(sessionId: string, held: boolean): Lane {
    let lane = this.lanes.get(sessionId)
    if (lane === undefined) this.lanes.set(sessionId, (lane = new Lane(sessionId, held)))
    return lane
  }

  private pump(lane: Lane): void {
    if (this.closed) return
    const runId = lane.take()
    if (runId === undefined) {
      if (lane.isEmpty && this.lanes.get(lane.sessionId) === lane) this.lanes.delete(lane.sessionId)
      return
    }
    const control = new RunControl()
    this.controls.set(runId, control)
    const drive = this.drive(lane.sessionId, runId, control).finally(() => {
      this.controls.delete(runId)
      this.driving.delete(drive)
      lane.finish(runId)
      this.pump(lane)
    })
    this.driving.add(drive)
  }

  /** Never rejects: what fails here is told, and the lane goes on. */
  private async drive(sessionId: string, runId: string, control: RunControl): Promise<void> {
    const run = this.ports.ledger.stream(sessionId).fold.get(runId)
    if (run === undefined || run.settled !== undefined) return
    try {
      const settlement = await this.run(run, control)
      if (settlement !== undefined) await this.patiently(control, () => this.settle(run, settlement))
    } catch (error) {
      this.ports.warn(`run ${runId} stays open in the log: ${String(error)}`)
    }
  }

  private async run(run: RunRecord, control: RunControl): Promise<Settlement | undefined> {
    const markStarted = (started: RunRecord): Promise<RunRecord | undefined> =>
      this.patiently(control, () => this.markStarted(started))
    try {
      return await driveRun(run, control, { ...this.ports, markStarted })
    } catch (error) {
      this.ports.warn(`run ${run.runId} failed in the host: ${String(error)}`)
      return control.released ? undefined : failed('host-failure', error)
    }
  }

  private async markStarted(run: RunRecord): Promise<RunRecord | undefined> {
    const stream = this.ports.ledger.stream(run.sessionId)
    const isStarted = await stream.transact((fold) => {
      const known = fold.get(run.runId)
      if (known === undefined || known.settled !== undefined) return { result: false }
      const startedAt = this.ports.clock.now()
      const data = { v: 1 as const, runId: run.runId, attempt: known.attempt + 1, startedAt }
      return { entry: { type: 'run/started', data }, result: true }
    })
    return isStarted ? stream.fold.get(run.runId) : undefined
  }

  private patiently<T>(control: RunControl, write: () => Promise<T>): Promise<T | undefined> {
    return writePatiently(write, {
      clock: this.ports.clock,
      whenReleased: control.whenReleased,
      isReleased: () => control.released,
      onPause: (error, pauseMs) =>
        this.ports.warn(`the log does not answer, trying again in ${pauseMs} ms: ${error.message}`),
    })
  }
}
