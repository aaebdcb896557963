import { readFile } from 'node:fs/promises'
import { type DurableLog, type JsonValue, memoryLog } from 'dsh-durable-log'
import { faultyLog } from 'dsh-durable-log/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { endedWorks, pendingWorks } from '../src/changes.ts'
import { type GraphEntry, parseGraphEntry } from '../src/entries.ts'
import { fold } from '../src/fold.ts'
import { snapshotOf, stateOfSnapshot } from '../src/graph-snapshot.ts'
import { emptyGraph, type FoldedGraph } from '../src/graph-state.ts'
import { GraphControlStore, reconcile } from '../src/index.ts'
import {
  behaviour,
  commit,
  GRAPH,
  graph,
  MEDIA,
  openGraph,
  openLog,
  overriding,
  plain,
  ROOT,
  statuses,
  storeOn,
  work,
} from './fixture.ts'
import { playHistory } from './random-history.ts'

const STREAM = `graph/${GRAPH}`

/** As a medium keeps it: text. */
function restored(state: FoldedGraph): FoldedGraph {
  const text = JSON.stringify(snapshotOf(state))
  const back = stateOfSnapshot(GRAPH, state.seq, JSON.parse(text) as JsonValue)
  if (back === undefined) throw new Error('the snapshot was not taken')
  return back
}

async function randomEntries(seed: number): Promise<readonly GraphEntry[]> {
  const { store, log } = await openGraph()
  await playHistory([store], { seed, steps: 600 })
  return (await log.read(STREAM)).map(parseGraphEntry)
}

describe('a state restored from a snapshot', () => {
  it.each([301, 302, 303, 304, 305, 306, 307, 308])(
    'is what a full fold leads to, and goes on like it for all that follows (seed %d)',
    async (seed) => {
      let whole = emptyGraph(GRAPH)
      let back = whole
      for (const entry of await randomEntries(seed)) {
        whole = fold(whole, entry)
        back = fold(back, entry)
        if (whole.seq % 9 === 0) back = restored(back)
        if (whole.seq % 12 !== 0) continue
        expect(behaviour(back), `entry ${whole.seq}`).toEqual(behaviour(whole))
        // What is walked is walked in the same order.
        const options = { maxNewActivations: 5, now: 1_500 }
        expect(reconcile(back, options)).toEqual(reconcile(whole, options))
        expect(pendingWorks(back, { limit: 50 })).toEqual(pendingWorks(whole, { limit: 50 }))
        expect(endedWorks(back, { limit: 50 })).toEqual(endedWorks(whole, { limit: 50 }))
      }
      expect(behaviour(restored(whole))).toEqual(behaviour(whole))
    },
  )

  it('of a graph without root, finish, wait, fence or wake holds no gaps', async () => {
    const state = emptyGraph(GRAPH)
    expect(plain(restored(state))).toEqual(plain(state))
    await memoryLogWith(snapshotOf(state))
    expect(Object.isFrozen(restored(state))).toBe(true)
  })

  it('knows the last thousand changes, and says so of what lies before', async () => {
    const { store, log } = await openGraph()
    for (let n = 0; n < 40; n++) {
      const addWork = Array.from({ length: 32 }, (_, index) => work(`w${n}.${index}`))
      await commit(store, `c${n}`, { addWork })
    }
    const entries = (await log.read(STREAM)).map(parseGraphEntry)
    const whole = entries.reduce(fold, emptyGraph(GRAPH))
    await log.saveSnapshot(STREAM, whole.seq, snapshotOf(whole))
    const fresh = await storeOn(log)
    expect(await fresh.readChanges(GRAPH, 0)).toBeUndefined()
    const since = whole.seq - 10
    expect(await fresh.readChanges(GRAPH, since)).toEqual(await store.readChanges(GRAPH, since))
    expect(await fresh.readChanges(GRAPH, since)).toHaveLength(320)
  })
})

describe('a published snapshot', () => {
  it('of version 1 is read as the state it was taken of', async () => {
    const file = new URL('fixtures/graph-snapshot-v1.json', import.meta.url)
    const fixture = JSON.parse(await readFile(file, 'utf8')) as {
      seq: number
      snapshot: JsonValue
      state: object
    }
    const state = stateOfSnapshot(GRAPH, fixture.seq, fixture.snapshot)
    expect(state?.seq).toBe(fixture.seq)
    expect(JSON.parse(JSON.stringify(behaviour(state)))).toMatchObject(behaviour(fixture.state) as object)
  })
})

/** What the log takes as it is. */
async function memoryLogWith(snapshot: JsonValue): Promise<DurableLog> {
  const log = memoryLog()
  await log.append(STREAM, 0, [{ type: 'x', data: 0 }])
  await log.saveSnapshot(STREAM, 1, snapshot)
  return log
}

