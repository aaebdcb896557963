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

const advance = (expectedEpoch: number, rootSessionId = ROOT) => ({ rootSessionId, expectedEpoch })
const finish = { resultIds: [], reason: 'end' }

describe.each(MEDIA)('epochs on %s', (medium) => {
  it('follow each other when the graph before is finished (scenario R7)', async () => {
    const { store, reopenStore } = await openStore(medium)
    expect(await store.currentEpoch(ROOT)).toBeUndefined()
    const first = await store.advanceEpoch(advance(0))
    expect(first).toMatchObject({ created: true, epoch: { rootSessionId: ROOT, epoch: 1, graphId: GRAPH } })
    expect(await refusal(store, () => store.advanceEpoch(advance(1)))).toMatchObject(
      refusedAs('graph-exists', GRAPH),
    )
    await commit(store, 'c1', { finish })
    const second = await store.advanceEpoch(advance(1))
    expect(second.epoch).toMatchObject({ epoch: 2, graphId: epochGraphId(ROOT, 2) })
    const reopened = await reopenStore()
    expect(await reopened.listEpochs(ROOT)).toEqual([first.epoch, second.epoch])
    expect(await reopened.currentEpoch(ROOT)).toEqual(second.epoch)
    expect(await graph(reopened, second.epoch.graphId)).toMatchObject({ rootSessionId: ROOT, revision: 0 })
    expect(await reopened.listOpenGraphs()).toEqual([{ graphId: second.epoch.graphId, rootSessionId: ROOT }])
  })

  it('answer a retry with what is there, and refuse whoever is behind or ahead', async () => {
    const { store } = await openStore(medium)
    const { epoch } = await store.advanceEpoch(advance(0))
    const { seq } = await graph(store)
    expect(await store.advanceEpoch(advance(0))).toEqual({ epoch, created: false })
    expect((await graph(store)).seq).toBe(seq)
    expect(await refusal(store, () => store.advanceEpoch(advance(5)))).toMatchObject(
      refusedAs('epoch-conflict', 'at epoch 1, not 5'),
    )
    await commit(store, 'c1', { finish })
    await store.advanceEpoch(advance(1))
    expect(await refusal(store, () => store.advanceEpoch(advance(0)))).toMatchObject(
      refusedAs('epoch-conflict', 'at epoch 2, not 0'),
    )
  })

  it('converge when several stores advance at once', async () => {
    const { log } = await openLog(medium)
    const stores = await Promise.all([storeOn(log), storeOn(log), storeOn(log)])
    const advanced = await Promise.all(stores.map((store) => store.advanceEpoch(advance(0))))
    expect(advanced.filter(({ created }) => created)).toHaveLength(1)
    expect(new Set(advanced.map(({ epoch }) => JSON.stringify(epoch))).size).toBe(1)
    expect(await log.read(`graph/${GRAPH}`)).toHaveLength(1)
  })
})

describe('an epoch whose graph was not opened before a crash', () => {
  const epochEntry = {
    type: 'epoch',
    data: { v: 1, at: 1, rootSessionId: ROOT, epoch: 1, graphId: GRAPH },
  }

  it('is adopted by the retry', async () => {
    const { log } = await openLog('memory')
    await log.append(`root/${ROOT}`, 0, [epochEntry])
    const store = await storeOn(log)
    expect(await store.advanceEpoch(advance(0))).toMatchObject({ created: false, epoch: { createdAt: 1 } })
    expect(await graph(store)).toMatchObject({ rootSessionId: ROOT })
  })

  it('is adopted by the first update of its root', async () => {
    const { log } = await openLog('memory')
    await log.append(`root/${ROOT}`, 0, [epochEntry])
    const store = await storeOn(log)
    await commit(store, 'c1', { addWork: [work('a')] })
    expect(await graph(store)).toMatchObject({ rootSessionId: ROOT, revision: 1, seq: 2 })
    expect(await store.advanceEpoch(advance(0))).toMatchObject({ created: false })
    expect((await graph(store)).seq).toBe(2)
  })
})

describe('root streams', () => {
  it.each([
    ['a foreign kind', { type: 'foreign', data: {} }, 'unknown kind'],
    [
      'a hole',
      { type: 'epoch', data: { v: 1, at: 1, rootSessionId: ROOT, epoch: 2, graphId: 'g' } },
      'out of order',
    ],
    [
      'another root',
      { type: 'epoch', data: { v: 1, at: 1, rootSessionId: 'x', epoch: 1, graphId: 'g' } },
      'another root',
    ],
    [
      'another version',
      { type: 'epoch', data: { v: 2, at: 1, rootSessionId: ROOT, epoch: 1, graphId: 'g' } },
      'v must be',
    ],
  ])('with %s are quarantined by name, and others are not', async (_, entry, text) => {
    const { log } = await openLog('memory')
    await log.append(`root/${ROOT}`, 0, [entry])
    const store = await storeOn(log)
    expect(await refusal(store, () => store.listEpochs(ROOT))).toMatchObject(refusedAs('quarantined', text))
    expect(await refusal(store, () => store.advanceEpoch(advance(1)))).toMatchObject(
      refusedAs('quarantined', `root/${ROOT}, entry 1`),
    )
    expect((await store.advanceEpoch(advance(0, 'other'))).created).toBe(true)
  })

  it('do not mix up roots whose names contain each other', async () => {
    const { store } = await openStore()
    await store.advanceEpoch(advance(0, 'r'))
    await store.advanceEpoch(advance(0, 'r/1'))
    expect((await store.listEpochs('r')).map(({ rootSessionId }) => rootSessionId)).toEqual(['r'])
  })
})

describe('open graphs', () => {
  it('are listed over any number of pages, without the finished ones', async () => {
    const { store } = await openStore()
    for (let n = 0; n < 450; n++) {
      const parts = { graphId: `g${String(n).padStart(3, '0')}`, ...(n % 3 === 0 ? { finish } : {}) }
      await commit(store, `c${n}`, parts)
    }
    const open = (await store.listOpenGraphs()).map(({ graphId }) => graphId)
    expect(open).toHaveLength(300)
    expect(open).toEqual([...open].sort())
    expect(open).not.toContain('g003')
    await commit(store, 'end', { graphId: 'g001', finish })
    expect((await store.listOpenGraphs()).map(({ graphId }) => graphId)).not.toContain('g001')
  })
})
