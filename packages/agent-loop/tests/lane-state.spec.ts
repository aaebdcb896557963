import { describe, expect, it } from 'vitest'
import { EmbeddedLanes } from '../src/engines/embedded-lanes.ts'
import type { LaneSeat } from '../src/engines/lane-engine.ts'
import { Block, LaneState, type LaneItem, type Placement } from '../src/lane-state.ts'

const END: Placement = { at: 'end' }
const AGE_MS = 1000

function stateOf(widths: Record<string, number> = { main: 2 }): LaneState {
  const width = new Map(Object.entries(widths))
  return new LaneState({
    engine: new EmbeddedLanes({ widths: width, ageMs: AGE_MS }),
    widths: width,
    perTarget: ['nested'],
  })
}

/** `session/number`, so that the id says where a run belongs. */
function item(id: string, more: Partial<LaneItem> = {}): LaneItem {
  const [sessionId = ''] = id.split('/')
  return { id, sessionId, lane: 'main', level: 1, collects: false, ...more }
}

function add(state: LaneState, ...ids: readonly string[]): void {
  for (const id of ids) state.add(item(id), END, 0)
}

/** Lanes that never hear that a session waits no more, as those of several hosts hear it late. */
class LateLanes extends EmbeddedLanes {
  private isGiving = false

  override next(now: number): LaneSeat | undefined {
    this.isGiving = true
    try {
      return super.next(now)
    } finally {
      this.isGiving = false
    }
  }

  override unwant(...[seat, keep]: Parameters<EmbeddedLanes['unwant']>): void {
    if (this.isGiving || keep !== undefined) super.unwant(seat, keep)
  }
}

/** Starts whatever may start. */
function startAll(state: LaneState, now = 0): string[] {
  const started: string[] = []
  for (let next = state.next(now); next !== undefined; next = state.next(now)) started.push(next.id)
  return started
}

