import { describe, expect, it } from 'vitest'
import { epochGraphId } from '../src/index.ts'
import {
  commit,
  GRAPH,
  graph,
  MEDIA,
  openLog,
  openStore,
  refusal,
  refusedAs,
  ROOT,
  storeOn,
  work,
} from './fixture.ts'

const finish = { resultIds: [], reason: 'end' }
const create = (graphId: string, rootSessionId = ROOT) => ({ graphId, rootSessionId })

describe.each(MEDIA)('registered graphs on %s', (medium) => {
  it('are created once, belong to their root, and are listed with its epochs by id', async () => {
    const { store, reopenStore } = await openStore(medium)
    await store.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
    const first = await store.createGraph(create('release'))
    expect(first).toMatchObject({ created: true, graph: { graphId: 'release', rootSessionId: ROOT, seq: 1 } })
    await store.createGraph(create('audit'))
    await store.createGraph(create('theirs', 'other'))
    const reopened = await reopenStore()
    expect(await reopened.createGraph(create('release'))).toMatchObject({ created: false, graph: { seq: 1 } })
    expect(await refusal(reopened, () => reopened.createGraph(create('release', 'other')))).toMatchObject(
      refusedAs('graph-exists', 'another root'),
    )
    await commit(reopened, 'c1', { graphId: 'audit', addWork: [work('a')] })
    await commit(reopened, 'c2', { graphId: 'release', finish })
    const { graphs, unreadable } = await reopened.listGraphs({ rootSessionId: ROOT })
    expect(unreadable).toEqual([])
    expect(graphs).toMatchObject([
      { graphId: GRAPH, phase: 'open', revision: 0, finishedAt: undefined },
      { graphId: 'audit', phase: 'open', revision: 1, counts: { works: 1, pending: 1, terminal: 0 } },
      { graphId: 'release', phase: 'closed', finishedAt: expect.any(Number) as number },
    ])
    expect((await reopened.listGraphs()).graphs.map(({ graphId }) => graphId)).toEqual([
      GRAPH,
      'audit',
      'release',
      'theirs',
    ])
    expect((await reopened.listOpenGraphs()).map(({ graphId }) => graphId)).toEqual([
      GRAPH,
      'audit',
      'theirs',
    ])
  })

  it('have one winner when several roots create the same one at once', async () => {
    const { log } = await openLog(medium)
    const stores = await Promise.all([storeOn(log), storeOn(log), storeOn(log)])
    const outcomes = await Promise.allSettled(
      stores.map((store, n) => store.createGraph(create('one', `root-${n}`))),
    )
    const won = outcomes.filter(({ status }) => status === 'fulfilled')
    expect(won).toHaveLength(1)
    const { rootSessionId = '' } = await graph(stores[0] as (typeof stores)[number], 'one')
    // What a loser listed before it lost is not taken for its own.
    const roots = stores.map((_, n) => `root-${n}`)
    const losers = roots.filter((root) => root !== rootSessionId)
    for (const root of [...losers, rootSessionId]) {
      const store = stores[roots.indexOf(root)] as (typeof stores)[number]
      const { graphs } = await store.listGraphs({ rootSessionId: root })
      expect(graphs.map(({ graphId }) => graphId)).toEqual(root === rootSessionId ? ['one'] : [])
      expect(await store.compact(root)).toBe(0)
      expect(await store.purge(root)).toBe(root === rootSessionId ? 1 : 0)
    }
  })
})

