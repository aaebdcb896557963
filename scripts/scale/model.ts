/**
 * Hosts on one PostgreSQL as a closed network of queues, simulated event by event.
 *
 *     session: appends … wait for the model … appends … pause, and again
 *     append:  host's thread ─► trip (one a host at a time, shared by what waits) ─► cores of the
 *              database ─► sync of its disk (shared by what waits) ─► wire ─► host's thread
 *     news:    a host that committed notifies, 10 ms apart at least; each other host then polls, one
 *              poll at a time, and pays for what was committed since its last one
 *
 * This is the structure of `dsh-durable-log` on PostgreSQL; the service times are measured
 * (`measure.ts`). Times are milliseconds. The same cell gives the same outcome, always.
 */
import { randomFrom } from '../../packages/durable-log/src/testing/random.ts'
import type { Cell, Outcome } from './cell.ts'
import { EventQueue, Line } from './event-queue.ts'

const NOTIFY_PAUSE_MS = 10
const POLL_INTERVAL_MS = 1_000
const MAX_TRIP = 256

/** What an event or a job is; its code is `kind * SPAN + id`. */
const SPAN = 2 ** 24
const Kind = {
  /** The wait or the pause of a session is over. */
  woken: 0,
  append: 1,
  trip: 2,
  back: 3,
  notify: 4,
  poll: 5,
  news: 6,
  /** The disk has synced. */
  synced: 7,
  /** An answer came over the wire. */
  answered: 8,
  mayNotify: 9,
  pollDue: 10,
} as const

/** Cores that serve one line of jobs. */
class Cores {
  readonly line = new Line()
  free: number
  constructor(count: number) {
    this.free = count
  }
}

class HostState {
  /** Jobs of its thread, the running one not among them. */
  readonly jobs = new Line()
  isBusy = false
  readonly waiting = new Line()
  riders: number[] = []
  inTrip = false
  isNotifyDue = false
  isNotifying = false
  notified = 0
  isPolling = false
  isPollDue = false
  /** Notifications of others that its polls have answered. */
  heard = 0
  /** Commits of the cell that its polls have seen. */
  seen = 0
  rows = 0
}

/** Runs one cell to the end of its window. */
export function simulate(cell: Cell): Outcome {
  return new Simulation(cell).run()
}

class Simulation {
  private readonly cell: Cell
  private readonly events = new EventQueue()
  private readonly cores: Cores
  private readonly hosts: readonly HostState[]
  private readonly idlePollers = new Set<number>()
  /** Appends that a session has done of its turn. */
  private readonly steps: Uint16Array
  private readonly begun: Float64Array
  private readonly random: () => number
  private now = 0
  private isSyncing = false
  private syncWaiting: number[] = []
  private syncing: number[] = []
  private commits = 0
  private notifications = 0
  private turns = 0
  private appends = 0
  private used = 0
  private usedByNews = 0
  private readonly latencies = new Float64Array(400)

  constructor(cell: Cell) {
    this.cell = cell
    const { below } = randomFrom(cell.seed)
    this.random = () => (below(2 ** 32) + 0.5) / 2 ** 32
    this.cores = new Cores(cell.cores)
    this.hosts = Array.from({ length: cell.hosts }, () => new HostState())
    this.steps = new Uint16Array(cell.hosts * cell.sessionsPerHost)
    this.begun = new Float64Array(this.steps.length)
  }

  run(): Outcome {
    const { cell, events } = this
    const { appendsAfter, appendsBefore, pauseMs, waitMs, warmUpMs, windowMs } = cell
    // Every session is somewhere in its wait or its pause, as after a long time.
    for (let session = 0; session < this.steps.length; session += 1) {
      const at = this.random() * (waitMs + pauseMs)
      if (at < waitMs) this.steps[session] = appendsBefore
      const until = at < waitMs ? this.spread(waitMs) : this.spread(pauseMs)
      const part = cell.spread === 'constant' ? this.random() : 1
      events.put(until * part, Kind.woken * SPAN + session)
    }
    for (let host = 0; host < this.hosts.length; host += 1) {
      this.idlePollers.add(host)
      if (this.hasNews) events.put(this.random() * POLL_INTERVAL_MS, Kind.pollDue * SPAN + host)
    }
    const end = warmUpMs + windowMs
    while (events.nextAt <= end) {
      this.now = events.nextAt
      const code = events.take()
      this.happen(Math.floor(code / SPAN), code % SPAN)
    }
    const seconds = windowMs / 1_000
    return {
      turnsPerSecond: appendsBefore + appendsAfter === 0 ? 0 : this.turns / seconds,
      appendsPerSecond: this.appends / seconds,
      coresUsed: this.used / (cell.cores * windowMs),
      coresUsedByNews: this.usedByNews / (cell.cores * windowMs),
      appendMs: { p50: this.latency(0.5), p95: this.latency(0.95) },
    }
  }

