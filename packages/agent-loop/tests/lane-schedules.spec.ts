/** Random schedules against a plain model of what the lanes promise. */
import { describe, expect, it } from 'vitest'
import { Block, LaneState, type Blocking, type LaneItem } from '../src/lane-state.ts'
import { pick, randomOf, type Random } from './support/random.ts'

const SCHEDULES = 1000
const STEPS = 120
const SESSIONS = ['a', 'b', 'c', 'd', 'e']
const WIDTHS = { main: 2, cron: 1 }
const LANES = [...Object.keys(WIDTHS), 'nested:x']
const AGE_MS = 50
const BLOCKS: readonly Blocking[] = [Block.held, Block.observed, Block.steering]

/** What the promises say, kept the slow way. */
class Model {
  readonly state = new LaneState({
    widths: new Map(Object.entries(WIDTHS)),
    ageMs: AGE_MS,
    perTarget: ['nested'],
  })
  readonly queues = new Map<string, LaneItem[]>(SESSIONS.map((id) => [id, []]))
  readonly running = new Map<string, LaneItem>()
  readonly blocked = new Map<string, Set<Blocking>>(SESSIONS.map((id) => [id, new Set()]))
  readonly added = new Set<string>()
  readonly started = new Set<string>()
  readonly removed = new Set<string>()
  now = 0

  queue(sessionId: string): LaneItem[] {
    return this.queues.get(sessionId) ?? []
  }

  add(random: Random): void {
    const item: LaneItem = {
      id: `run-${this.added.size}`,
      sessionId: pick(random, SESSIONS),
      lane: pick(random, LANES),
      level: pick(random, [0, 1, 2] as const),
      collects: false,
    }
    this.added.add(item.id)
    this.state.add(item, { at: 'end' }, this.now)
    this.queue(item.sessionId).push(item)
  }

  remove(random: Random): void {
    const queue = this.queue(pick(random, SESSIONS))
    if (queue.length === 0) return
    const [item] = queue.splice(Math.floor(random() * queue.length), 1)
    if (item === undefined) return
    expect(this.state.remove(item.id, this.now)).toBe(true)
    this.removed.add(item.id)
  }

  toggle(random: Random): void {
    const sessionId = pick(random, SESSIONS)
    const block = pick(random, BLOCKS)
    const blocks = this.blocked.get(sessionId)
    if (blocks?.delete(block) === true) this.state.unblock(sessionId, block, this.now)
    else {
      blocks?.add(block)
      this.state.block(sessionId, block, this.now)
    }
  }

  finish(random: Random): void {
    if (this.running.size === 0) return
    const item = pick(random, [...this.running.values()])
    this.running.delete(item.sessionId)
    this.state.finish(item.id, this.now)
  }

  startAll(): void {
    for (let item = this.state.next(this.now); item !== undefined; item = this.state.next(this.now)) {
      expect(this.running.has(item.sessionId), 'two runs of one session').toBe(false)
      expect(this.queue(item.sessionId).shift()?.id, 'first in, first out').toBe(item.id)
      expect(this.blocked.get(item.sessionId)?.size, 'a blocked session').toBe(0)
      expect(this.started.has(item.id), 'started twice').toBe(false)
      this.started.add(item.id)
      this.running.set(item.sessionId, item)
      expect(this.activeIn(item.lane), `width of ${item.lane}`).toBeLessThanOrEqual(widthOf(item.lane))
    }
    this.expectNoIdleSlot()
  }

  /** No session is left waiting that could run. */
  expectNoIdleSlot(): void {
    for (const [sessionId, [head]] of this.queues) {
      if (head === undefined || this.running.has(sessionId)) continue
      if ((this.blocked.get(sessionId)?.size ?? 0) > 0) continue
      expect(this.activeIn(head.lane), `a slot of ${head.lane} lies idle`).toBe(widthOf(head.lane))
    }
  }

  activeIn(lane: string): number {
    return [...this.running.values()].filter((item) => item.lane === lane).length
  }
}

function widthOf(lane: string): number {
  return new Map(Object.entries(WIDTHS)).get(lane) ?? 1
}

function step(model: Model, random: Random): void {
  model.now += Math.floor(random() * 10)
  const dice = random()
  if (dice < 0.45) model.add(random)
  else if (dice < 0.8) model.finish(random)
  else if (dice < 0.9) model.remove(random)
  else model.toggle(random)
  model.startAll()
}

/** Lifts every block and lets all that runs come to its end. */
function drain(model: Model): void {
  for (const [sessionId, blocks] of model.blocked) {
    for (const block of blocks) model.state.unblock(sessionId, block, model.now)
    blocks.clear()
  }
  model.startAll()
  while (model.running.size > 0) {
    model.now += 10
    for (const item of [...model.running.values()]) {
      model.running.delete(item.sessionId)
      model.state.finish(item.id, model.now)
    }
    model.startAll()
  }
}

describe('random schedules', () => {
  it(`keep every promise of the lanes, ${SCHEDULES} times`, () => {
    for (let seed = 1; seed <= SCHEDULES; seed += 1) {
      const random = randomOf(seed)
      const model = new Model()
      for (let count = 0; count < STEPS; count += 1) step(model, random)
      drain(model)
      expect([...model.started, ...model.removed].sort(), `seed ${seed}: nothing is lost`).toEqual(
        [...model.added].sort(),
      )
      expect(model.state.views(), `seed ${seed}: nothing is left`).toEqual([])
    }
  })

  it('let nobody starve: a waiting session is overtaken a bounded number of times', () => {
    for (let seed = 1; seed <= 100; seed += 1) {
      const random = randomOf(seed)
      const state = new LaneState({ widths: new Map([['main', 1]]), ageMs: AGE_MS, perTarget: [] })
      let count = 0
      const add = (sessionId: string, level: 0 | 1 | 2, now: number): void => {
        state.add(
          { id: `${sessionId}-${(count += 1)}`, sessionId, lane: 'main', level, collects: false },
          { at: 'end' },
          now,
        )
      }
      add('poor', 0, 0)
      let overtaken = 0
      for (let now = 0; state.isBusy('poor') && state.running('poor') === undefined; now += 1) {
        // Six sessions that always have more to do, of any priority.
        for (const rich of ['r1', 'r2', 'r3', 'r4', 'r5', 'r6']) {
          if (!state.isBusy(rich)) add(rich, pick(random, [1, 2] as const), now)
        }
        const next = state.next(now)
        if (next === undefined || next.sessionId === 'poor') continue
        overtaken += 1
        state.finish(next.id, now)
      }
      // Until it has aged by two priorities, and then those that wait longer: none does.
      expect(overtaken, `seed ${seed}`).toBeLessThanOrEqual(2 * AGE_MS + 6)
    }
  })
})
