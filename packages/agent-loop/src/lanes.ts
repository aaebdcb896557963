/**
 * The pump behind the lanes: starts what `lane-state.ts` says may run, drives it to its end, and gives
 * its place free. Owns which runs are under way, and the timers of those that wait. Does not decide
 * what is accepted.
 *
 * Runs found at the start belong to held sessions. A session is released when this process turns out
 * to be the one that has it: its agent is live, an opener claims it, or something is accepted here.
 */
import type { LaneBook } from './lane-book.ts'
import { LaneDrive, type LaneDrivePorts, type Verdict } from './lane-drive.ts'
import { Block, type Blocking, type LaneItem, type LaneState, type Placement } from './lane-state.ts'
import type { QueueSettings } from './queue-types.ts'
import { RunControl } from './run-control.ts'
import type { RunRecord } from './run-record.ts'
import { NamedTimers } from './run-timers.ts'
import { expired } from './settlement.ts'

export interface LanesPorts extends LaneDrivePorts {
  readonly state: LaneState
  readonly book: LaneBook
  readonly queueOf: (sessionId: string) => QueueSettings
  /** Called when a session's run is not under way any more. */
  readonly onOver: (sessionId: string) => void
  /** Runs an operation outside of whatever agent's turn the caller stands in. */
  readonly detached: (operation: () => void) => void
}

export class Lanes {
  private readonly ports: LanesPorts
  private readonly state: LaneState
  readonly driver: LaneDrive
  private readonly controls = new Map<string, RunControl>()
  private readonly driving = new Set<Promise<void>>()
  private readonly expiries: NamedTimers
  private readonly retries: NamedTimers
  private readonly pauses: NamedTimers
  /** Since when messages to be collected have been coming in, by session. */
  private readonly collectingSince = new Map<string, number>()
  /** Runs that are marked as started and whose message was not handed over yet. */
  private readonly fresh = new Set<string>()
  private closed = false

  constructor(ports: LanesPorts) {
    this.ports = ports
    this.state = ports.state
    this.driver = new LaneDrive(ports, {
      takeFresh: (runId) => this.fresh.delete(runId),
      isFresh: (runId) => this.fresh.has(runId),
      catchUp: (run) => this.catchUp(run),
      remove: (run) => void this.remove(run),
    })
    this.expiries = new NamedTimers(ports.clock)
    this.retries = new NamedTimers(ports.clock)
    this.pauses = new NamedTimers(ports.clock)
  }

  /** Keeps runs from before this process in order until their session is ours. */
  hold(sessionId: string, runs: readonly RunRecord[]): void {
    this.state.block(sessionId, Block.held, this.now)
    let inFront = true
    for (const run of runs) {
      if (run.leader !== undefined) continue
      inFront &&= run.attempt > 0 || this.place(run).inFront
      this.put(run, inFront ? { at: 'front' } : { at: 'end' })
    }
  }

  /** Brings in what a session has to run by the log, each in its place, and lets it go. */
  adopt(sessionId: string, runs: readonly RunRecord[]): void {
    for (const run of runs) {
      if (run.leader !== undefined || this.has(run)) continue
      const { inFront, before } = this.place(run)
      const atEnd: Placement = inFront ? { at: 'front' } : { at: 'end' }
      this.put(run, before === undefined ? atEnd : { at: 'before', id: before, inFront })
    }
    this.unblock(sessionId, Block.held)
  }

  /** @returns whether nothing that was missing here comes before the run. */
  private catchUp(run: RunRecord): boolean {
    const { fold } = this.ports.ledger.stream(run.sessionId)
    const open = fold.open().flatMap((runId) => fold.get(runId) ?? [])
    const missing = open.filter((one) => one.leader === undefined && !this.has(one))
    this.adopt(run.sessionId, missing)
    const place = open.findIndex(({ runId }) => runId === run.runId)
    return !missing.some((one) => open.indexOf(one) < place)
  }

  /** Whether the session runs or queues anything here. */
  isBusy(sessionId: string): boolean {
    return this.state.isBusy(sessionId)
  }

