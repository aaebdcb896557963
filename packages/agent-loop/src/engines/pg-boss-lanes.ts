/**
 * The lanes of several hosts on one PostgreSQL database: a job of pg-boss says that a session waits
 * for a turn, and a host that is given the job has the turn until it completes it.
 *
 *     want ──► ask (job) ─ ─ any host takes it ─ ─► given ──► next ──► finish ──► over (and ask again)
 *
 * A job is a reminder and not the truth, which is in the run streams: one that finds nothing to do is
 * completed, one too many does no harm, and a session whose job got lost is found by the sweep. Turns
 * under way give a sign of life; a host that could give none for as long as others wait for one lets
 * go of its turns by its own clock, before anybody else begins.
 *
 * Owns: who waits and who has a turn here, and the rhythm of asking, taking, and signs of life.
 */
import type { Clock } from '../clock.ts'
import type { BossJobs, GivenTurn, Summons } from './boss-jobs.ts'
import { Orphans } from './orphans.ts'
import { Rhythm } from './rhythm.ts'
import type { Companion, LaneEngine, LaneEngineEvents, LaneSeat, LaneWish } from './lane-engine.ts'

export interface PgBossLanesOptions {
  readonly jobs: BossJobs
  readonly clock: Clock
  readonly hostId: string
  /** Declared lanes, and names in front of the target of lanes of one target. */
  readonly lanes: readonly string[]
  /** Turns of a lane on this host at most; default as many as the lane has. */
  readonly perHost: ReadonlyMap<string, number>
  readonly heartbeatMs: number
  /** How often jobs are looked for beside what is heard of other hosts; default 500 ms. */
  readonly pollMs?: number
  /** The only host that may run the session as long as that host lives; none: any. */
  readonly homeOf: (sessionId: string, lane: string) => string | undefined
  /** Sessions with something to run, whoever runs it. */
  readonly open: () => Iterable<{ readonly sessionId: string; readonly wish: LaneWish }>
}

interface Waiting {
  readonly seat: LaneSeat
  readonly wish: LaneWish
  readonly since: number
  /** There is a job for it. */
  isAsked: boolean
}

interface Turn {
  given: GivenTurn
  /** The session runs something in it. */
  isTaken: boolean
  /** When the newest sign of life was begun, by the monotonic clock. */
  signAt: number
}

const DEFAULT_POLL_MS = 500
const RETRY_MS = 500
const HOSTS_MS = 500
/** News of other hosts that come within it are one. */
const NUDGE_MS = 20
/**
 * How much of the heartbeat, after which others are given a turn, may pass without a sign of life that
 * was answered. The rest is for looking at it, and for a turn to be stopped.
 */
const PATIENCE_SHARE = 0.8
/** How often sessions are looked for that wait nowhere. */
const SWEEP_MS = 5_000

export class PgBossLanes implements LaneEngine {
  readonly isShared = true
  readonly hostId: string
  private readonly options: PgBossLanesOptions
  private readonly jobs: BossJobs
  private events: LaneEngineEvents | undefined
  private readonly waiting = new Map<string, Waiting>()
  private readonly turns = new Map<string, Turn>()
  /** Sessions that wait and were given their turn. */
  private readonly ready = new Set<string>()
  /** Sessions that an acceptance has asked for already. */
  private readonly summoned = new Set<string>()
  private over: GivenTurn[] = []
  private readonly passed: Summons[] = []
  private readonly unasked = new Set<string>()
  private readonly due = new Set<string>()
  private others: readonly string[] = []
  /** By the monotonic clock. */
  private othersUntil = Number.NEGATIVE_INFINITY
  private readonly orphans: Orphans
  private readonly rhythm: Rhythm
  private isStoring = false
  private isTaking = false
  private isNudged = false
  private isPaused = false
  private isClosed = false
  private closing: Promise<void> | undefined

  constructor(options: PgBossLanesOptions) {
    this.options = options
    this.hostId = options.hostId
    this.jobs = options.jobs
    this.orphans = new Orphans(options.jobs)
    this.rhythm = new Rhythm(options.clock, (error) => this.warn('the database does not answer', error))
  }

  get isStirred(): boolean {
    return this.ready.size > 0
  }

  connect(events: LaneEngineEvents): void {
    this.events = events
    const { heartbeatMs, pollMs = DEFAULT_POLL_MS } = this.options
    this.rhythm.every(pollMs, () => this.look())
    this.rhythm.every(heartbeatMs / 5, () => this.showLife())
    this.rhythm.every(heartbeatMs / 10, () => this.letGoOfSilent())
    this.rhythm.every(SWEEP_MS, () => this.sweep())
  }

