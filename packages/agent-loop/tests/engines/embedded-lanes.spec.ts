import { describe, expect, it } from 'vitest'
import { EmbeddedLanes } from '../../src/engines/embedded-lanes.ts'
import { LaneSeat, type Level } from '../../src/engines/lane-engine.ts'

const AGE_MS = 1000

function engineOf(widths: Record<string, number> = { main: 1 }) {
  const engine = new EmbeddedLanes({ widths: new Map(Object.entries(widths)), ageMs: AGE_MS })
  const seats = new Map<string, LaneSeat>()
  const seat = (id: string): LaneSeat => {
    const known = seats.get(id) ?? new LaneSeat(id)
    seats.set(id, known)
    return known
  }
  return {
    engine,
    seat,
    want: (id: string, level: Level, now: number, lane = 'main') =>
      engine.want(seat(id), { lane, level }, now),
    /** Who has a turn one after the other from now on, each of which is over at once. */
    turns(now: number): string[] {
      const ids: string[] = []
      for (let next = engine.next(now); next !== undefined && ids.length < 20; next = engine.next(now)) {
        ids.push(next.id)
        engine.finish(next)
      }
      return ids
    },
  }
}

describe('a session that says again what it waits for', () => {
  it('keeps its place when that is the same', () => {
    const { want, turns } = engineOf()
    want('a', 1, 0)
    want('b', 1, 0)
    want('a', 1, 10)
    expect(turns(10)).toEqual(['a', 'b'])
  })

  it('waits once, and keeps the time since when, when its priority is another', () => {
    const { want, turns } = engineOf()
    want('a', 0, 0)
    want('a', 1, 0.9 * AGE_MS)
    want('b', 2, AGE_MS)
    expect(turns(AGE_MS)).toEqual(['a', 'b'])
  })

  it('keeps the lane of one target that only it holds in memory', () => {
    const { engine, want } = engineOf()
    const before = engine.footprint
    want('a', 0, 0, 'nested:x')
    want('a', 2, 0, 'nested:x')
    want('b', 2, 0, 'nested:x')
    expect(engine.footprint).toBe(before + 1)
    expect([engine.next(0)?.id, engine.next(0)?.id]).toEqual(['a', undefined])
  })
})

describe('among sessions that wait', () => {
  it('the highest priority goes first, and of the same level the one that waits longest', () => {
    const { want, turns } = engineOf()
    want('background', 0, 0)
    want('default', 1, AGE_MS)
    want('foreground', 2, AGE_MS)
    expect(turns(AGE_MS)).toEqual(['foreground', 'background', 'default'])
  })

  it('waiting raises none above the highest priority', () => {
    const { want, turns } = engineOf()
    want('old', 0, 0)
    want('young', 2, AGE_MS)
    expect(turns(5 * AGE_MS)).toEqual(['old', 'young'])
  })

  it('those that came at the same time go by the priority they were given', () => {
    const { want, turns } = engineOf()
    want('a', 0, 0)
    want('b', 1, 0)
    want('c', 2, 0)
    expect(turns(5 * AGE_MS)).toEqual(['c', 'b', 'a'])
  })
})

describe('a lane of one target', () => {
  it('is forgotten when the last that waits for it does so no more', () => {
    const { engine, seat, want } = engineOf()
    const before = engine.footprint
    want('a', 1, 0, 'nested:x')
    engine.unwant(seat('a'))
    expect([engine.footprint, engine.next(0)]).toEqual([before, undefined])
  })

  it('is forgotten when the last turn in it is over, and not before', () => {
    const { engine, want } = engineOf()
    const before = engine.footprint
    want('a', 1, 0, 'nested:x')
    want('b', 1, 0, 'nested:x')
    for (const expected of ['a', 'b']) {
      const next = engine.next(0)
      expect([next?.id, engine.footprint]).toEqual([expected, before + 1])
      if (next !== undefined) engine.finish(next)
    }
    expect([engine.footprint, engine.isStirred]).toEqual([before, false])
  })
})

describe('the room of a lane', () => {
  it('is there for a newcomer only when it would be next at once', () => {
    const { engine, want } = engineOf({ main: 2 })
    expect([engine.hasRoom('main'), engine.hasRoom('nested:x')]).toEqual([true, true])
    want('a', 1, 0)
    expect(engine.hasRoom('main')).toBe(false)
    engine.next(0)
    expect(engine.hasRoom('main')).toBe(true)
    want('b', 1, 0)
    engine.next(0)
    expect(engine.hasRoom('main')).toBe(false)
    engine.pause()
    expect(engine.hasRoom('nested:x')).toBe(false)
  })
})