  /** The lease under which a run of the session would begin at once, if it would. */
  startEpoch(sessionId: string, lane: string): number | undefined {
    const epoch = this.ports.leases.epoch(sessionId)
    const mayStart = epoch !== undefined && !this.closed && this.state.isFree(sessionId, lane)
    return mayStart && this.ports.openers.live(sessionId) !== undefined ? epoch : undefined
  }

  /**
   * Adds a run where its session's queue has it, and lets the session go.
   *
   * @param isStarted whether it was marked as started when it was accepted, and nothing sent yet.
   */
  enqueue(run: RunRecord, isStarted = false): void {
    if (this.closed) return
    if (isStarted) this.fresh.add(run.runId)
    if (run.request?.mode === 'collect') this.waitForQuiet(run.sessionId)
    const { inFront, before } = this.place(run)
    const atEnd: Placement = inFront ? { at: 'front' } : { at: 'end' }
    this.put(run, before === undefined ? atEnd : { at: 'before', id: before, inFront })
    this.release(run.sessionId)
  }

  release(sessionId: string): void {
    this.state.unblock(sessionId, Block.held, this.now)
    this.state.unblock(sessionId, Block.stopped, this.now)
    this.pump()
  }

  /** Sessions that are held. */
  held(): readonly string[] {
    return this.state.blockedBy(Block.held)
  }

  has(run: RunRecord): boolean {
    return this.state.has(run.runId) || this.retries.has(run.runId) || this.controls.has(run.runId)
  }

  /** Takes a waiting run out of its lane. @returns whether it was waiting. */
  remove(run: RunRecord): boolean {
    const wasDeferred = this.retries.has(run.runId)
    this.fresh.delete(run.runId)
    this.retries.clear(run.runId)
    this.expiries.clear(run.runId)
    return this.state.remove(run.runId, this.now) || wasDeferred
  }

  move(runId: string, before: string | undefined): void {
    this.state.move(runId, before, this.now)
    this.pump()
  }

  /** The reins of a run under way. */
  control(runId: string): RunControl | undefined {
    return this.controls.get(runId)
  }

  /** The reins of what a session runs. */
  active(sessionId: string): { readonly runId: string; readonly control: RunControl } | undefined {
    const runId = this.state.running(sessionId)
    const control = runId === undefined ? undefined : this.controls.get(runId)
    return runId === undefined || control === undefined ? undefined : { runId, control }
  }

  /** Whether a run waits here, for its turn or for its next attempt. */
  isQueued(runId: string): boolean {
    return this.state.isWaiting(runId) || this.retries.has(runId)
  }

  block(sessionId: string, reason: Blocking): void {
    this.state.block(sessionId, reason, this.now)
  }

  unblock(sessionId: string, reason: Blocking): void {
    this.state.unblock(sessionId, reason, this.now)
    this.pump()
  }

  /** Another process has the session: what runs of it here is let go of and waits. */
  lose(sessionId: string): void {
    this.state.block(sessionId, Block.held, this.now)
    for (const [runId, control] of this.controls) {
      if (this.ports.ledger.get(runId)?.sessionId === sessionId) control.lose()
    }
  }

  /** Keeps the reins of a run that is driven elsewhere until that has come to its end. */
  track(runId: string, control: RunControl, drive: Promise<void>): void {
    this.controls.set(runId, control)
    this.expiries.clear(runId)
    const tracked = drive.finally(() => {
      if (this.controls.get(runId) === control) this.controls.delete(runId)
      this.driving.delete(tracked)
      this.pump()
    })
    this.driving.add(tracked)
  }

  /** Starts whatever may start. */
  pump(): void {
    if (this.closed || !this.state.isStirred) return
    this.ports.detached(() => {
      for (let item = this.state.next(this.now); item !== undefined; item = this.state.next(this.now)) {
        this.start(item)
      }
    })
  }

  /** Starts nothing more, and resolves when nothing is under way or the limit is reached; 0: at once. */
  async drain(limitMs: number): Promise<readonly string[]> {
    this.state.pause()
    if (limitMs <= 0) return [...this.controls.keys()]
    const passed = Promise.withResolvers<void>()
    const disarm = this.ports.clock.after(limitMs, passed.resolve)
    try {
      await Promise.race([passed.promise, this.whenQuiet()])
    } finally {
      disarm()
    }
    return [...this.controls.keys()]
  }

