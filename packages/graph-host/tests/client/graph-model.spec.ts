import { describe, expect, it } from 'vitest'
import {
  EMPTY_MODEL,
  endedIn,
  firstTrouble,
  oldestWait,
  reduce,
  withConnection,
  type GraphModel,
} from '../../client/graph-model.ts'
import type { FeedMessage, WorkCard } from '../../src/feed/wire.ts'
import { card, head, layered, mapOf } from './large-graph.ts'

function after(messages: readonly FeedMessage[], from: GraphModel = EMPTY_MODEL): GraphModel {
  return messages.reduce(reduce, from)
}

function snapshotOf(cards: readonly WorkCard[], graphId = 'g'): FeedMessage[] {
  const about = head({ graphId, works: cards.length })
  const pages: FeedMessage[] = []
  for (let at = 0; at < cards.length; at += 200)
    pages.push({ type: 'works', key: 1, head: about, works: cards.slice(at, at + 200) })
  return [
    { type: 'snapshot', key: 1, head: about },
    ...pages,
    { type: 'works', key: 1, head: about, works: [], last: true },
  ]
}

function changed(...works: readonly WorkCard[]): FeedMessage {
  return { type: 'works', key: 1, head: head({ seq: 9 }), works }
}

const LARGE = layered(20, 100)

describe('a snapshot', () => {
  it('of 2,000 works is there when its last page is', () => {
    const messages = snapshotOf(LARGE)
    const before = after(messages.slice(0, -1))
    expect(before.phase).toBe('loading')
    expect(before.works.size).toBe(0)
    const whole = after(messages)
    expect(whole.phase).toBe('live')
    expect([...whole.works.keys()]).toEqual(LARGE.map(({ id }) => id))
    expect(whole.counts.waiting).toBe(2_000)
  })

  it('leaves what is shown in place until it is whole', () => {
    const shown = after(snapshotOf([card('a'), card('b')]))
    const [opening, page, last] = snapshotOf([card('a', { status: 'completed' })])
    const between = after(
      [opening, page].filter((message) => message !== undefined),
      shown,
    )
    expect([...between.works.keys()]).toEqual(['a', 'b'])
    const whole = after(
      [last].filter((message) => message !== undefined),
      between,
    )
    expect([...whole.works.keys()]).toEqual(['a'])
    expect(endedIn(whole)).toBe(1)
  })

  it('of another graph takes the old one away at once', () => {
    const shown = after(snapshotOf([card('a')]))
    const [opening] = snapshotOf([card('z')], 'another')
    expect(
      after(
        [opening].filter((message) => message !== undefined),
        shown,
      ).works.size,
    ).toBe(0)
  })

  it('that broke off is not taken for the whole', () => {
    const half = after(snapshotOf(LARGE).slice(0, 4), after(snapshotOf([card('a')])))
    const lost = withConnection(half, false)
    expect(lost).toMatchObject({ phase: 'loading', connected: false, incoming: undefined })
    expect(after(snapshotOf(LARGE), lost).works.size).toBe(2_000)
  })
})

describe('a change', () => {
  it('replaces the works that it names and keeps all others as they are', () => {
    const before = after(snapshotOf(LARGE))
    const now = after([changed(card('w3-7', { ...LARGE[307], status: 'running' }))], before)
    expect(now.works.get('w3-7')?.status).toBe('running')
    expect(now.works.get('w3-8')).toBe(before.works.get('w3-8'))
    expect(now.counts).toMatchObject({ waiting: 1_999, running: 1 })
    expect(before.works.get('w3-7')?.status).toBe('waiting')
  })

  it('of a status is no reason for another layout, a new work or input is', () => {
    const before = after(snapshotOf([card('a'), card('b', { inputIds: ['a'] })]))
    expect(after([changed(card('a', { status: 'running' }))], before).shape).toBe(before.shape)
    expect(after([changed(card('c'))], before).shape).toBe(before.shape + 1)
    expect(after([changed(card('a', { replacedBy: 'c' }))], before).shape).toBe(before.shape + 1)
  })

  it('adds new works in order of addition, whatever order it names them in', () => {
    const before = after(snapshotOf([card('a', { ordinal: 1 })]))
    const now = after([changed(card('c', { ordinal: 3 }), card('b', { ordinal: 2 }))], before)
    expect([...now.works.keys()]).toEqual(['a', 'b', 'c'])
  })

  it('of nothing but the head keeps the works', () => {
    const before = after(snapshotOf([card('a')]))
    const now = after([changed()], before)
    expect(now.head?.seq).toBe(9)
    expect(now.works).toBe(before.works)
  })
})

describe('what is looked for first', () => {
  it('is a failure that nothing replaced, then a work that waits for the person', () => {
    const held = card('h', { status: 'running', waits: { for: 'person', reason: 'lost' } })
    const replaced = card('r', { status: 'failed', replacedBy: 'f' })
    expect(firstTrouble(mapOf([card('a'), replaced]))).toBeUndefined()
    expect(firstTrouble(mapOf([card('a'), held, replaced]))?.id).toBe('h')
    expect(firstTrouble(mapOf([held, card('f', { status: 'failed' })]))?.id).toBe('f')
  })

  it('is a wait for something else than works', () => {
    const onWorks = card('a', { waits: { for: 'works', ids: ['x'], more: 0 } })
    const onSlot = card('b', { waits: { for: 'slot' } })
    expect(oldestWait(mapOf([onWorks, onSlot]))?.id).toBe('b')
    expect(oldestWait(mapOf([card('c'), onWorks]))?.id).toBe('a')
  })
})

it('keeps its identity for a connection state that it has', () => {
  const connected = withConnection(EMPTY_MODEL, true)
  expect(withConnection(connected, true)).toBe(connected)
})
