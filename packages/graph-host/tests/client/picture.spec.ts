import { describe, expect, it } from 'vitest'
import { BOX_HEIGHT, BOX_WIDTH, layOut, type Layout } from '../../client/layout.ts'
import { neighbour } from '../../client/neighbours.ts'
import { groupId, pictureOf, type PictureOptions } from '../../client/picture.ts'
import { wavesOf } from '../../client/waves.ts'
import type { WorkCard } from '../../src/feed/wire.ts'
import { card, layered, mapOf } from './large-graph.ts'

const CLOSED: PictureOptions = { opened: new Set(), grouping: 'auto' }
const LARGE = mapOf(layered(20, 100))

function overlaps({ places }: Layout): readonly string[] {
  const all = [...places]
  return all.flatMap(([a, p], at) =>
    all
      .slice(at + 1)
      .filter(([, q]) => Math.abs(p.x - q.x) < BOX_WIDTH && Math.abs(p.y - q.y) < BOX_HEIGHT)
      .map(([b]) => `${a} and ${b}`),
  )
}

function withStatus(works: ReadonlyMap<string, WorkCard>, status: (work: WorkCard) => WorkCard['status']) {
  return mapOf([...works.values()].map((work) => ({ ...work, status: status(work) })))
}

describe('waves', () => {
  it('follow the longest way', () => {
    const works = mapOf([
      card('a'),
      card('b', { inputIds: ['a'] }),
      card('c', { inputIds: ['a', 'b', 'a record'] }),
      card('d'),
    ])
    expect(Object.fromEntries(wavesOf(works))).toEqual({ a: 0, b: 1, c: 2, d: 0 })
  })

  it('are the same in whichever order the works come', () => {
    const works = [
      card('last', { inputIds: ['early', 'late'] }),
      card('late', { inputIds: ['early'] }),
      card('early', { inputIds: ['first'] }),
      card('first'),
    ]
    expect(Object.fromEntries(wavesOf(mapOf(works)))).toEqual({ first: 0, early: 1, late: 2, last: 3 })
  })

  it('end for a chain of 2,000, in whichever order it comes', () => {
    const chain = Array.from({ length: 2_000 }, (_, n) =>
      card(`c${n}`, { inputIds: n === 0 ? [] : [`c${n - 1}`] }),
    )
    expect(wavesOf(mapOf(chain.toReversed())).get('c1999')).toBe(1_999)
  })

  it('end for a circle', () => {
    const works = mapOf([card('a', { inputIds: ['b'] }), card('b', { inputIds: ['a'] })])
    expect(wavesOf(works).size).toBe(2)
  })
})

describe('a picture', () => {
  it('of few works has a box for each', () => {
    const works = mapOf(layered(4, 5))
    const picture = pictureOf(works, CLOSED)
    expect(picture.boxes.map(({ id }) => id)).toEqual([...works.keys()])
    expect(picture.lines).toHaveLength(30)
  })

  it('of 2,000 works has a box for each wave and kind of operator', () => {
    const picture = pictureOf(LARGE, CLOSED)
    expect(picture.boxes).toHaveLength(40)
    expect(picture.boxes.flatMap(({ workIds }) => workIds)).toHaveLength(2_000)
    expect(picture.boxes[0]).toMatchObject({ id: groupId(0, 'agent:default'), group: { isOver: false } })
    expect(picture.lines).toHaveLength(19 * 4)
  })

  it('stays the same while works only move on', () => {
    const running = withStatus(LARGE, (work) => (work.ordinal < 1_000 ? 'completed' : 'running'))
    expect(pictureOf(running, CLOSED).key).toBe(pictureOf(LARGE, CLOSED).key)
  })

  it('shows what failed and what waits for a person on its own', () => {
    const works = new Map(LARGE)
    works.set('w5-5', card('w5-5', { ...LARGE.get('w5-5'), status: 'failed' }))
    works.set('w6-6', card('w6-6', { ...LARGE.get('w6-6'), waits: { for: 'person', reason: 'lost' } }))
    const { boxes } = pictureOf(works, CLOSED)
    expect(boxes.filter(({ group }) => group === undefined).map(({ id }) => id)).toEqual(['w5-5', 'w6-6'])
  })

  it('shows the selected work on its own', () => {
    expect(pictureOf(LARGE, { ...CLOSED, selected: 'w9-9' }).boxOf.get('w9-9')).toBe('w9-9')
  })

  it('shows the works of an opened group, as many as can be told apart', () => {
    const opened = new Set([groupId(2, 'agent:default')])
    const { boxes } = pictureOf(LARGE, { ...CLOSED, opened })
    const shown = boxes.filter(({ wave, group }) => wave === 2 && group === undefined)
    expect(shown).toHaveLength(48)
    expect(boxes.find(({ id }) => id === groupId(2, 'agent:default'))?.workIds).toHaveLength(2)
  })

  it('draws waves that are over as one box each, and not those at work', () => {
    const works = withStatus(mapOf(layered(4, 10)), (work) => (work.ordinal <= 20 ? 'completed' : 'running'))
    const { boxes } = pictureOf(works, CLOSED)
    expect(boxes.filter(({ group }) => group?.isOver).map(({ wave }) => wave)).toEqual([0, 0, 1, 1])
    expect(boxes.filter(({ group }) => group === undefined)).toHaveLength(20)
  })

  it('stays bounded when every work failed', () => {
    const { boxes } = pictureOf(
      withStatus(LARGE, () => 'failed'),
      CLOSED,
    )
    expect(boxes.length).toBeLessThan(60)
  })
})

