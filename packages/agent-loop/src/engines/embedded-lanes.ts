/**
 * The lanes of one host, in memory. Sessions of one priority take turns; waiting raises a session by
 * one priority for every `ageMs`. Every operation takes the same time however many wait, and a lane
 * of one target with nothing in it is forgotten.
 */
import type { LaneEngine, LaneSeat, LaneWish } from './lane-engine.ts'
import { nextOf, Ring, type Level } from './lane-ring.ts'

const LEVELS: readonly Level[] = [0, 1, 2]

export interface EmbeddedLanesOptions {
  /** How many sessions of a declared lane have a turn at a time. Any other lane is one of a single target: 1. */
  readonly widths: ReadonlyMap<string, number>
  /** After how long a waiting session rises by one priority. */
  readonly ageMs: number
}

class Lane {
  readonly name: string
  readonly width: number
  readonly isDeclared: boolean
  readonly rings: readonly Ring[]
  active = 0
  waiting = 0

  constructor(name: string, width: number, isDeclared: boolean) {
    this.name = name
    this.width = width
    this.isDeclared = isDeclared
    this.rings = LEVELS.map((level) => new Ring(level))
  }

  get hasRoom(): boolean {
    return this.active < this.width
  }
}

export class EmbeddedLanes implements LaneEngine {
  readonly isShared = false
  private readonly lanes = new Map<string, Lane>()
  /** Lanes in which somebody may have a turn. */
  private readonly stirred = new Set<Lane>()
  private readonly ageMs: number
  private isPaused = false

  constructor({ widths, ageMs }: EmbeddedLanesOptions) {
    this.ageMs = ageMs
    for (const [name, width] of widths) this.lanes.set(name, new Lane(name, width, true))
  }

  get isStirred(): boolean {
    return this.stirred.size > 0
  }

  /** Lanes that are held in memory. */
  get footprint(): number {
    return this.lanes.size
  }

  connect(): void {
    // Nothing happens here that the host did not do.
  }

  want(seat: LaneSeat, { lane: name, level }: LaneWish, now: number): void {
    const lane = this.lane(name)
    const ring = lane.rings[level]
    if (ring === undefined || seat.ring === ring) return
    if (seat.ring === undefined) seat.readySince = now
    this.unwant(seat, lane)
    seat.lane = lane
    lane.waiting += 1
    ring.append(seat)
    this.stirred.add(lane)
  }

  unwant(seat: LaneSeat, keep?: Lane): void {
    const lane = seat.lane
    if (seat.ring === undefined || !(lane instanceof Lane)) return
    seat.ring.remove(seat)
    lane.waiting -= 1
    if (lane !== keep) this.forgetIdle(lane)
  }

  next(now: number): LaneSeat | undefined {
    if (this.isPaused) return undefined
    for (const lane of this.stirred) {
      const seat = lane.hasRoom ? (nextOf(lane.rings, now, this.ageMs) as LaneSeat | undefined) : undefined
      if (seat !== undefined) {
        lane.active += 1
        this.unwant(seat)
        return seat
      }
      this.stirred.delete(lane)
    }
    return undefined
  }

  finish(seat: LaneSeat): void {
    const lane = seat.lane
    if (!(lane instanceof Lane)) return
    lane.active -= 1
    this.stirred.add(lane)
    this.forgetIdle(lane)
  }

  hasRoom(name: string): boolean {
    const lane = this.lanes.get(name)
    return !this.isPaused && (lane === undefined || (lane.hasRoom && lane.waiting === 0))
  }

  nudge(): void {
    // There is no other host.
  }

  pause(): void {
    this.isPaused = true
  }

  async close(): Promise<void> {
    this.pause()
  }

  private lane(name: string): Lane {
    let lane = this.lanes.get(name)
    if (lane === undefined) this.lanes.set(name, (lane = new Lane(name, 1, false)))
    return lane
  }

  private forgetIdle(lane: Lane): void {
    if (lane.isDeclared || lane.active > 0 || lane.waiting > 0) return
    this.lanes.delete(lane.name)
    this.stirred.delete(lane)
  }
}
