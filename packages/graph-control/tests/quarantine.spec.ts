import { DurableLogError, type Entry } from 'dsh-durable-log'
import { faultyLog } from 'dsh-durable-log/testing'
import { describe, expect, it } from 'vitest'
import { GraphControlStore } from '../src/index.ts'
import {
  commit,
  complete,
  GRAPH,
  graph,
  MEDIA,
  openGraph,
  openLog,
  refusal,
  refusedAs,
  ROOT,
  statuses,
  storeOn,
  update,
  work,
} from './fixture.ts'

const at = { v: 1, at: 5 }
const updateEntry = (call: string, parts: Parameters<typeof update>[1], changes: object = {}): Entry => ({
  type: 'update',
  data: JSON.parse(
    JSON.stringify({ ...at, update: { ...update(call, parts), ...changes } }),
  ) as Entry['data'],
})

/** A log with one sound graph, one that holds `entries`, and a store on it. */
async function damaged(entries: readonly Entry[], medium: (typeof MEDIA)[number] = 'memory') {
  const { log } = await openLog(medium)
  const first = await storeOn(log)
  await commit(first, 'c1', { graphId: 'sound', addWork: [work('a')] })
  await log.append(`graph/${GRAPH}`, 0, [updateEntry('c0', { addWork: [work('a')] }), ...entries])
  const reported: unknown[] = []
  const store = await GraphControlStore.open(log, { report: (error) => reported.push(error) })
  return { store, log, reported }
}

const finished = updateEntry('end', {
  stop: [{ targetId: GRAPH, reason: 'x' }],
  finish: { resultIds: [], reason: 'x' },
})

const DAMAGE: readonly [string, readonly Entry[], string | RegExp][] = [
  ['an unknown kind', [{ type: 'graph/foreign', data: {} }], /entry 2.*unknown kind/],
  ['a kind that is the name of an object member', [{ type: 'constructor', data: {} }], 'unknown kind'],
  ['data that is no object', [{ type: 'update', data: 'text' }], 'must be an object'],
  ['a version to come', [{ type: 'seen', data: { v: 2, at: 1, changeSeq: 0 } }], /v must be 1/],
  ['a field that is not known', [{ type: 'seen', data: { ...at, changeSeq: 0, extra: 1 } }], '"extra"'],
  ['a missing field', [{ type: 'seen', data: at }], 'changeSeq'],
  ['a field of another kind', [{ type: 'seen', data: { ...at, changeSeq: '0' } }], 'changeSeq must be'],
  ['an update of another graph', [updateEntry('c', {}, { graphId: 'other' })], 'belongs to graph other'],
  ['an update after the finish', [finished, updateEntry('late', {})], /entry 3.*finished/],
  ['a work id used twice', [updateEntry('c', { addWork: [work('a')] })], 'a second time'],
  ['an update repeated', [updateEntry('c0', {})], 'repeats update'],
  [
    'an input that is not there',
    [updateEntry('c', { addWork: [work('b', { inputIds: ['x'] })] })],
    'input x',
  ],
  ['a stop of what is not there', [updateEntry('c', { stop: [{ targetId: 'x', reason: 'r' }] })], 'stops x'],
  ['a finish with pending works', [updateEntry('c', { finish: { resultIds: [], reason: 'r' } })], 'not over'],
  [
    'a replaced work that is not there',
    [updateEntry('c', { addWork: [work('b', { replaces: 'x' })] })],
    'work x',
  ],
  ['the begin of no claim', [{ type: 'begin', data: { ...at, claimId: 'x' } }], 'claim x'],
  ['a change seen before it happened', [{ type: 'seen', data: { ...at, changeSeq: 9 } }], 'to come'],
  [
    'a wake before its change',
    [{ type: 'wake', data: { ...at, wakeId: 'w', snapshotVersion: 9, rootSessionId: ROOT } }],
    'too early',
  ],
  [
    'an attempt of no wake',
    [{ type: 'wake-attempt', data: { ...at, wakeId: 'w', attemptId: 'x' } }],
    'wake w',
  ],
  [
    'another graph opened',
    [{ type: 'graph/opened', data: { ...at, graphId: 'x', rootSessionId: ROOT } }],
    'another graph',
  ],
]

