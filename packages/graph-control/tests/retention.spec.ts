import { type DurableLog, memoryLog } from 'dsh-durable-log'
import { faultyLog } from 'dsh-durable-log/testing'
import { describe, expect, it } from 'vitest'
import { epochGraphId, type GraphControlStore } from '../src/index.ts'
import {
  begin,
  commit,
  complete,
  GRAPH,
  graph,
  MEDIA,
  openGraph,
  openLog,
  plain,
  refusal,
  refusedAs,
  ROOT,
  settlement,
  statuses,
  storeOn,
  work,
} from './fixture.ts'

const finish = (...resultIds: string[]) => ({ finish: { resultIds, reason: 'end' } })

async function streams(log: DurableLog): Promise<readonly string[]> {
  return (await log.list({ limit: 1000 })).streams.map(({ stream }) => stream)
}

/** A root with a finished epoch that selected one of two results, and an open one; another root beside. */
async function rooted(store: GraphControlStore): Promise<{ kept: string; other: string }> {
  await store.advanceEpoch({ rootSessionId: 'bystander', expectedEpoch: 0 })
  await store.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
  await commit(store, 'c1', { addWork: [work('a'), work('b')] })
  const [kept, other] = [await complete(store, 'a'), await complete(store, 'b')]
  await commit(store, 'c2', finish(kept))
  await store.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 1 })
  await store.createGraph({ graphId: 'extra', rootSessionId: ROOT })
  const graphId = epochGraphId(ROOT, 2)
  const selectedResultInputs = [{ sourceGraphId: GRAPH, resultId: kept }]
  await commit(store, 'c3', { graphId, addWork: [work('next', { selectedResultInputs })] })
  return { kept, other }
}

const BYSTANDER = [`graph/${epochGraphId('bystander', 1)}`, 'root/bystander']

describe.each(MEDIA)('retention on %s', (medium) => {
  it('compacts the texts that a finished graph was not finished with, and nothing else', async () => {
    const { log, reopen } = await openLog(medium)
    const store = await storeOn(log)
    const { kept, other } = await rooted(store)
    const before = plain(await graph(store))
    expect(await store.compact(ROOT)).toBe(1)
    expect(await store.compact(ROOT)).toBe(0)
    const reopened = await storeOn(await reopen())
    expect(plain(await graph(reopened))).toEqual(before)
    expect((await reopened.readResult(GRAPH, kept)).text).toBe('result of a')
    await expect(reopened.readResult(GRAPH, other)).rejects.toMatchObject(
      refusedAs('record-not-found', 'its record has the summary'),
    )
    expect((await graph(reopened)).records.get(other)?.summary).toBe('result of b')
  })

  it('keeps what it compacted away gone when a writer that lags behind settles once more', async () => {
    const { log } = await openLog(medium)
    const [store, lagging] = [await storeOn(log), await storeOn(log)]
    await store.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
    await commit(store, 'c1', { addWork: [work('a')] })
    await begin(store, 'a')
    await lagging.readGraph(GRAPH)
    const { record } = await store.settleActivation(settlement('a'))
    const recordId = record?.recordId ?? ''
    await commit(store, 'c2', finish())
    expect(await store.compact(ROOT)).toBe(1)
    const again = await lagging.settleActivation(settlement('a'))
    expect(again).toMatchObject({ created: false, record: { recordId } })
    await expect(lagging.readResult(GRAPH, recordId)).rejects.toMatchObject(refusedAs('record-not-found'))
  })

  it('purges every stream of a root, and the root begins anew', async () => {
    const { log, reopen } = await openLog(medium)
    const store = await storeOn(log)
    await rooted(store)
    expect(await store.purge(ROOT)).toBe(3)
    expect(await streams(log)).toEqual(BYSTANDER)
    expect(await store.readGraph(GRAPH)).toBeUndefined()
    expect(await store.listEpochs(ROOT)).toEqual([])
    expect(await store.purge(ROOT)).toBe(0)
    const reopened = await storeOn(await reopen())
    expect(await reopened.listOpenGraphs()).toHaveLength(1)
    expect(await reopened.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })).toMatchObject({
      created: true,
      epoch: { graphId: GRAPH },
    })
    await commit(reopened, 'c1', { addWork: [work('a')] })
    expect(await statuses(reopened)).toEqual({ a: 'ready' })
  })
})

describe('what another root lists by mistake', () => {
  it('is neither compacted nor purged by it', async () => {
    const { store, log } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    const recordId = await complete(store, 'a')
    await commit(store, 'c2', finish())
    await log.append('graphs/other', 0, [{ type: 'graph', data: { v: 1, at: 1, graphId: GRAPH } }])
    expect([await store.compact('other'), await store.purge('other')]).toEqual([0, 0])
    expect((await store.readResult(GRAPH, recordId)).text).toBe('result of a')
    expect(await store.compact(ROOT)).toBe(1)
  })
})