describe('a session', () => {
  it('runs one at a time, first in, first out', () => {
    const state = stateOf()
    add(state, 'a/1', 'a/2', 'a/3')
    expect(startAll(state)).toEqual(['a/1'])
    expect(state.views()).toEqual([{ sessionId: 'a', running: 'a/1', queued: ['a/2', 'a/3'], blocks: 0 }])
    state.finish('a/1', 0)
    expect(startAll(state)).toEqual(['a/2'])
  })

  it('keeps the place of a run that is added again, waiting or running', () => {
    const state = stateOf()
    add(state, 'a/1', 'a/2', 'a/3', 'a/2')
    startAll(state)
    add(state, 'a/1')
    expect([...state.queued('a')]).toEqual(['a/2', 'a/3'])
  })

  it('starts what comes at the very moment at which it falls idle', () => {
    const state = stateOf()
    add(state, 'a/1')
    startAll(state)
    add(state, 'a/2')
    expect(startAll(state)).toEqual([])
    state.finish('a/1', 0)
    expect(startAll(state)).toEqual(['a/2'])
    state.finish('a/2', 0)
    add(state, 'a/3')
    expect(startAll(state)).toEqual(['a/3'])
  })

  it('keeps its lane as long as it runs in it, although nothing waits there', () => {
    const state = stateOf()
    state.add(item('a/1', { lane: 'nested:x' }), END, 0)
    startAll(state)
    state.add(item('b/1', { lane: 'nested:x' }), END, 0)
    expect(startAll(state)).toEqual([])
    expect(state.lane('nested:x')).toMatchObject({ active: 1, waiting: 1 })
    state.add(item('c/1', { lane: 'nested:x' }), END, 0)
    state.remove('c/1', 0)
    state.remove('b/1', 0)
    expect(state.lane('nested:x')).toMatchObject({ active: 1, waiting: 0 })
    state.add(item('b/1', { lane: 'nested:x' }), END, 0)
    state.finish('a/1', 0)
    expect(state.lane('nested:x')).toMatchObject({ active: 0, waiting: 1 })
    expect(startAll(state)).toEqual(['b/1'])
    state.finish('b/1', 0)
    expect(state.lane('nested:x')).toBeUndefined()
  })

  it('costs nothing once nothing is in it', () => {
    const state = stateOf()
    const before = state.footprint
    add(state, 'a/1', 'b/1')
    state.block('c', Block.observed, 0)
    startAll(state)
    state.finish('a/1', 0)
    state.finish('b/1', 0)
    state.unblock('c', Block.observed, 0)
    expect(state.footprint).toBe(before)
    expect(state.views()).toEqual([])
  })

  it('is not busy with being blocked, and neither is a lane whose only waiting session is', () => {
    const state = stateOf()
    state.block('a', Block.observed, 0)
    expect(state.isBusy('a')).toBe(false)
    add(state, 'a/1', 'b/1')
    expect(state.isBusy('a')).toBe(true)
    expect(state.isFree('c', 'main')).toBe(false)
    state.block('b', Block.observed, 0)
    expect(state.isFree('c', 'main')).toBe(true)
    expect(state.isFree('a', 'main')).toBe(false)
  })

  it('is free for a run only when nothing of it is here and its lane has room for it at once', () => {
    const state = stateOf({ main: 1, cron: 1 })
    expect(state.isFree('a', 'main')).toBe(true)
    add(state, 'a/1')
    expect(state.isFree('b', 'main')).toBe(false)
    state.remove('a/1', 0)
    expect(state.isFree('b', 'main')).toBe(true)
    add(state, 'a/1')
    startAll(state)
    expect([state.isFree('b', 'main'), state.isFree('b', 'cron'), state.isFree('a', 'cron')]).toEqual([
      false,
      true,
      false,
    ])
    state.pause()
    expect(state.isFree('b', 'cron')).toBe(false)
  })

  it('is not ended by the end of a run of it that only waits', () => {
    const state = stateOf()
    add(state, 'a/1', 'a/2')
    startAll(state)
    state.finish('a/2', 0)
    expect(state.views()).toEqual([{ sessionId: 'a', running: 'a/1', queued: ['a/2'], blocks: 0 }])
    expect(startAll(state)).toEqual([])
  })

  it('tells of everything that moves', () => {
    let moves = 0
    const widths = new Map([['main', 1]])
    const engine = new EmbeddedLanes({ widths, ageMs: AGE_MS })
    const state = new LaneState({ engine, widths, perTarget: [], onMoved: () => void (moves += 1) })
    const told = (act: () => unknown): boolean => {
      const before = moves
      act()
      return moves > before
    }
    expect([
      told(() => add(state, 'a/1', 'a/2', 'a/3')),
      told(() => state.move('a/3', 'a/2', 0)),
      told(() => state.next(0)),
      told(() => state.remove('a/3', 0)),
      told(() => state.block('a', Block.held, 0)),
      told(() => state.unblock('a', Block.held, 0)),
      told(() => state.finish('a/1', 0)),
    ]).toEqual(Array.from({ length: 7 }, () => true))
    expect(told(() => state.remove('none', 0))).toBe(false)
  })

  it('hands out nothing while anything blocks it, and then what is its head', () => {
    const state = stateOf()
    state.block('a', Block.held, 0)
    state.block('a', Block.observed, 0)
    add(state, 'a/1', 'a/2')
    expect(startAll(state)).toEqual([])
    state.unblock('a', Block.held, 0)
    expect(startAll(state)).toEqual([])
    state.remove('a/1', 0)
    state.unblock('a', Block.observed, 0)
    expect(startAll(state)).toEqual(['a/2'])
  })

  it('waits for quiet only with a head that collects', () => {
    const state = stateOf()
    state.block('a', Block.quiet, 0)
    state.add(item('a/1'), END, 0)
    state.add(item('a/2', { collects: true }), END, 0)
    expect(startAll(state)).toEqual(['a/1'])
    state.finish('a/1', 0)
    expect(startAll(state)).toEqual([])
    state.unblock('a', Block.quiet, 0)
    expect(startAll(state)).toEqual(['a/2'])
  })
})

