import { expect, it } from 'vitest'
import { worksAt } from '../../client/replay.ts'
import type { TimelineCard } from '../../src/feed/wire.ts'
import { card, mapOf } from './large-graph.ts'

const WORKS = mapOf([
  card('a', { status: 'failed', addedAt: 10, startedAt: 30, endedAt: 40 }),
  card('b', { status: 'skipped', addedAt: 10, endedAt: 40, inputIds: ['a'] }),
  card('c', { status: 'completed', addedAt: 50, startedAt: 60, endedAt: 70 }),
])

const EVENTS: readonly TimelineCard[] = [
  { seq: 1, kind: 'graph_opened', at: 5, workIds: [] },
  { seq: 2, kind: 'schedule_committed', at: 10, workIds: ['a', 'b'], status: 'waiting' },
  { seq: 3, kind: 'activation_started', at: 30, workIds: ['a'], status: 'running' },
  { seq: 4, kind: 'activation_terminal', at: 40, workIds: ['a'], status: 'failed' },
  { seq: 5, kind: 'schedule_committed', at: 50, workIds: ['c'], status: 'waiting' },
  { seq: 6, kind: 'activation_started', at: 60, workIds: ['c'], status: 'running' },
]

it.each([
  [0, {}],
  [1, { a: 'waiting', b: 'waiting' }],
  [2, { a: 'running', b: 'waiting' }],
  // The end of b follows from that of a, without an event of its own.
  [3, { a: 'failed', b: 'skipped' }],
  [5, { a: 'failed', b: 'skipped', c: 'running' }],
])('after event %i the works stood as they did then', (index, statuses) => {
  const then = worksAt(WORKS, EVENTS, index)
  expect(Object.fromEntries([...then].map(([id, { status }]) => [id, status]))).toEqual(statuses)
})

it('the past knows no times that were to come', () => {
  expect(worksAt(WORKS, EVENTS, 1).get('a')).not.toHaveProperty('startedAt')
  expect(worksAt(WORKS, EVENTS, 2).get('a')).toMatchObject({ startedAt: 30 })
  expect(worksAt(WORKS, EVENTS, 2).get('a')).not.toHaveProperty('endedAt')
})