describe('a layout', () => {
  it.each([
    ['of single works', pictureOf(mapOf(layered(5, 8)), CLOSED)],
    ['of groups', pictureOf(LARGE, CLOSED)],
    [
      'of opened groups',
      pictureOf(LARGE, {
        ...CLOSED,
        opened: new Set(Array.from({ length: 20 }, (_, wave) => groupId(wave, 'agent:default'))),
      }),
    ],
  ])('%s has every box once, no two in one place, inputs at the left', (_, picture) => {
    const layout = layOut(picture)
    expect([...layout.places.keys()].sort()).toEqual(picture.boxes.map(({ id }) => id).sort())
    expect(overlaps(layout)).toEqual([])
    for (const { from, to } of picture.lines)
      expect(layout.places.get(from)?.x).toBeLessThan(layout.places.get(to)?.x ?? 0)
  })

  it('keeps the works of one operator together, in a frame that nothing else is in', () => {
    const works = mapOf(
      layered(4, 4).map((work) => {
        const [, wave, row] = /^w(\d+)-(\d+)$/u.exec(work.id) ?? []
        // The first rows have one operator each, over all waves.
        return Number(row) < 2 ? { ...work, sessionId: `s${row}` } : { ...work, sessionId: `s${wave}-${row}` }
      }),
    )
    const picture = pictureOf(works, CLOSED)
    const layout = layOut(picture)
    expect(layout.frames.map(({ sessionId, works: count }) => [sessionId, count])).toEqual([
      ['s0', 4],
      ['s1', 4],
    ])
    expect(overlaps(layout)).toEqual([])
    for (const frame of layout.frames) {
      const inside = [...layout.places].filter(([, { x, y }]) => {
        const isBeside = x + BOX_WIDTH <= frame.x || x >= frame.x + frame.width
        return !isBeside && y + BOX_HEIGHT > frame.y && y < frame.y + frame.height
      })
      const own = picture.operators.find(({ sessionId }) => sessionId === frame.sessionId)?.boxIds ?? []
      expect(inside.map(([id]) => id).sort()).toEqual(own.toSorted())
      expect([frame.x, frame.y].every((at) => at >= 0)).toBe(true)
    }
  })

  it('has no frame for operators that do one work each', () => {
    const works = mapOf(layered(3, 3).map((work) => ({ ...work, sessionId: `of ${work.id}` })))
    expect(layOut(pictureOf(works, CLOSED)).frames).toEqual([])
  })

  it('of nothing is empty', () => {
    expect(layOut(pictureOf(new Map(), CLOSED)).places.size).toBe(0)
  })
})

describe('an arrow key', () => {
  const layout = layOut(pictureOf(mapOf(layered(3, 3)), CLOSED))

  it('leads to the next box in its direction, and back', () => {
    const right = neighbour(layout, 'w0-1', 'ArrowRight') ?? ''
    expect(right).toMatch(/^w1-/u)
    expect(neighbour(layout, right, 'ArrowLeft')).toMatch(/^w0-/u)
  })

  it('leads nowhere at the edge', () => {
    expect(neighbour(layout, 'w0-0', 'ArrowLeft')).toBeUndefined()
    expect(neighbour(layout, 'nobody', 'ArrowUp')).toBeUndefined()
  })
})
