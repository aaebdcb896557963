import { describe, expect, it } from 'vitest'
import { EmbeddedLanes } from '../src/engines/embedded-lanes.ts'
import type { RunEntry } from '../src/entries.ts'
import { Config } from '../src/index.ts'
import { LaneBook } from '../src/lane-book.ts'
import { LaneState } from '../src/lane-state.ts'
import { RunFold } from '../src/run-fold.ts'
import type { RunRecord } from '../src/run-record.ts'

function bookOf() {
  const widths = new Map([['main', 2]])
  const engine = new EmbeddedLanes({ widths, ageMs: 1000 })
  const state = new LaneState({ engine, widths, perTarget: ['nested'] })
  const add = (id: string, now = 0): void =>
    state.add({ id, sessionId: `of ${id}`, lane: 'main', level: 1, collects: false }, { at: 'end' }, now)
  return { book: new LaneBook({ config: Config({}), state }), state, add }
}

/** A run that has taken so long, or that was dropped before it began. */
function settledRun({
  tookMs,
  dropped,
  lane = 'main',
}: {
  tookMs?: number
  dropped?: string
  lane?: string
}) {
  const fold = new RunFold('s')
  const request = { message: 'hello', provenance: { kind: 'user' }, mode: 'followup', lane } as const
  const entries: RunEntry[] = [
    {
      type: 'run/accepted',
      data: {
        v: 2,
        runId: 'r',
        key: 'k',
        fingerprint: 'f'.repeat(64),
        messageId: 'm',
        acceptedAt: 0,
        request,
      },
    },
  ]
  if (tookMs !== undefined) {
    entries.push({ type: 'run/started', data: { v: 2, runId: 'r', attempt: 1, startedAt: 10, via: 'turn' } })
  }
  const end =
    dropped === undefined
      ? ({ state: 'ok' } as const)
      : ({ state: 'superseded', error: { code: dropped, message: 'dropped' } } as const)
  entries.push({ type: 'run/settled', data: { v: 3, runId: 'r', endedAt: 10 + (tookMs ?? 0), ...end } })
  for (const [index, entry] of entries.entries()) fold.apply(entry, index + 1)
  return fold.get('r') as RunRecord
}

describe('the book of lanes', () => {
  it('puts a run into the lane it names, one of its own target, or "main" when its lane is gone', () => {
    const { book } = bookOf()
    const laneOf = (lane: string): string => book.laneOf({ sessionId: 's', lane })
    expect(['cron', 'nested', 'gone'].map(laneOf)).toEqual(['cron', 'nested:s', 'main'])
  })

  it('says when to ask again by how long runs take and how many wait, from a second to a minute', () => {
    const { book, add } = bookOf()
    expect(book.retryAfterMs('main')).toBe(1000)
    for (let count = 0; count < 5; count += 1) add(`r${count}`)
    expect(book.retryAfterMs('main')).toBe(3000)
    for (let count = 5; count < 50; count += 1) add(`r${count}`)
    expect(book.retryAfterMs('main')).toBe(10_000)
    book.countSettled(settledRun({ tookMs: 100_000 }))
    expect(book.retryAfterMs('main')).toBe(60_000)
  })

  it('lets one run that took long move what it takes runs to take by a fifth', () => {
    const { book } = bookOf()
    book.countSettled(settledRun({ tookMs: 2000 }))
    expect(book.retryAfterMs('main')).toBe(2000)
    book.countSettled(settledRun({ tookMs: 4000 }))
    expect(book.retryAfterMs('main')).toBe(2400)
    book.countSettled(settledRun({ dropped: 'queue-full' }))
    expect(book.retryAfterMs('main')).toBe(2400)
  })

  it('counts waits, drops and forced releases, each in its lane', () => {
    const { book, state, add } = bookOf()
    add('a', 0)
    add('b', 10)
    state.next(30)
    state.next(30)
    add('c', 40)
    book.countSettled(settledRun({ dropped: 'queue-full' }))
    book.countSettled(settledRun({ dropped: 'expired', lane: 'gone' }))
    book.countSettled(settledRun({ dropped: 'aborted' }))
    book.countForcedRelease('main')
    expect(book.metrics(100)).toEqual([
      {
        lane: 'main',
        width: 2,
        active: 2,
        depth: 1,
        ageMs: 60,
        started: 2,
        meanWaitMs: 25,
        longestWaitMs: 30,
        drops: 2,
        forcedReleases: 1,
      },
    ])
  })
})
