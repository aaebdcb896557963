/** A plain model of what the lanes promise, beside the real state; it throws when a promise is broken. */
import { EmbeddedLanes } from '../../src/engines/embedded-lanes.ts'
import { Block, LaneState, type Blocking, type LaneItem } from '../../src/lane-state.ts'
import type { Random } from './random.ts'

const SESSIONS = ['a', 'b', 'c', 'd', 'e']
const WIDTHS = { main: 2, cron: 1 }
const LANES = [...Object.keys(WIDTHS), 'nested:x']
export const AGE_MS = 50
const BLOCKS: readonly Blocking[] = [Block.held, Block.observed, Block.steering]

/** What the promises say, kept the slow way. */
export class LaneModel {
  readonly state = new LaneState({
    engine: new EmbeddedLanes({ widths: new Map(Object.entries(WIDTHS)), ageMs: AGE_MS }),
    widths: new Map(Object.entries(WIDTHS)),
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
      sessionId: random.pick(SESSIONS),
      lane: random.pick(LANES),
      level: random.pick([0, 1, 2] as const),
      collects: false,
    }
    this.added.add(item.id)
    this.state.add(item, { at: 'end' }, this.now)
    this.queue(item.sessionId).push(item)
  }

  remove(random: Random): void {
    const queue = this.queue(random.pick(SESSIONS))
    if (queue.length === 0) return
    const [item] = queue.splice(random.int(queue.length), 1)
    if (item === undefined) return
    must(this.state.remove(item.id, this.now), 'a waiting run can be taken out')
    this.removed.add(item.id)
  }

  toggle(random: Random): void {
    const sessionId = random.pick(SESSIONS)
    const block = random.pick(BLOCKS)
    const blocks = this.blocked.get(sessionId)
    if (blocks?.delete(block) === true) this.state.unblock(sessionId, block, this.now)
    else {
      blocks?.add(block)
      this.state.block(sessionId, block, this.now)
    }
  }

  finish(random: Random): void {
    if (this.running.size === 0) return
    const item = random.pick([...this.running.values()])
    this.running.delete(item.sessionId)
    this.state.finish(item.id, this.now)
  }

  startAll(): void {
    for (let item = this.state.next(this.now); item !== undefined; item = this.state.next(this.now)) {
      must(!this.running.has(item.sessionId), 'never two runs of one session')
      must(this.queue(item.sessionId).shift()?.id === item.id, 'first in, first out')
      must(this.blocked.get(item.sessionId)?.size === 0, 'a blocked session starts nothing')
      must(!this.started.has(item.id), 'nothing starts twice')
      this.started.add(item.id)
      this.running.set(item.sessionId, item)
      must(this.activeIn(item.lane) <= widthOf(item.lane), `lane ${item.lane} is no wider than it is`)
    }
    this.expectNoIdleSlot()
  }

  /** No session is left waiting that could run. */
  expectNoIdleSlot(): void {
    for (const [sessionId, [head]] of this.queues) {
      if (head === undefined || this.running.has(sessionId)) continue
      if ((this.blocked.get(sessionId)?.size ?? 0) > 0) continue
      must(this.activeIn(head.lane) === widthOf(head.lane), `no slot of ${head.lane} lies idle`)
    }
  }

  activeIn(lane: string): number {
    return [...this.running.values()].filter((item) => item.lane === lane).length
  }
}

function widthOf(lane: string): number {
  return new Map(Object.entries(WIDTHS)).get(lane) ?? 1
}

export function step(model: LaneModel, random: Random): void {
  model.now += random.int(10)
  const dice = random.fraction()
  if (dice < 0.45) model.add(random)
  else if (dice < 0.8) model.finish(random)
  else if (dice < 0.9) model.remove(random)
  else model.toggle(random)
  model.startAll()
}

/** Lifts every block and lets all that runs come to its end. */
export function drain(model: LaneModel): void {
  for (const [sessionId, blocks] of model.blocked) {
    for (const block of blocks) model.state.unblock(sessionId, block, model.now)
    blocks.clear()
  }
  model.startAll()
  while (model.running.size > 0) {
    model.now += 10
    for (const item of model.running.values()) {
      model.running.delete(item.sessionId)
      model.state.finish(item.id, model.now)
    }
    model.startAll()
  }
}

function must(holds: boolean, promise: string): void {
  if (!holds) throw new Error(`broken promise: ${promise}`)
}