  private get hasNews(): boolean {
    return this.cell.times.dbPoll > 0
  }

  private spread(mean: number): number {
    return this.cell.spread === 'constant' ? mean : -mean * Math.log(this.random())
  }

  private happen(kind: number, id: number): void {
    switch (kind) {
      case Kind.woken:
        return this.proceed(id)
      case Kind.synced:
        return this.synced()
      case Kind.answered:
        return this.onThread(id, Kind.back * SPAN + id)
      case Kind.mayNotify:
        return this.notifyAgain(id)
      case Kind.pollDue:
        this.events.put(this.now + POLL_INTERVAL_MS, Kind.pollDue * SPAN + id)
        return this.poll(id)
      default:
        return this.done(kind, id)
    }
  }

  /** The next append of a session's turn, the wait in its middle, or its end. */
  private proceed(session: number): void {
    this.begun[session] = this.now
    this.onThread(this.hostOf(session), Kind.append * SPAN + session)
  }

  private appended(session: number): void {
    const { appendsAfter, appendsBefore, pauseMs, waitMs } = this.cell
    if (this.isMeasured) {
      this.appends += 1
      this.count(this.now - (this.begun[session] as number))
    }
    const step = ((this.steps[session] as number) + 1) % (appendsBefore + appendsAfter)
    this.steps[session] = step
    if (step === 0) {
      if (this.isMeasured) this.turns += 1
      // Without appends at its end, a turn ends with its wait.
      this.sleep(session, appendsAfter === 0 ? waitMs + pauseMs : pauseMs)
    } else if (step === appendsBefore) this.sleep(session, waitMs)
    else this.proceed(session)
  }

  private sleep(session: number, mean: number): void {
    if (mean === 0) this.proceed(session)
    else this.events.put(this.now + this.spread(mean), Kind.woken * SPAN + session)
  }

  private done(kind: number, id: number): void {
    switch (kind) {
      case Kind.append: {
        this.threadIsFree(this.hostOf(id))
        const host = this.host(this.hostOf(id))
        host.waiting.push(id)
        return this.travel(this.hostOf(id))
      }
      case Kind.trip:
        this.coreIsFree()
        this.syncWaiting.push(id)
        return this.sync()
      case Kind.back:
        this.threadIsFree(id)
        return this.returned(id)
      case Kind.notify:
        this.coreIsFree()
        return this.notified(id)
      case Kind.poll:
        this.coreIsFree()
        return this.onThread(id, Kind.news * SPAN + id)
      case Kind.news:
        this.threadIsFree(id)
        return this.polled(id)
      default:
        throw new Error(`no such event: ${kind}`)
    }
  }

  // Trips

  private travel(at: number): void {
    const host = this.host(at)
    if (host.inTrip || host.waiting.length === 0) return
    host.inTrip = true
    host.riders = []
    while (host.waiting.length > 0 && host.riders.length < MAX_TRIP) host.riders.push(host.waiting.shift())
    this.onCore(Kind.trip * SPAN + at)
  }

  private sync(): void {
    if (this.isSyncing || this.syncWaiting.length === 0) return
    this.isSyncing = true
    this.syncing = this.syncWaiting
    this.syncWaiting = []
    this.events.put(this.now + this.spread(this.cell.times.sync), Kind.synced * SPAN)
  }

  private synced(): void {
    this.isSyncing = false
    for (const host of this.syncing) {
      this.commits += this.host(host).riders.length
      this.events.put(this.now + this.spread(this.cell.times.wire), Kind.answered * SPAN + host)
    }
    this.sync()
  }

  private returned(at: number): void {
    const host = this.host(at)
    host.inTrip = false
    const { riders } = host
    host.riders = []
    for (const session of riders) this.appended(session)
    if (this.hasNews) {
      host.isNotifyDue = true
      if (!host.isNotifying) this.notify(at)
    }
    this.travel(at)
  }