  want(seat: LaneSeat, wish: LaneWish, now: number): void {
    const before = this.waiting.get(seat.id)
    const own: LaneWish = { lane: this.familyOf(wish.lane), level: wish.level }
    const isSame = before?.wish.lane === own.lane
    // A job keeps the place it was given; what raises a session later does not move it.
    const isAsked = this.summoned.delete(seat.id) || (isSame && before.isAsked)
    this.waiting.set(seat.id, { seat, wish: own, since: before?.since ?? now, isAsked })
    const turn = this.turns.get(seat.id)
    if (turn !== undefined && !turn.isTaken && turn.given.lane === own.lane) return this.offer(seat.id)
    if (isAsked) return
    this.unasked.add(seat.id)
    this.store()
  }

  unwant(seat: LaneSeat): void {
    this.waiting.delete(seat.id)
    this.unasked.delete(seat.id)
    if (this.ready.delete(seat.id)) this.giveBack(seat.id)
  }

  next(): LaneSeat | undefined {
    if (this.isPaused) return undefined
    for (const sessionId of this.ready) {
      this.ready.delete(sessionId)
      const waiting = this.waiting.get(sessionId)
      const turn = this.turns.get(sessionId)
      if (waiting === undefined || turn === undefined) continue
      turn.isTaken = true
      this.waiting.delete(sessionId)
      this.unasked.delete(sessionId)
      return waiting.seat
    }
    return undefined
  }

  finish(seat: LaneSeat): void {
    const turn = this.turns.get(seat.id)
    if (turn?.isTaken === true) this.giveBack(seat.id)
  }

  hasRoom(): boolean {
    return false
  }

  pause(): void {
    if (this.isPaused) return
    this.isPaused = true
    for (const sessionId of this.ready) this.giveBack(sessionId)
    this.ready.clear()
    this.rhythm.run(() => this.jobs.leave())
  }

  summons(sessionId: string, wish: LaneWish, host: string | undefined): Companion {
    const summons: Summons = {
      sessionId,
      lane: this.familyOf(wish.lane),
      level: wish.level,
      host,
      since: this.options.clock.now(),
    }
    return {
      work: (execute) => this.jobs.ask([summons], execute),
      stored: () => {
        this.summoned.add(sessionId)
        this.due.add(summons.lane)
        this.rhythm.run(() => this.take())
      },
    }
  }

  nudge(): void {
    if (this.isNudged || this.isPaused) return
    this.isNudged = true
    this.rhythm.after(NUDGE_MS, async () => {
      this.isNudged = false
      await this.look()
    })
  }

  close(): Promise<void> {
    return (this.closing ??= this.end())
  }

  private async end(): Promise<void> {
    this.pause()
    this.isClosed = true
    for (const sessionId of this.turns.keys()) this.giveBack(sessionId)
    await this.rhythm.stop()
    await this.storeOnce().catch((error: unknown) => this.warn('turns were not given back', error))
    await this.jobs.close()
  }

  private get monotonic(): number {
    return this.options.clock.monotonic()
  }

  /** Lanes of one target share a queue, in which each session has a turn at a time anyway. */
  private familyOf(lane: string): string {
    const { lanes } = this.options
    if (lanes.includes(lane)) return lane
    return lanes.find((name) => lane.startsWith(`${name}:`)) ?? lane
  }

  private offer(sessionId: string): void {
    this.ready.add(sessionId)
    queueMicrotask(() => this.events?.stirred())
  }

  /** A turn is over or not needed; while this host pauses, it passes to others. */
  private giveBack(sessionId: string): void {
    const turn = this.turns.get(sessionId)
    if (turn === undefined) return
    this.turns.delete(sessionId)
    this.over.push(turn.given)
    if (this.isPaused) {
      const { lane } = turn.given
      this.passed.push({ sessionId, lane, level: 1, host: undefined, since: this.options.clock.now() })
    }
    this.store()
  }

  /** Stores what is over and asks for what is wanted, one transaction after the other. */
  private store(): void {
    if (this.isStoring || this.isClosed) return
    this.isStoring = true
    this.rhythm.run(async () => {
      try {
        // What the same task has finished and wants then goes together.
        await Promise.resolve()
        while (this.over.length > 0 || this.passed.length > 0 || this.unasked.size > 0) await this.storeOnce()
      } catch (error) {
        this.warn('turns are not stored, trying again', error)
        this.rhythm.after(RETRY_MS, async () => this.store())
      } finally {
        this.isStoring = false
      }
    })
  }

