import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import type { Entry, StoredEntry } from 'dsh-durable-log'
import { parseGraphEntry } from '../src/entries.ts'
import { fold } from '../src/fold.ts'
import { emptyGraph, type FoldedGraph } from '../src/graph-state.ts'
import type { GraphState } from '../src/index.ts'
import { expectConsistent } from './consistency.ts'
import { GRAPH, graph, MEDIA, openGraph, plain, storeOn } from './fixture.ts'
import { playHistory } from './random-history.ts'

function foldAll(entries: readonly Entry[]): FoldedGraph {
  return entries.reduce((state, entry) => fold(state, parseGraphEntry(entry)), emptyGraph(GRAPH))
}

describe('the fold over random histories', () => {
  it.each(Array.from({ length: 20 }, (_, index) => index + 1))(
    'is the same one by one, from the start, and in memory (seed %d)',
    async (seed) => {
      const { store, log } = await openGraph()
      const states = new Map<number, unknown>()
      const live: GraphState[] = []
      store.onCommitted((state) => {
        if (state.seq % 8 === 0) states.set(state.seq, plain(state))
        live.push(state)
      })
      const { taken } = await playHistory([store], { seed, steps: 600 })
      expect(taken).toBeGreaterThan(100)
      const entries = await log.read(`graph/${GRAPH}`)
      let state = emptyGraph(GRAPH)
      for (const entry of entries) {
        state = fold(state, parseGraphEntry(entry))
        expectConsistent(state)
        expect(states.has(entry.seq) ? plain(state) : undefined).toEqual(states.get(entry.seq))
      }
      expect(plain(foldAll(entries))).toEqual(plain(await graph(store)))
      // States that were handed out earlier are still what they were.
      for (const held of live.filter(({ seq }) => states.has(seq))) {
        expect(plain(held)).toEqual(states.get(held.seq))
      }
    },
  )

  it('is tried on every kind of entry, and on refusals', async () => {
    const kinds = new Map<string, number>()
    let refused = 0
    for (let seed = 1; seed <= 10; seed++) {
      const { store, log } = await openGraph()
      refused += (await playHistory([store], { seed, steps: 600 })).refused
      for (const { type } of await log.read(`graph/${GRAPH}`)) kinds.set(type, (kinds.get(type) ?? 0) + 1)
    }
    expect(kinds.size).toBe(18)
    expect(Math.min(...kinds.values())).toBeGreaterThanOrEqual(5)
    expect(refused).toBeGreaterThan(500)
  })

  it.each(MEDIA)('is the same in a store that opens later on %s', async (medium) => {
    for (const seed of [101, 102, 103]) {
      const { store, reopenStore } = await openGraph(medium)
      await playHistory([store], { seed, steps: 600 })
      const before = plain(await graph(store))
      expect(plain(await graph(await reopenStore()))).toEqual(before)
    }
  })

  it('is the same for two stores that write in turn', async () => {
    for (const seed of [201, 202, 203, 204]) {
      const { store, log } = await openGraph('sqlite')
      const other = await storeOn(log)
      await playHistory([store, other], { seed, steps: 600 })
      const state = await graph(store)
      const folded = foldAll(await log.read(`graph/${GRAPH}`))
      expectConsistent(folded)
      expect(plain(await graph(other))).toEqual(plain(state))
      expect(plain(folded)).toEqual(plain(state))
    }
  })
})

describe('the fold', () => {
  it('keeps ids that are names of object members apart', async () => {
    const data = {
      v: 1,
      at: 1,
      update: {
        schemaVersion: 1,
        updateId: 'toString',
        updateFingerprint: 'f',
        graphId: GRAPH,
        source: { sessionId: '__proto__', runId: 'r', turnId: 't', toolCallId: 'hasOwnProperty' },
        addWork: ['__proto__', 'constructor', 'hasOwnProperty'].map((workId) => ({
          workId,
          target: { kind: 'agent', id: 'a' },
          instruction: 'i',
          inputIds: workId === 'constructor' ? ['__proto__'] : [],
        })),
        stop: [],
      },
    }
    const state = foldAll([{ type: 'update', data }])
    expect([...state.works].map(([workId, { status }]) => [workId, status])).toEqual([
      ['__proto__', 'ready'],
      ['constructor', 'waiting'],
      ['hasOwnProperty', 'ready'],
    ])
    expect(({} as Record<string, unknown>)['ready']).toBeUndefined()
  })

  it.each([
    ['graph-stream-v1', 13],
    // The kinds that came with drafts, items, holds, leases and scheduled wakes.
    ['graph-stream-v1b', 17],
  ])('reads the published format %s', async (name, kinds) => {
    const file = new URL(`fixtures/${name}.json`, import.meta.url)
    const fixture = JSON.parse(await readFile(file, 'utf8')) as { entries: StoredEntry[]; state: object }
    expect(new Set(fixture.entries.map(({ type }) => type)).size).toBe(kinds)
    // Later versions tell more of a state; what the format's own version told is told still.
    expect(JSON.parse(JSON.stringify(plain(foldAll(fixture.entries))))).toMatchObject(fixture.state)
  })
})