  /** Lets go of every run under way and resolves when none is driven any more. Idempotent. */
  async close(): Promise<void> {
    this.closed = true
    this.state.pause()
    for (const timers of [this.expiries, this.retries, this.pauses]) timers.clearAll()
    for (const control of this.controls.values()) control.release()
    await this.whenQuiet()
  }

  private get now(): number {
    return this.ports.clock.now()
  }

  private async whenQuiet(): Promise<void> {
    while (this.driving.size > 0) await Promise.all(this.driving)
  }

  private place(run: RunRecord): { readonly before: string | undefined; readonly inFront: boolean } {
    return this.ports.ledger.stream(run.sessionId).fold.placeOf(run.runId, (id) => this.state.isWaiting(id))
  }

  private put(run: RunRecord, placement: Placement): void {
    const { retryAt } = run
    if (retryAt !== undefined && retryAt > this.now) return this.retryAt(run.runId, run.sessionId, retryAt)
    this.state.add(this.ports.book.itemOf(run), placement, this.now)
    const { expiresAt } = run.request ?? {}
    if (expiresAt !== undefined && run.attempt === 0) {
      this.expiries.at(run.runId, expiresAt, () => this.expire(run, expiresAt))
    }
  }

  private expire(run: RunRecord, expiresAt: number): void {
    if (!this.remove(run)) return
    const control = new RunControl()
    const { writer, warn } = this.ports
    const settled = this.driver
      .patiently(control, () => writer.settle(run, expired(expiresAt), false))
      .catch((error: unknown) => warn(`run ${run.runId} expired and stays open in the log: ${String(error)}`))
    this.track(
      run.runId,
      control,
      settled.then(() => undefined),
    )
  }

  private waitForQuiet(sessionId: string): void {
    const isCollecting = this.collectingSince.has(sessionId)
    if (!isCollecting && !this.state.isBusy(sessionId) && this.ports.watcher.open(sessionId) === undefined) {
      return
    }
    const { debounceMs, maxDebounceMs } = this.ports.queueOf(sessionId)
    const since = this.collectingSince.get(sessionId) ?? this.now
    this.collectingSince.set(sessionId, since)
    this.state.block(sessionId, Block.quiet, this.now)
    this.pauses.at(sessionId, Math.min(this.now + debounceMs, since + maxDebounceMs), () => {
      this.collectingSince.delete(sessionId)
      this.state.unblock(sessionId, Block.quiet, this.now)
      this.pump()
    })
  }

  private start({ id: runId, sessionId }: LaneItem): void {
    const control = new RunControl()
    this.controls.set(runId, control)
    this.expiries.clear(runId)
    const drive = this.driver.drive(sessionId, runId, control).then((verdict) => {
      this.controls.delete(runId)
      this.driving.delete(drive)
      this.finish(runId, sessionId, verdict)
      this.ports.onOver(sessionId)
      this.pump()
    })
    this.driving.add(drive)
  }

  private finish(runId: string, sessionId: string, verdict: Verdict): void {
    this.fresh.delete(runId)
    this.state.finish(runId, this.now)
    const run = this.ports.ledger.get(runId)
    if (this.closed || run === undefined || run.settled !== undefined) return
    if (verdict.kind === 'again') this.retryAt(runId, sessionId, verdict.at)
    if (verdict.kind === 'later') this.adopt(sessionId, [run])
    if (verdict.kind !== 'back') return
    this.state.block(sessionId, Block.held, this.now)
    this.put(run, { at: 'head' })
    // The drive may have come to its end after the lease was looked at again.
    this.ports.leases.retryLater(sessionId)
  }

  private retryAt(runId: string, sessionId: string, at: number): void {
    this.retries.at(runId, at, () => {
      const run = this.ports.ledger.get(runId)
      if (run === undefined || run.settled !== undefined) return
      this.state.add(this.ports.book.itemOf(run), { at: 'head' }, this.now)
      this.release(sessionId)
    })
  }
}