  private async storeOnce(): Promise<void> {
    const over = this.over
    const passed = this.passed.splice(0)
    const asked = [...this.unasked].flatMap((sessionId) => this.waiting.get(sessionId) ?? [])
    this.over = []
    this.unasked.clear()
    const wanted = asked.map(({ seat: { id }, wish, since }): Summons => {
      const host = this.isPaused ? undefined : this.options.homeOf(id, wish.lane)
      return { sessionId: id, ...wish, host, since }
    })
    for (const one of asked) one.isAsked = true
    try {
      await this.jobs.settle(over, [...passed, ...wanted])
    } catch (error) {
      this.over.unshift(...over)
      this.passed.unshift(...passed)
      for (const one of asked) {
        one.isAsked = false
        if (this.waiting.get(one.seat.id) === one) this.unasked.add(one.seat.id)
      }
      throw error
    }
    for (const { lane } of [...over, ...wanted]) this.due.add(lane)
    this.rhythm.run(() => this.take())
  }

  /** Looks whether anybody waits for a turn that this host may be given. */
  private async look(): Promise<void> {
    if (this.isPaused) return
    for (const lane of await this.jobs.waited(this.options.lanes)) this.due.add(lane)
    await this.take()
  }

  private async take(): Promise<void> {
    if (this.isTaking) return
    this.isTaking = true
    try {
      for (const lane of this.due) {
        this.due.delete(lane)
        if (this.isPaused) continue
        await this.lookForHosts()
        const signAt = this.monotonic
        const given = await this.jobs.take(lane, this.roomFor(lane), this.others)
        for (const turn of given) this.receive(turn, signAt)
      }
    } finally {
      this.isTaking = false
    }
  }

  private roomFor(lane: string): number {
    const most = this.options.perHost.get(lane) ?? Number.POSITIVE_INFINITY
    let held = 0
    for (const { given } of this.turns.values()) if (given.lane === lane) held += 1
    return most - held
  }

  private receive(given: GivenTurn, signAt: number): void {
    const { sessionId, lane } = given
    this.summoned.delete(sessionId)
    const known = this.turns.get(sessionId)
    if (known?.given.job.id === given.job.id) {
      // It was about to pass to another host, and came back.
      known.given = given
      known.signAt = signAt
      return
    }
    if (known !== undefined || this.isPaused) {
      // Another lane's job for a session that has a turn here already; what it wants then, it asks for.
      this.over.push(given)
      return this.store()
    }
    this.turns.set(sessionId, { given, isTaken: false, signAt })
    this.orphans.forget(sessionId)
    const waiting = this.waiting.get(sessionId)
    if (waiting?.wish.lane === lane) return this.offer(sessionId)
    this.rhythm.run(() => this.summon(sessionId))
  }

  /** The host reads what the session has to run; when that is nothing, or nothing now, the turn passes. */
  private async summon(sessionId: string): Promise<void> {
    try {
      await this.events?.summoned(sessionId)
    } catch (error) {
      this.warn(`session ${JSON.stringify(sessionId)} was not read`, error)
    }
    const turn = this.turns.get(sessionId)
    if (turn !== undefined && !turn.isTaken && !this.ready.has(sessionId)) this.giveBack(sessionId)
  }

  private async showLife(): Promise<void> {
    const turns = [...this.turns.values()]
    const signAt = this.monotonic
    const lost = new Set(await this.jobs.touch(turns.map(({ given }) => given)))
    for (const turn of turns) {
      if (!lost.has(turn.given)) turn.signAt = signAt
      else if (this.turns.get(turn.given.sessionId) === turn) this.lose(turn.given.sessionId)
    }
  }

  /** By this host's own clock, whatever the database does. */
  private async letGoOfSilent(): Promise<void> {
    const { monotonic } = this
    for (const [sessionId, { signAt }] of this.turns) {
      if (monotonic - signAt >= this.options.heartbeatMs * PATIENCE_SHARE) this.lose(sessionId)
    }
  }

  private lose(sessionId: string): void {
    this.turns.delete(sessionId)
    this.ready.delete(sessionId)
    this.events?.lost(sessionId)
  }

  /** What is left to others must be known before anything is taken, and may be as old as a poll. */
  private async lookForHosts(): Promise<void> {
    const { monotonic } = this
    if (monotonic < this.othersUntil) return
    this.others = await this.jobs.otherHosts()
    this.othersUntil = monotonic + HOSTS_MS
  }

  private async sweep(): Promise<void> {
    if (this.isPaused) return
    const { open, clock, homeOf } = this.options
    const unserved = new Map<string, LaneWish>()
    for (const { sessionId, wish } of open()) if (!this.turns.has(sessionId)) unserved.set(sessionId, wish)
    const due = await this.orphans.dueAmong(unserved, clock.now())
    await this.jobs.ask(
      due.map((one) => ({ ...one, lane: this.familyOf(one.lane), host: homeOf(one.sessionId, one.lane) })),
    )
    for (const { lane } of due) this.due.add(this.familyOf(lane))
    await this.take()
  }

  private warn(what: string, error: unknown): void {
    if (!this.isClosed) this.events?.warn(`lanes over hosts: ${what}: ${String(error)}`)
  }
}
