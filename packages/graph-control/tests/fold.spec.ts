import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import type { Entry, StoredEntry } from 'dsh-durable-log'
import { parseGraphEntry } from '../src/entries.ts'
import { fold } from '../src/fold.ts'
import { emptyGraph, type FoldedGraph } from '../src/graph-state.ts'
import { type GraphState, TERMINAL_WORK_STATUSES } from '../src/index.ts'
import { GRAPH, graph, MEDIA, openGraph, plain, storeOn } from './fixture.ts'
import { playHistory } from './random-history.ts'

function foldAll(entries: readonly Entry[]): FoldedGraph {
  return entries.reduce((state, entry) => fold(state, parseGraphEntry(entry)), emptyGraph(GRAPH))
}

/** What the incremental indexes must equal, counted from the works, claims and wakes themselves. */
function expectConsistent(state: GraphState): void {
  const works = [...state.works.values()]
  const ids = (status: (held: string) => boolean) =>
    works.filter((held) => status(held.status)).map(({ workId }) => workId)
  const isOver = (status: string) => (TERMINAL_WORK_STATUSES as ReadonlySet<string>).has(status)
  expect([...state.live.pending.keys()].sort()).toEqual(ids((status) => !isOver(status)).sort())
  expect([...state.live.ready.keys()].sort()).toEqual(ids((status) => status === 'ready').sort())
  const over = ids(isOver).length
  expect(state.counts).toEqual({ works: works.length, pending: works.length - over, terminal: over })
  expect(state.changeSeq).toBe(over)

  const live = [...state.claims.values()].filter(
    ({ admissionStatus }) => admissionStatus === 'claimed' || admissionStatus === 'executing',
  )
  expect([...state.live.claims.keys()].sort()).toEqual(live.map(({ claimId }) => claimId).sort())
  expect([...state.live.busyOperators.values()].sort()).toEqual(live.map(({ claimId }) => claimId).sort())
  const open = [...state.wakes.values()].filter(({ status }) =>
    ['pending', 'running', 'retryable_failed'].includes(status),
  )
  expect(open.map(({ wakeId }) => wakeId)).toEqual(
    state.live.openWakeId === undefined ? [] : [state.live.openWakeId],
  )
  expect(state.seenChangeSeq).toBeLessThanOrEqual(state.changeSeq)
  expect(state.closed && state.counts.pending > 0).toBe(false)
  for (const work of works) expectWork(state, work.workId)
}

function expectWork(state: GraphState, workId: string): void {
  const work = state.works.get(workId)
  if (work === undefined) return expect.unreachable()
  const missing = work.inputIds.filter((input) => {
    const held = state.works.get(input)
    return held !== undefined && !(held.status === 'completed' || held.recordIds.length > 0)
  })
  if (work.status === 'waiting') {
    expect(work.waitingFor).toEqual(missing)
    // Nothing waits for what cannot come.
    for (const input of missing) expect(state.live.pending.has(input)).toBe(true)
    expect(missing.length).toBeGreaterThan(0)
  } else {
    expect(work.waitingFor).toEqual([])
    if (['ready', 'claimed', 'running', 'completed'].includes(work.status)) expect(missing).toEqual([])
  }
  if (work.status === 'completed') expect(work.recordIds).toHaveLength(1)
  for (const recordId of work.recordIds) expect(state.records.get(recordId)?.workId).toBe(workId)
  const live = [...state.claims.values()].filter(
    (claim) => claim.workId === workId && state.live.claims.has(claim.claimId),
  )
  expect(live.length).toBeLessThanOrEqual(1)
  if (work.status === 'claimed' || work.status === 'running') expect(live).toHaveLength(1)
}

describe('the fold over random histories', () => {
  it.each(Array.from({ length: 40 }, (_, index) => index + 1))(
    'is the same one by one, from the start, and in memory (seed %d)',
    async (seed) => {
      const { store, log } = await openGraph()
      const states = new Map<number, unknown>()
      const live: GraphState[] = []
      store.onCommitted((state) => {
        states.set(state.seq, plain(state))
        live.push(state)
      })
      const { taken } = await playHistory([store], { seed, steps: 400 })
      expect(taken).toBeGreaterThan(100)
      const entries = await log.read(`graph/${GRAPH}`)
      let state = emptyGraph(GRAPH)
      for (const entry of entries) {
        state = fold(state, parseGraphEntry(entry))
        expectConsistent(state)
        expect(plain(state)).toEqual(states.get(entry.seq) ?? plain(state))
      }
      expect(plain(foldAll(entries))).toEqual(plain(await graph(store)))
      // States that were handed out earlier are still what they were.
      for (const held of live) expect(plain(held)).toEqual(states.get(held.seq))
    },
  )

  it('is tried on every kind of entry, and on refusals', async () => {
    const kinds = new Map<string, number>()
    let refused = 0
    for (let seed = 1; seed <= 10; seed++) {
      const { store, log } = await openGraph()
      refused += (await playHistory([store], { seed, steps: 400 })).refused
      for (const { type } of await log.read(`graph/${GRAPH}`)) kinds.set(type, (kinds.get(type) ?? 0) + 1)
    }
    expect(kinds.size).toBe(13)
    expect(Math.min(...kinds.values())).toBeGreaterThanOrEqual(5)
    expect(refused).toBeGreaterThan(500)
  })

  it.each(MEDIA)('is the same in a store that opens later on %s', async (medium) => {
    for (const seed of [101, 102, 103]) {
      const { store, reopenStore } = await openGraph(medium)
      await playHistory([store], { seed, steps: 400 })
      const before = plain(await graph(store))
      expect(plain(await graph(await reopenStore()))).toEqual(before)
    }
  })

  it('is the same for two stores that write in turn', async () => {
    for (const seed of [201, 202, 203, 204]) {
      const { store, log } = await openGraph('sqlite')
      const other = await storeOn(log)
      await playHistory([store, other], { seed, steps: 400 })
      const state = await graph(store)
      expectConsistent(state)
      expect(plain(await graph(other))).toEqual(plain(state))
      expect(plain(foldAll(await log.read(`graph/${GRAPH}`)))).toEqual(plain(state))
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

  it('reads the published format, version 1', async () => {
    const file = new URL('fixtures/graph-stream-v1.json', import.meta.url)
    const fixture = JSON.parse(await readFile(file, 'utf8')) as { entries: StoredEntry[]; state: unknown }
    expect(new Set(fixture.entries.map(({ type }) => type)).size).toBe(13)
    expect(JSON.parse(JSON.stringify(plain(foldAll(fixture.entries))))).toEqual(fixture.state)
  })
})
