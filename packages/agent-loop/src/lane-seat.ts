/**
 * A session's seat among the lanes: its queue, what it runs, what blocks it, and from these whether it is
 * ready. Pure state; who gets a slot is `lane-state.ts`.
 */
import { LaneSeat, type LaneWish, type Level } from './engines/lane-engine.ts'
import type { Slots } from './lane-slots.ts'
import { QueueNode, RunQueue } from './run-queue.ts'

/** Reasons for which a session hands out nothing although it has something to run; bits. */
export const Block = {
  /** Its runs are from before this process, which has no right to the session yet. */
  held: 1,
  /** A turn that is not ours is open in it. */
  observed: 2,
  /** A steer is on its way into its turn. */
  steering: 4,
  /** Messages to be collected are still coming in; only a head that collects waits for it. */
  quiet: 8,
  /** A person has stopped a turn of theirs; nothing goes on by itself until something new happens. */
  stopped: 16,
} as const

export type Blocking = (typeof Block)[keyof typeof Block]

/** What waits. */
export interface LaneItem {
  readonly id: string
  readonly sessionId: string
  /** A declared name, or one of a single target. */
  readonly lane: string
  readonly level: Level
  /** Whether messages behind it may be taken together with it. */
  readonly collects: boolean
}

/** A waiting or running item, in its place. */
export class Place extends QueueNode {
  readonly item: LaneItem
  readonly session: Seat
  readonly slots: Slots
  readonly since: number

  constructor(item: LaneItem, session: Seat, slots: Slots, since: number) {
    super()
    this.item = item
    this.session = session
    this.slots = slots
    this.since = since
  }
}

/** A session's seat in the house: its queue, what it runs, what blocks it. */
export class Seat extends LaneSeat {
  readonly queue = new RunQueue<Place>()
  readonly counts: [number, number, number] = [0, 0, 0]
  active: Place | undefined = undefined
  blocks = 0
  /** What the engine was told that it waits for. */
  wish: LaneWish | undefined = undefined

  get isEmpty(): boolean {
    return this.active === undefined && this.queue.size === 0 && this.blocks === 0
  }

  /** The head when it may run now. */
  get ready(): Place | undefined {
    const { head } = this.queue
    if (this.active !== undefined || head === undefined) return undefined
    const blocks = head.item.collects ? this.blocks : this.blocks & ~Block.quiet
    return blocks === 0 ? head : undefined
  }

  /** A head inherits the priority of what waits behind it, or it would hold that up. */
  get level(): Level {
    return this.counts[2] > 0 ? 2 : this.counts[1] > 0 ? 1 : 0
  }
}
