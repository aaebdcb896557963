/**
 * Who may run now: the queues of all sessions, as one pure state, and which of them wait for a slot.
 *
 * A run waits in the queue of its session. A session is *ready* when it has something to run, runs
 * nothing and nothing blocks it; only then does the lane engine know that it waits for a slot of the
 * global lane its head names. So a session holds its own place until it gets a slot, no slot waits for a session, and
 * what happens to the queue meanwhile (a cancel, a placement in front) still counts.
 *
 * Every operation takes the same time whatever is queued. A session without anything in it, and a lane
 * of one target without anything in it, are forgotten. Reads no clock, starts nothing.
 */
import type { LaneEngine } from './engines/lane-engine.ts'
import { Place, Seat, type Blocking, type LaneItem } from './lane-seat.ts'
import { Slots } from './lane-slots.ts'

export { Block, type Blocking, type LaneItem } from './lane-seat.ts'

export type Placement =
  | { readonly at: 'end' }
  /** Behind others in front, before everything else. */
  | { readonly at: 'front' }
  | { readonly at: 'head' }
  /** Before another one, as part of the front or of the rest. */
  | { readonly at: 'before'; readonly id: string; readonly inFront: boolean }

/** What a session's part of the state looks like. */
export interface SeatView {
  readonly sessionId: string
  readonly running: string | undefined
  readonly queued: readonly string[]
  readonly blocks: number
}

export interface LaneStateOptions {
  readonly engine: LaneEngine
  /** Width by name of every declared lane. */
  readonly widths: ReadonlyMap<string, number>
  /** Lanes of one target begin with one of these and a colon; each has the width 1. */
  readonly perTarget: readonly string[]
  /** Something has moved. */
  readonly onMoved?: () => void
}

export class LaneState {
  private readonly places = new Map<string, Place>()
  private readonly seats = new Map<string, Seat>()
  private readonly lanes = new Map<string, Slots>()
  private readonly engine: LaneEngine
  private readonly perTarget: readonly string[]
  private readonly onMoved: () => void

  constructor({ engine, widths, perTarget, onMoved = () => undefined }: LaneStateOptions) {
    this.onMoved = onMoved
    this.engine = engine
    this.perTarget = perTarget
    for (const [name, width] of widths) this.lanes.set(name, new Slots(name, width, false))
  }

  /** Whether the name is one that runs may wait for. */
  knows(lane: string): boolean {
    return this.lanes.has(lane) || this.perTarget.some((name) => lane.startsWith(`${name}:`))
  }

  /** Adds a run; one that is here already, waiting or running, stays where it is. */
  add(item: LaneItem, placement: Placement, now: number): void {
    if (this.places.has(item.id)) return
    const seat = this.seat(item.sessionId)
    const slots = this.slots(item.lane)
    const place = new Place(item, seat, slots, now)
    this.places.set(item.id, place)
    this.insert(place, placement)
    seat.counts[item.level] += 1
    slots.waiting += 1
    this.reseat(seat, now)
  }

  /** Takes out a waiting run. @returns whether it was waiting. */
  remove(id: string, now: number): boolean {
    const place = this.places.get(id)
    if (place === undefined || place.session.active === place) return false
    this.places.delete(id)
    this.leaveQueue(place)
    this.forgetIdle(place.slots)
    this.reseat(place.session, now)
    return true
  }

  /** Puts a waiting run before another one of its session, or at the end. @returns whether it could. */
  move(id: string, before: string | undefined, now: number): boolean {
    const place = this.waiting(id)
    if (place === undefined) return false
    if (before === id) return true
    const other = before === undefined ? undefined : this.waiting(before)
    if (before !== undefined && other?.session !== place.session) return false
    const { queue } = place.session
    queue.remove(place)
    if (other === undefined) queue.append(place)
    else queue.insertBefore(place, other)
    this.reseat(place.session, now)
    return true
  }

  block(sessionId: string, reason: Blocking, now: number): void {
    const seat = this.seat(sessionId)
    seat.blocks |= reason
    this.reseat(seat, now)
  }

  unblock(sessionId: string, reason: Blocking, now: number): void {
    const seat = this.seats.get(sessionId)
    if (seat === undefined) return
    seat.blocks &= ~reason
    this.reseat(seat, now)
  }

  /** The next run that starts, which then holds its session and a slot; none when nothing may. */
  next(now: number): LaneItem | undefined {
    for (;;) {
      const seat = this.engine.next(now)
      if (!(seat instanceof Seat)) return undefined
      seat.wish = undefined
      const { ready } = seat
      if (ready !== undefined) return this.start(seat, ready, now)
      this.engine.finish(seat)
    }
  }

  /** Whether anything has changed since `next` had nothing. */
  get isStirred(): boolean {
    return this.engine.isStirred
  }