describe('a registered graph', () => {
  it('adopts what was committed before it had a root', async () => {
    const { store, reopenStore } = await openStore('sqlite')
    await commit(store, 'c1', { graphId: 'free', addWork: [work('a')] })
    expect(await store.createGraph(create('free'))).toMatchObject({
      created: true,
      graph: { rootSessionId: ROOT, revision: 1 },
    })
    const reopened = await reopenStore()
    expect((await reopened.listGraphs({ rootSessionId: ROOT })).graphs).toMatchObject([{ graphId: 'free' }])
    expect(await reopened.purge(ROOT)).toBe(1)
    expect(await reopened.readGraph('free')).toBeUndefined()
  })

  it('that a crash left listed and empty is taken up by the retry', async () => {
    const { log } = await openLog('memory')
    await log.append(`graphs/${ROOT}`, 0, [{ type: 'graph', data: { v: 1, at: 1, graphId: 'half' } }])
    const store = await storeOn(log)
    expect((await store.listGraphs({ rootSessionId: ROOT })).graphs).toEqual([])
    expect(await store.createGraph(create('half'))).toMatchObject({ created: true })
    expect(await log.read(`graphs/${ROOT}`)).toHaveLength(1)
    expect((await store.listGraphs({ rootSessionId: ROOT })).graphs).toHaveLength(1)
  })

  it('cannot take the name of an epoch, unless its root has that epoch', async () => {
    const { store } = await openStore()
    const theirs = () => store.createGraph(create(epochGraphId('victim', 1)))
    expect(await refusal(store, theirs)).toMatchObject(refusedAs('invalid', 'the name of an epoch'))
    expect((await store.advanceEpoch({ rootSessionId: 'victim', expectedEpoch: 0 })).created).toBe(true)
    await store.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
    expect(await store.createGraph(create(GRAPH))).toMatchObject({ created: false })
  })

  it('is quarantined by name when the list of its root is damaged', async () => {
    const { log } = await openLog('memory')
    await log.append(`graphs/${ROOT}`, 0, [{ type: 'foreign', data: {} }])
    const store = await storeOn(log)
    expect(await refusal(store, () => store.listGraphs({ rootSessionId: ROOT }))).toMatchObject(
      refusedAs('quarantined', `graphs/${ROOT}, entry 1`),
    )
    expect((await store.createGraph(create('mine', 'other'))).created).toBe(true)
  })
})

describe('a listing', () => {
  it('is paged by cursor over all graphs and over those of a root, with every graph once', async () => {
    const { store } = await openStore()
    const ids = Array.from({ length: 12 }, (_, n) => `g${String(n).padStart(2, '0')}`)
    for (const id of ids) await store.createGraph(create(id, `root-${Number(id.slice(1)) % 2}`))
    const collect = async (rootSessionId?: string) => {
      const seen: string[][] = []
      const of = rootSessionId === undefined ? {} : { rootSessionId }
      for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
        const page = await store.listGraphs({ ...of, limit: 5, ...(cursor === undefined ? {} : { cursor }) })
        seen.push(page.graphs.map(({ graphId }) => graphId))
        cursor = page.cursor
      }
      return seen
    }
    expect(await collect()).toEqual([ids.slice(0, 5), ids.slice(5, 10), ids.slice(10)])
    const even = ids.filter((_, n) => n % 2 === 0)
    expect(await collect('root-0')).toEqual([even.slice(0, 5), even.slice(5)])
    // A cursor outlives the graph it names.
    await store.purge('root-1')
    expect(
      (await store.listGraphs({ cursor: 'g03', limit: 2 })).graphs.map(({ graphId }) => graphId),
    ).toEqual(['g04', 'g06'])
  })

  it('names the graphs that cannot be read', async () => {
    const { log } = await openLog('memory')
    await log.append('graph/bad', 0, [{ type: 'foreign', data: {} }])
    const store = await storeOn(log)
    await store.createGraph(create('good'))
    const { graphs, unreadable } = await store.listGraphs()
    expect(graphs.map(({ graphId }) => graphId)).toEqual(['good'])
    expect(unreadable).toEqual([
      { graphId: 'bad', reason: expect.stringContaining('unknown kind') as string },
    ])
  })

  it.each([{ limit: 0 }, { limit: 201 }, { cursor: '' }, { rootSessionId: 7 }, { other: 1 }, null])(
    'is refused with %o',
    async (request) => {
      const { store } = await openStore()
      expect(await refusal(store, () => store.listGraphs(request as object))).toMatchObject(
        refusedAs('invalid', 'listGraphs refused'),
      )
    },
  )
})

describe('a snapshot of the store', () => {
  it('holds all rows of one graph, or of those in memory', async () => {
    const { store } = await openStore()
    await commit(store, 'c1', { graphId: 'one', addWork: [work('a')] })
    await commit(store, 'c2', { graphId: 'two', addWork: [work('a')] })
    const all = await store.snapshot()
    expect(all.scheduleUpdates.map(({ graphId }) => graphId)).toEqual(['one', 'two'])
    const one = await store.snapshot('one')
    expect(one).toEqual({
      scheduleUpdates: [all.scheduleUpdates[0]],
      intentClaims: [],
      operatorProvisions: [],
      operatorBindings: [],
      supervisorWakes: [],
    })
  })
})