/** A graph of more entries than an open one has without a snapshot. */
async function long(medium: (typeof MEDIA)[number]) {
  const opened = await openGraph(medium)
  const { store } = opened
  await commit(store, 'c0', { addWork: [work('a')] })
  for (let n = 0; n < 2_000; n++) {
    await store.registerWait({ graphId: GRAPH, waitId: `w${n}`, until: 'any' })
  }
  await store.close()
  return opened
}

describe.each(MEDIA)('snapshots on %s', (medium) => {
  it('are saved of a long graph, and spare the fold of what lies before', async () => {
    const { log, reopen } = await long(medium)
    const saved = await log.loadSnapshot(STREAM)
    expect(saved?.seq).toBeGreaterThanOrEqual(2_000)
    const seqs: number[] = []
    const again = await reopen()
    const watched = overriding(again, {
      read: (stream, options) => {
        seqs.push(options?.afterSeq ?? 0)
        return again.read(stream, options)
      },
    })
    const store = await storeOn(watched)
    expect(await graph(store)).toMatchObject({ seq: 2_002, wait: { waitId: 'w1999' } })
    expect(Math.min(...seqs)).toBe((saved?.seq ?? 0) - 1)
    await commit(store, 'c1', { addWork: [work('b', { inputIds: ['a'] })] })
    expect(await statuses(store)).toEqual({ a: 'ready', b: 'waiting' })
  })

  it('are saved of a finished graph once it is worth it, when nothing of it is under way', async () => {
    const { store, log, reopenStore } = await openGraph(medium)
    await commit(store, 'c0', { addWork: [work('a')] })
    for (let n = 0; n < 70; n++) await store.registerWait({ graphId: GRAPH, waitId: `w${n}`, until: 'any' })
    expect(await log.loadSnapshot(STREAM)).toBeUndefined()
    const stop = [{ targetId: 'a', reason: 'no' }]
    await commit(store, 'c1', { stop, finish: { resultIds: [], reason: 'end' } })
    const before = plain(await graph(store))
    await store.close()
    expect((await log.loadSnapshot(STREAM))?.seq).toBe(73)
    expect(behaviour(await graph(await reopenStore()))).toEqual(behaviour(before))
  })
})

const DAMAGE: readonly [string, JsonValue][] = [
  ['foreign JSON', { theirs: true }],
  ['null', null],
  ['a list', [1, 2]],
  ['another version', { v: 2 }],
  ['another graph', { v: 1, head: { graphId: 'other', seq: 12 } }],
  ['half of it', { v: 1, head: { graphId: GRAPH, seq: 12 } }],
  ['works that are none', { v: 1, head: { graphId: GRAPH, seq: 12 }, works: [{}] }],
]

describe('a snapshot that cannot be used', () => {
  /** A graph of twelve entries with a snapshot of the caller's, and a store that finds it. */
  async function with12(snapshot: (state: FoldedGraph) => JsonValue) {
    const { store, log } = await openGraph()
    for (let n = 1; n < 12; n++) await commit(store, `c${n}`, { addWork: [work(`w${n}`)] })
    const entries = (await log.read(STREAM)).map(parseGraphEntry)
    const whole = entries.reduce(fold, emptyGraph(GRAPH))
    await log.saveSnapshot(STREAM, 12, snapshot(whole))
    const reported: unknown[] = []
    const fresh = await GraphControlStore.open(log, { report: (error) => reported.push(error) })
    onTestFinished(() => fresh.close())
    return { fresh, log, whole, reported }
  }

  it.each(DAMAGE)('because it is %s is passed over', async (_, snapshot) => {
    const { fresh, whole } = await with12(() => snapshot)
    expect(plain(await graph(fresh))).toEqual(plain(whole))
    await commit(fresh, 'c12', { addWork: [work('w12')] })
  })

  it('because what follows does not fit it is passed over, and told', async () => {
    const { fresh, log, reported } = await with12((state) => {
      const { works: _, ...rest } = snapshotOf(state) as { works: JsonValue }
      return { ...rest, works: [], updates: [] } as JsonValue
    })
    await log.append(STREAM, 12, [{ type: 'update', data: { v: 1, at: 9, update: updateOn('w1') } }])
    expect((await graph(fresh)).works.get('last')).toMatchObject({ status: 'waiting', waitingFor: ['w1'] })
    expect((await graph(fresh)).works.size).toBe(12)
    expect(reported).toHaveLength(1)
  })

  it('because the stream is shorter, as one from a backup is, is passed over, and told', async () => {
    const { log, whole } = await with12(snapshotOf)
    const snapshot = { ...(snapshotOf(whole) as object), head: { ...headOf(whole), seq: 40 } } as JsonValue
    const ahead = overriding(log, { loadSnapshot: async () => ({ seq: 40, snapshot }) })
    const reported: unknown[] = []
    const store = await GraphControlStore.open(ahead, { report: (error) => reported.push(error) })
    expect(plain(await graph(store))).toEqual(plain(whole))
    expect(String(reported[0])).toContain('a snapshot of other entries')
    await commit(store, 'c12', { addWork: [work('w12')] })
  })

  it('because the medium holds it damaged, or is away, is passed over or is an answer for another day', async () => {
    const { log } = await with12(snapshotOf)
    const { DurableLogError } = await import('dsh-durable-log')
    const failing = (code: 'corrupt' | 'unavailable') =>
      faultyLog(log, [
        { at: 'before-load', times: 1, fault: 'fail', error: () => new DurableLogError(code, 'no') },
      ])
    const reported: unknown[] = []
    const corrupt = await GraphControlStore.open(failing('corrupt'), { report: (e) => reported.push(e) })
    expect((await graph(corrupt)).seq).toBe(12)
    expect(reported).toMatchObject([{ code: 'corrupt' }])
    const away = await storeOn(failing('unavailable'))
    await expect(away.readGraph(GRAPH)).rejects.toMatchObject({ code: 'unavailable' })
    expect((await graph(away)).seq).toBe(12)
  })
})

