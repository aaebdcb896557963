/**
 * Hosts in miniature around lane engines: sessions wait, run and finish at a test's word, and every rule
 * that holds at each moment is checked at each moment.
 */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { LaneSeat, type LaneEngine, type LaneWish } from '../engines/lane-engine.ts'

const PATIENCE_MS = 30_000

/** Resolves once the condition holds; what it waits for is named in the failure. */
export async function until(what: string, holds: () => boolean): Promise<void> {
  const since = performance.now()
  while (!holds()) {
    if (performance.now() - since > PATIENCE_MS) assert.fail(`in vain: ${what}`)
    await pause(5)
  }
}

class Seat extends LaneSeat {
  isRunning = false
}

/** What holds over all hosts of a test. */
export class House {
  /** Sessions with a turn, and the lane of it. */
  readonly running = new Map<string, string>()
  /** What sessions have to do, as a log tells it to every host. */
  readonly todo = new Map<string, LaneWish>()
  readonly hosts: LaneHost[] = []
  private readonly widths: ReadonlyMap<string, number>

  constructor(widths: ReadonlyMap<string, number>) {
    this.widths = widths
  }

  began(sessionId: string, lane: string): void {
    assert.ok(!this.running.has(sessionId), `session ${sessionId} has one turn at a time`)
    this.running.set(sessionId, lane)
    this.todo.delete(sessionId)
    for (const host of this.hosts) host.forget(sessionId)
    const width = this.widths.get(lane) ?? 1
    const active = [...this.running.values()].filter((other) => other === lane).length
    assert.ok(active <= width, `${active} sessions run in lane ${lane} of width ${width}`)
  }
}

/** One host: what `lane-state.ts` does of an engine. */
export class LaneHost {
  readonly engine: LaneEngine
  /** Sessions in the order of their turns. */
  readonly order: string[] = []
  readonly lost: string[] = []
  now = 1_800_000_000_000
  private readonly house: House
  private readonly seats = new Map<string, Seat>()
  private readonly wishes = new Map<string, LaneWish>()
  /** The rule that was broken in a callback of the engine. */
  private broken: unknown

  constructor(engine: LaneEngine, house: House) {
    this.engine = engine
    this.house = house
    house.hosts.push(this)
    engine.connect({
      stirred: () => this.pump(),
      summoned: async (sessionId) => {
        const wish = this.house.todo.get(sessionId)
        if (wish !== undefined) this.want(sessionId, wish.lane, wish.level)
      },
      lost: (sessionId) => {
        this.lost.push(sessionId)
        this.house.running.delete(sessionId)
        const seat = this.seat(sessionId)
        seat.isRunning = false
        engine.finish(seat)
      },
      warn: () => undefined,
    })
  }

  want(sessionId: string, lane = 'main', level: LaneWish['level'] = 1): void {
    this.wishes.set(sessionId, { lane, level })
    this.house.todo.set(sessionId, { lane, level })
    if (!this.seat(sessionId).isRunning) this.engine.want(this.seat(sessionId), { lane, level }, this.now)
  }

  unwant(sessionId: string): void {
    this.house.todo.delete(sessionId)
    this.forget(sessionId)
  }

  /** It runs, here or elsewhere. */
  forget(sessionId: string): void {
    if (this.wishes.delete(sessionId) && !this.seat(sessionId).isRunning) {
      this.engine.unwant(this.seat(sessionId))
    }
  }

  finish(sessionId: string): void {
    const seat = this.seat(sessionId)
    assert.ok(seat.isRunning, `session ${sessionId} runs here`)
    seat.isRunning = false
    this.house.running.delete(sessionId)
    this.engine.finish(seat)
    const wish = this.wishes.get(sessionId)
    if (wish !== undefined) this.engine.want(seat, wish, this.now)
    this.pump()
  }

  get running(): readonly string[] {
    this.check()
    return [...this.seats.values()].filter(({ isRunning }) => isRunning).map(({ id }) => id)
  }

  /** Starts whatever may start. */
  pump(): void {
    try {
      for (let seat = this.engine.next(this.now); seat !== undefined; seat = this.engine.next(this.now)) {
        const own = this.seat(seat.id)
        assert.equal(seat, own, 'a seat comes back as it was given')
        const wish = this.wishes.get(seat.id)
        assert.ok(wish !== undefined, `session ${seat.id} waits`)
        own.isRunning = true
        this.house.began(seat.id, wish.lane)
        this.order.push(seat.id)
      }
    } catch (error) {
      this.broken ??= error
    }
  }

  /** @throws the first rule that was broken so far. */
  check(): void {
    if (this.broken !== undefined) throw this.broken
  }

  private seat(sessionId: string): Seat {
    let seat = this.seats.get(sessionId)
    if (seat === undefined) this.seats.set(sessionId, (seat = new Seat(sessionId)))
    return seat
  }
}