describe('a purge', () => {
  it('is refused while an activation is live, and removes nothing then', async () => {
    const { store, log } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    await begin(store, 'a')
    await store.createGraph({ graphId: 'aa', rootSessionId: ROOT })
    const before = await streams(log)
    expect(await refusal(store, () => store.purge(ROOT))).toMatchObject(
      refusedAs('work-conflict', 'activations that run'),
    )
    expect(await streams(log)).toEqual(before)
  })

  it('takes a damaged graph along', async () => {
    const { store, log } = await openGraph()
    await log.append(`graph/${GRAPH}`, 'any', [{ type: 'foreign', data: {} }])
    await expect(store.readGraph(GRAPH)).rejects.toMatchObject({ code: 'quarantined' })
    expect(await store.purge(ROOT)).toBe(1)
    expect(await streams(log)).toEqual([])
    await store.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
    expect((await graph(store)).seq).toBe(1)
  })

  it('that was interrupted anywhere is finished by the next call', async () => {
    const count = async () => {
      const log = faultyLog(memoryLog())
      await rooted(await storeOn(log))
      return (await streams(log)).length - BYSTANDER.length
    }
    const removals = await count()
    expect(removals).toBe(7)
    for (let n = 1; n <= removals; n++) {
      for (const when of ['before', 'after'] as const) {
        const inner = memoryLog()
        const store = await storeOn(faultyLog(inner, [{ at: `${when}-remove`, when: n, fault: 'fail' }]))
        await rooted(store)
        await expect(store.purge(ROOT)).rejects.toMatchObject({ code: 'unavailable' })
        const fresh = await storeOn(inner)
        await fresh.purge(ROOT)
        expect(await streams(inner), `removal ${n} fails ${when}`).toEqual(BYSTANDER)
        // The store that failed sees it, too.
        expect(await store.readGraph(GRAPH)).toBeUndefined()
        expect(await store.listEpochs(ROOT)).toEqual([])
      }
    }
  })
})

describe.each(MEDIA)('another store that has a purged root in memory on %s', (medium) => {
  async function pair() {
    const { log } = await openLog(medium)
    const [one, two] = [await storeOn(log), await storeOn(log)]
    await one.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
    await commit(one, 'c1', { addWork: [work('a'), work('b')] })
    await commit(one, 'c2', { stop: [{ targetId: GRAPH, reason: 'no' }], ...finish() })
    expect(await two.listOpenGraphs()).toEqual([])
    expect((await two.listEpochs(ROOT)).length).toBe(1)
    return { one, two }
  }

  it('reads that it is gone', async () => {
    const { one, two } = await pair()
    await one.purge(ROOT)
    expect(await two.readGraph(GRAPH)).toBeUndefined()
    expect(await two.listEpochs(ROOT)).toEqual([])
    await expect(two.acknowledgeChanges(GRAPH, 0)).rejects.toMatchObject({ code: 'graph-not-found' })
  })

  it.each([0, 1, 5])('works on what came in its place, %d entries longer or shorter', async (more) => {
    const { one, two } = await pair()
    await one.purge(ROOT)
    await one.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
    for (let n = 0; n <= more; n++) await commit(one, `new${n}`, { addWork: [work(`n${n}`)] })
    await two.provisionOperator({
      provisionId: 'p',
      provisionFingerprint: 'f',
      graphId: GRAPH,
      workId: 'n0',
      operatorId: 'o',
      targetSessionId: 's',
      initialTurnId: 't',
      initialRunId: 'r',
      expectedScheduleRevision: more + 1,
    })
    expect(plain(await graph(two))).toEqual(plain(await graph(one)))
    expect(await two.listOpenGraphs()).toHaveLength(1)
    expect(await two.listEpochs(ROOT)).toEqual(await one.listEpochs(ROOT))
  })

  it('advances the epochs of the root that begins anew', async () => {
    const { one, two } = await pair()
    await one.purge(ROOT)
    expect(await two.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })).toMatchObject({ created: true })
    expect((await graph(one)).seq).toBe(1)
  })
})

describe('reading', () => {
  it('folds nothing anew after own commits of any kind', async () => {
    const { WHOLE_HISTORY } = await import('./whole-history.ts')
    const { log } = await openLog('sqlite')
    const store = await storeOn(log)
    let last: unknown
    store.onCommitted((state) => (last = state))
    for (const step of WHOLE_HISTORY) {
      await step(store)
      expect(await store.readGraph(GRAPH)).toBe(last)
    }
  })
})