  /** Gives the session and the slot of a running run free. */
  finish(id: string, now: number): void {
    const place = this.places.get(id)
    if (place === undefined || place.session.active !== place) return
    this.places.delete(id)
    place.session.active = undefined
    place.slots.active -= 1
    this.engine.finish(place.session)
    this.forgetIdle(place.slots)
    this.reseat(place.session, now)
  }

  /** Nothing starts any more; what is queued stays. */
  pause(): void {
    this.engine.pause()
  }

  has(id: string): boolean {
    return this.places.has(id)
  }

  isWaiting(id: string): boolean {
    return this.waiting(id) !== undefined
  }

  isBlocked(sessionId: string, reason: Blocking): boolean {
    return ((this.seats.get(sessionId)?.blocks ?? 0) & reason) !== 0
  }

  /** Whether the session runs or queues anything. */
  isBusy(sessionId: string): boolean {
    const seat = this.seats.get(sessionId)
    return seat !== undefined && (seat.active !== undefined || seat.queue.size > 0)
  }

  /** Whether a run of the session would start at once if it were added now. */
  isFree(sessionId: string, lane: string): boolean {
    return this.engine.hasRoom(lane) && !this.seats.has(sessionId)
  }

  running(sessionId: string): string | undefined {
    return this.seats.get(sessionId)?.active?.item.id
  }

  /** Ids that wait in a session, in order. */
  *queued(sessionId: string): Generator<string, void> {
    for (const place of this.seats.get(sessionId)?.queue ?? []) yield place.item.id
  }

  /** The state of a lane; undefined for one of a single target with nothing in it. */
  lane(name: string): Readonly<Slots> | undefined {
    return this.lanes.get(name)
  }

  allLanes(): Iterable<Readonly<Slots>> {
    return this.lanes.values()
  }

  /** Since when the longest waiting run of a lane waits. Looks at every session. */
  oldestIn(lane: string): number | undefined {
    let oldest: number | undefined
    for (const { queue } of this.seats.values()) {
      for (const { item, since } of queue) {
        if (item.lane === lane && (oldest === undefined || since < oldest)) oldest = since
      }
    }
    return oldest
  }

  blockedBy(reason: Blocking): readonly string[] {
    return [...this.seats.values()].filter((seat) => (seat.blocks & reason) !== 0).map((seat) => seat.id)
  }

  views(): readonly SeatView[] {
    return [...this.seats.values()].map(({ id, active, queue, blocks }) => ({
      sessionId: id,
      running: active?.item.id,
      queued: Array.from(queue, (place) => place.item.id),
      blocks,
    }))
  }

  /** Sessions, lanes of one target and runs that are held in memory. */
  get footprint(): number {
    return this.seats.size + this.places.size + this.lanes.size
  }

  private start(seat: Seat, place: Place, now: number): LaneItem {
    this.leaveQueue(place)
    seat.active = place
    place.slots.active += 1
    place.slots.countStart(now - place.since)
    this.reseat(seat, now)
    return place.item
  }

  private leaveQueue(place: Place): void {
    place.session.queue.remove(place)
    place.session.counts[place.item.level] -= 1
    place.slots.waiting -= 1
  }

  private insert(place: Place, placement: Placement): void {
    const { queue } = place.session
    if (placement.at === 'front') queue.appendInFront(place)
    else if (placement.at === 'head') queue.prepend(place)
    else if (placement.at === 'end') queue.append(place)
    else {
      const other = this.waiting(placement.id)
      if (other?.session === place.session) queue.insertBefore(place, other, placement.inFront)
      else queue.append(place)
    }
  }

  /** Tells the engine what a session waits for now, if that has changed. */
  private reseat(seat: Seat, now: number): void {
    const { ready, wish } = seat
    if (ready === undefined) {
      if (wish !== undefined) this.engine.unwant(seat)
      seat.wish = undefined
    } else if (wish?.lane !== ready.item.lane || wish.level !== seat.level) {
      seat.wish = { lane: ready.item.lane, level: seat.level }
      this.engine.want(seat, seat.wish, now)
    }
    if (seat.isEmpty) this.seats.delete(seat.id)
    this.onMoved()
  }

  private waiting(id: string): Place | undefined {
    const place = this.places.get(id)
    return place === undefined || place.session.active === place ? undefined : place
  }

  private seat(sessionId: string): Seat {
    let seat = this.seats.get(sessionId)
    if (seat === undefined) this.seats.set(sessionId, (seat = new Seat(sessionId)))
    return seat
  }

  private slots(name: string): Slots {
    let slots = this.lanes.get(name)
    if (slots === undefined) {
      if (!this.knows(name)) throw new Error(`no lane is named ${name}`)
      this.lanes.set(name, (slots = new Slots(name, 1, true)))
    }
    return slots
  }

  private forgetIdle(slots: Slots): void {
    if (!slots.isPerTarget || !slots.isIdle) return
    this.lanes.delete(slots.name)
  }
}