  // News

  private notify(at: number): void {
    const host = this.host(at)
    host.isNotifyDue = false
    host.isNotifying = true
    this.onCore(Kind.notify * SPAN + at)
  }

  private notified(at: number): void {
    this.host(at).notified += 1
    this.notifications += 1
    for (const other of this.idlePollers) if (other !== at) this.poll(other)
    this.events.put(this.now + NOTIFY_PAUSE_MS, Kind.mayNotify * SPAN + at)
  }

  private notifyAgain(at: number): void {
    const host = this.host(at)
    if (host.isNotifyDue) this.notify(at)
    else host.isNotifying = false
  }

  private poll(at: number): void {
    const host = this.host(at)
    if (host.isPolling) {
      host.isPollDue = true
      return
    }
    host.isPolling = true
    host.isPollDue = false
    this.idlePollers.delete(at)
    host.heard = this.notifications - host.notified
    host.rows = Math.min(this.commits - host.seen, this.steps.length)
    host.seen = this.commits
    this.onCore(Kind.poll * SPAN + at)
  }

  private polled(at: number): void {
    const host = this.host(at)
    host.isPolling = false
    this.idlePollers.add(at)
    if (host.isPollDue || this.notifications - host.notified > host.heard) this.poll(at)
  }

  // Threads and cores

  private onThread(at: number, job: number): void {
    const host = this.host(at)
    if (host.isBusy) {
      host.jobs.push(job)
      return
    }
    host.isBusy = true
    if (this.cell.onOneMachine) this.onCore(job)
    else this.events.put(this.now + this.spread(this.meanOf(job)), job)
  }

  private threadIsFree(at: number): void {
    if (this.cell.onOneMachine) this.coreIsFree()
    const host = this.host(at)
    host.isBusy = false
    const job = host.jobs.shift()
    if (job >= 0) this.onThread(at, job)
  }

  private onCore(job: number): void {
    const { cores } = this
    if (cores.free === 0) {
      cores.line.push(job)
      return
    }
    cores.free -= 1
    this.begin(job)
  }

  private coreIsFree(): void {
    const job = this.cores.line.shift()
    if (job < 0) this.cores.free += 1
    else this.begin(job)
  }

  private begin(job: number): void {
    const takes = this.spread(this.meanOf(job))
    const kind = Math.floor(job / SPAN)
    // What begins in the window counts with what is left of the window.
    const { warmUpMs, windowMs } = this.cell
    const inWindow = Math.min(this.now + takes, warmUpMs + windowMs) - Math.max(this.now, warmUpMs)
    if (inWindow > 0) {
      this.used += inWindow
      if (kind === Kind.poll || kind === Kind.news) this.usedByNews += inWindow
    }
    this.events.put(this.now + takes, job)
  }

  private meanOf(job: number): number {
    const { times } = this.cell
    const id = job % SPAN
    switch (Math.floor(job / SPAN)) {
      case Kind.append:
        return times.hostAppend
      case Kind.trip:
        return times.dbTrip + times.dbAppend * this.host(id).riders.length
      case Kind.back:
        return times.hostTrip
      case Kind.notify:
        return times.dbNotify
      case Kind.poll:
        return times.dbPoll + times.dbPollRow * this.host(id).rows
      default:
        return times.hostPoll + times.hostPollRow * this.host(id).rows
    }
  }

  private host(at: number): HostState {
    const host = this.hosts[at]
    if (host === undefined) throw new Error(`no host ${at}`)
    return host
  }

  private hostOf(session: number): number {
    return session % this.cell.hosts
  }

  // What is told at the end

  private get isMeasured(): boolean {
    return this.now >= this.cell.warmUpMs
  }

  /** In steps of a twentieth from 0.01 ms on. */
  private count(ms: number): void {
    const at = Math.max(
      0,
      Math.min(this.latencies.length - 1, Math.floor(Math.log(ms / 0.01) / Math.log(1.05))),
    )
    this.latencies[at] = (this.latencies[at] as number) + 1
  }

  private latency(share: number): number {
    let left = share * this.latencies.reduce((sum, count) => sum + count, 0)
    if (left === 0) return Number.NaN
    for (const [at, count] of this.latencies.entries()) {
      left -= count
      if (left <= 0) return 0.01 * 1.05 ** (at + 0.5)
    }
    return Number.POSITIVE_INFINITY
  }
}