describe('a queue', () => {
  it('has what is placed in front before everything else, in its own order', () => {
    const state = stateOf()
    state.block('a', Block.held, 0)
    add(state, 'a/1', 'a/2')
    state.add(item('a/f1'), { at: 'front' }, 0)
    state.add(item('a/f2'), { at: 'front' }, 0)
    add(state, 'a/3')
    expect([...state.queued('a')]).toEqual(['a/f1', 'a/f2', 'a/1', 'a/2', 'a/3'])
    state.remove('a/f2', 0)
    state.add(item('a/f3'), { at: 'front' }, 0)
    state.add(item('a/0'), { at: 'head' }, 0)
    expect([...state.queued('a')]).toEqual(['a/0', 'a/f1', 'a/f3', 'a/1', 'a/2', 'a/3'])
  })

  it('gives a newcomer the place of another one', () => {
    const state = stateOf()
    state.block('a', Block.held, 0)
    add(state, 'a/1', 'a/2', 'a/3')
    state.add(item('a/new'), { at: 'before', id: 'a/2', inFront: false }, 0)
    state.remove('a/2', 0)
    expect([...state.queued('a')]).toEqual(['a/1', 'a/new', 'a/3'])
  })

  it('has at its end what was to go before something that does not wait in it', () => {
    const state = stateOf()
    state.block('a', Block.held, 0)
    state.block('b', Block.held, 0)
    add(state, 'a/1', 'b/1')
    state.add(item('a/2'), { at: 'before', id: 'b/1', inFront: false }, 0)
    state.add(item('a/3'), { at: 'before', id: 'none', inFront: false }, 0)
    expect([[...state.queued('a')], [...state.queued('b')]]).toEqual([['a/1', 'a/2', 'a/3'], ['b/1']])
  })

  it('waits for the lane of its new head once it is reordered', () => {
    const state = stateOf({ main: 1, cron: 1 })
    add(state, 'b/1')
    startAll(state)
    add(state, 'a/1')
    state.add(item('a/2', { lane: 'cron' }), END, 0)
    expect(startAll(state)).toEqual([])
    expect(state.move('a/2', 'a/1', 0)).toBe(true)
    expect(startAll(state)).toEqual(['a/2'])
  })

  it('is reordered by id, and says when it cannot be', () => {
    const state = stateOf()
    add(state, 'a/0', 'a/1', 'a/2', 'a/3', 'b/0', 'b/1')
    startAll(state)
    expect(state.move('a/3', 'a/1', 0)).toBe(true)
    expect([...state.queued('a')]).toEqual(['a/3', 'a/1', 'a/2'])
    expect(state.move('a/3', undefined, 0)).toBe(true)
    expect(state.move('a/1', 'a/1', 0)).toBe(true)
    expect(state.move('a/2', 'a/2', 0)).toBe(true)
    expect([...state.queued('a')]).toEqual(['a/1', 'a/2', 'a/3'])
    expect(state.move('a/0', undefined, 0)).toBe(false)
    expect(state.move('a/1', 'b/1', 0)).toBe(false)
    expect(state.move('none', undefined, 0)).toBe(false)
  })

  it('loses a run by its id and no other', () => {
    const state = stateOf()
    add(state, 'a/0', 'a/1', 'a/2', 'a/3')
    startAll(state)
    expect(state.remove('a/2', 0)).toBe(true)
    expect(state.remove('a/2', 0)).toBe(false)
    expect(state.remove('a/0', 0)).toBe(false)
    expect([...state.queued('a')]).toEqual(['a/1', 'a/3'])
  })
})