describe('a stream that holds', () => {
  it.each(DAMAGE)('%s is set aside by name; other graphs are not', async (_, entries, text) => {
    const { store, log, reported } = await damaged(entries)
    const error = {
      code: 'quarantined',
      name: 'GraphControlError',
      message: expect.stringMatching(text) as string,
    }
    await expect(store.readGraph(GRAPH)).rejects.toMatchObject(error)
    await expect(store.readGraph(GRAPH)).rejects.toThrow(`stream graph/${GRAPH}, entry`)
    await expect(commit(store, 'c9', { addWork: [work('z')] })).rejects.toMatchObject(error)
    await expect(store.acknowledgeChanges(GRAPH, 0)).rejects.toMatchObject(error)
    expect(await store.listOpenGraphs()).toEqual([{ graphId: 'sound', rootSessionId: undefined }])
    expect(reported).toMatchObject([error])
    expect((await commit(store, 'c2', { graphId: 'sound', addWork: [work('b')] })).revision).toBe(2)
    expect(await log.read(`graph/${GRAPH}`)).toHaveLength(1 + entries.length)
  })
})

describe.each(MEDIA)('quarantine on %s', (medium) => {
  it('also comes from what another process writes meanwhile', async () => {
    const { store, log } = await openGraph(medium)
    await commit(store, 'c1', { addWork: [work('a')] })
    await log.append(`graph/${GRAPH}`, 'any', [{ type: 'foreign', data: {} }])
    await expect(commit(store, 'c2', { addWork: [work('b')] })).rejects.toMatchObject({ code: 'quarantined' })
    await expect(store.readGraph(GRAPH)).rejects.toThrow('entry 3')
    expect((await store.advanceEpoch({ rootSessionId: 'other', expectedEpoch: 0 })).created).toBe(true)
  })
})

describe('a damaged entry of the medium', () => {
  it('sets its graph aside, and a medium that is away does not', async () => {
    const { log } = await openLog('memory')
    const first = await storeOn(log)
    await commit(first, 'c1', { addWork: [work('a')] })
    let failure: DurableLogError | undefined = new DurableLogError('unavailable', 'locked')
    const failing = faultyLog(log, [
      {
        at: 'before-read',
        when: () => failure !== undefined,
        fault: 'fail',
        error: () => failure ?? new Error('no failure was asked for'),
      },
    ])
    const store = await storeOn(failing)
    await expect(store.readGraph(GRAPH)).rejects.toMatchObject({ code: 'unavailable' })
    failure = undefined
    expect(await statuses(store)).toEqual({ a: 'ready' })
    failure = new DurableLogError('corrupt', 'checksum', { stream: `graph/${GRAPH}`, seq: 7 })
    await expect(store.readGraph(GRAPH)).rejects.toMatchObject({ code: 'quarantined', cause: failure })
    failure = undefined
    await expect(store.readGraph(GRAPH)).rejects.toThrow('entry 7')
  })
})

describe('nothing unfoldable is written', () => {
  it('by any refused request, so every graph stays readable', async () => {
    const { store, reopenStore } = await openGraph('sqlite')
    await commit(store, 'c1', { addWork: [work('a')] })
    await complete(store, 'a')
    await commit(store, 'c2', { finish: { resultIds: [], reason: 'end' } })
    expect(await refusal(store, () => commit(store, 'c3', { addWork: [work('a')] }))).toMatchObject(
      refusedAs('schedule-closed'),
    )
    expect(await graph(await reopenStore())).toMatchObject({ closed: true, revision: 2 })
  })
})