function headOf(state: FoldedGraph): object {
  return (snapshotOf(state) as { head: object }).head
}

function updateOn(input: string): JsonValue {
  return {
    schemaVersion: 1,
    updateId: 'u-last',
    updateFingerprint: 'f',
    graphId: GRAPH,
    source: { sessionId: ROOT, runId: 'r', turnId: 't', toolCallId: 'last' },
    addWork: [{ workId: 'last', target: { kind: 'agent', id: 'a' }, instruction: 'i', inputIds: [input] }],
    stop: [],
  }
}

describe('saving a snapshot', () => {
  it('that fails is told and holds up nothing, and is tried again later', async () => {
    const { log } = await openLog('memory')
    const failing = faultyLog(log, [{ at: 'before-snapshot', times: 1, fault: 'fail' }])
    const reported: unknown[] = []
    const store = await GraphControlStore.open(failing, { report: (error) => reported.push(error) })
    await store.createGraph({ graphId: GRAPH, rootSessionId: 'free' }).catch(() => undefined)
    await commit(store, 'c0', { addWork: [work('a')] })
    for (let n = 0; n < 2_005; n++) {
      await store.registerWait({ graphId: GRAPH, waitId: `w${n}`, until: 'any' })
    }
    await store.close()
    expect(reported).toMatchObject([{ code: 'unavailable' }])
    expect((await log.loadSnapshot(STREAM))?.seq).toBeGreaterThan(2_000)
  })

  it('that another process was quicker with is no failure', async () => {
    const { log } = await openLog('memory')
    const reported: unknown[] = []
    const open = () => GraphControlStore.open(log, { report: (error) => reported.push(error) })
    const [one, two] = [await open(), await open()]
    await commit(one, 'c0', { addWork: [work('a')] })
    for (let n = 0; n < 2_010; n++) {
      await (n % 2 === 0 ? one : two).registerWait({ graphId: GRAPH, waitId: `w${n}`, until: 'any' })
    }
    await Promise.all([one.close(), two.close()])
    expect(reported).toEqual([])
  })

  it('is over before its stream is removed', async () => {
    const { log } = await openLog('memory')
    const gate = Promise.withResolvers<void>()
    const order: string[] = []
    const slow = faultyLog(log, [
      { at: 'before-snapshot', fault: 'delay', until: gate.promise },
      // Whatever does not wait for the snapshot is at its removal before this comes.
      { at: 'after-list', fault: 'call', call: () => void setImmediate(gate.resolve) },
      { at: 'after-snapshot', fault: 'call', call: () => order.push('saved') },
      {
        at: 'before-remove',
        when: ({ stream }) => stream === STREAM,
        fault: 'call',
        call: () => order.push('removed'),
      },
    ])
    const store = await storeOn(slow)
    await store.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
    for (let n = 0; n < 70; n++) await store.registerWait({ graphId: GRAPH, waitId: `w${n}`, until: 'any' })
    await commit(store, 'end', { finish: { resultIds: [], reason: 'end' } })
    expect(await store.purge(ROOT)).toBe(1)
    expect(order).toEqual(['saved', 'removed'])
    expect(await log.loadSnapshot(STREAM)).toBeUndefined()
  })
})