describe('a global lane', () => {
  it('carries as many runs as it is wide', () => {
    const state = stateOf({ main: 2 })
    add(state, 'a/1', 'b/1', 'c/1')
    expect(startAll(state)).toEqual(['a/1', 'b/1'])
    state.finish('b/1', 0)
    expect(startAll(state)).toEqual(['c/1'])
  })

  it('gives no slot to a session that cannot use it', () => {
    const state = stateOf({ main: 2 })
    add(state, 'a/1', 'a/2', 'a/3', 'b/1')
    expect(startAll(state)).toEqual(['a/1', 'b/1'])
  })

  it('takes the sessions in turn', () => {
    const state = stateOf({ main: 1 })
    add(state, 'a/1', 'a/2', 'a/3', 'b/1', 'b/2', 'c/1')
    const order: string[] = []
    for (let next = state.next(0); next !== undefined; next = state.next(0)) {
      order.push(next.id)
      state.finish(next.id, 0)
    }
    expect(order).toEqual(['a/1', 'b/1', 'c/1', 'a/2', 'b/2', 'a/3'])
  })

  it('does not hold up another lane', () => {
    const state = stateOf({ main: 1, cron: 1 })
    state.add(item('a/1', { lane: 'cron' }), END, 0)
    state.add(item('b/1', { lane: 'cron' }), END, 0)
    state.add(item('c/1'), END, 0)
    expect(startAll(state).sort()).toEqual(['a/1', 'c/1'])
  })

  it('runs targets of their own side by side and forgets them', () => {
    const state = stateOf()
    const before = state.footprint
    for (const target of ['x', 'y', 'z']) {
      state.add(item(`${target}/1`, { lane: `nested:${target}` }), END, 0)
    }
    expect(startAll(state)).toHaveLength(3)
    for (const target of ['x', 'y', 'z']) state.finish(`${target}/1`, 0)
    expect(state.footprint).toBe(before)
    expect(state.knows('nested:x')).toBe(true)
    expect(state.knows('nester')).toBe(false)
  })

  it('takes the higher priority first, and the head of a session has that of what waits behind it', () => {
    const state = stateOf({ main: 1 })
    state.add(item('a/1', { level: 0 }), END, 0)
    state.add(item('b/1', { level: 1 }), END, 0)
    state.add(item('c/1', { level: 2 }), END, 0)
    expect(state.next(0)?.id).toBe('c/1')
    state.add(item('a/2', { level: 2 }), END, 0)
    state.finish('c/1', 0)
    expect(state.next(0)?.id).toBe('a/1')
    state.finish('a/1', 0)
    expect(state.next(0)?.id).toBe('a/2')
  })

  it('lets a session rise by every priority that waits in it, and fall when that is taken out', () => {
    const state = stateOf({ main: 1 })
    add(state, 'busy/1')
    startAll(state)
    state.add(item('a/1', { level: 0 }), END, 0)
    state.add(item('b/1', { level: 0 }), END, 0)
    state.add(item('b/2', { level: 1 }), END, 0)
    state.add(item('c/1', { level: 0 }), END, 0)
    state.add(item('c/2', { level: 2 }), END, 0)
    state.remove('c/2', 0)
    const order: string[] = []
    state.finish('busy/1', 0)
    for (let next = state.next(0); next !== undefined; next = state.next(0)) {
      order.push(next.id)
      state.finish(next.id, 0)
    }
    expect(order).toEqual(['b/1', 'b/2', 'a/1', 'c/1'])
  })

  it('is refused when nobody declared it', () => {
    const state = stateOf()
    expect(() => state.add(item('a/1', { lane: 'none' }), END, 0)).toThrow('no lane is named none')
  })

  it('of one target is forgotten when what waits for it is taken out', () => {
    const state = stateOf()
    const before = state.footprint
    state.add(item('a/1', { lane: 'nested:x' }), END, 0)
    state.remove('a/1', 0)
    expect(state.footprint).toBe(before)
  })

  it('takes the turn back from a session that an engine gave it to too late', () => {
    const widths = new Map([['main', 1]])
    const state = new LaneState({
      engine: new LateLanes({ widths, ageMs: AGE_MS }),
      widths,
      perTarget: [],
    })
    add(state, 'a/1', 'b/1')
    state.remove('a/1', 0)
    expect(startAll(state)).toEqual(['b/1'])
  })

  it('lets a background run through after it has aged, however much comes in front', () => {
    const state = stateOf({ main: 1 })
    state.add(item('slow/1', { level: 0 }), END, 0)
    let started = 0
    for (let now = 0; now < 10 * AGE_MS; now += AGE_MS / 10) {
      state.add(item(`fast${now}/1`, { level: 2 }), END, now)
      const next = state.next(now)
      if (next?.id === 'slow/1') break
      started += 1
      if (next !== undefined) state.finish(next.id, now)
    }
    expect(started).toBe(20)
    expect(state.running('slow')).toBe('slow/1')
  })

  it('starts nothing more once it is paused, and keeps what is queued', () => {
    const state = stateOf()
    add(state, 'a/1', 'a/2')
    startAll(state)
    state.pause()
    state.finish('a/1', 0)
    expect(startAll(state)).toEqual([])
    expect([...state.queued('a')]).toEqual(['a/2'])
  })

  it('counts what it has seen', () => {
    const state = stateOf({ main: 1 })
    state.add(item('a/1'), END, 0)
    state.add(item('b/1'), END, 40)
    state.next(10)
    expect(state.oldestIn('main')).toBe(40)
    state.finish('a/1', 100)
    state.next(100)
    state.add(item('d/1'), END, 110)
    state.add(item('c/1', { level: 2 }), END, 120)
    expect(state.oldestIn('main')).toBe(110)
    expect(state.oldestIn('cron')).toBeUndefined()
    state.remove('d/1', 120)
    state.finish('b/1', 125)
    state.next(125)
    expect(state.lane('main')).toMatchObject({
      started: 3,
      waitedMs: 75,
      longestWaitMs: 60,
      active: 1,
      waiting: 0,
    })
  })
})
