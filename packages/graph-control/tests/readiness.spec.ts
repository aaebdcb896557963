import { describe, expect, it } from 'vitest'
import {
  commit,
  complete,
  claim,
  begin,
  fail,
  GRAPH,
  graph,
  openGraph,
  settlement,
  statuses,
  work,
} from './fixture.ts'

describe('a work that waits', () => {
  it('is ready when its last input completed, and is skipped when one only left a record', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', {
      addWork: [
        work('a'),
        work('b'),
        work('c'),
        work('join', { inputIds: ['a', 'b'] }),
        work('pair', { inputIds: ['c', 'a'] }),
      ],
    })
    await complete(store, 'a')
    expect((await graph(store)).works.get('join')).toMatchObject({ status: 'waiting', waitingFor: ['b'] })
    await complete(store, 'c')
    expect((await graph(store)).works.get('pair')).toMatchObject({ status: 'ready', waitingFor: [] })
    await begin(store, 'b')
    await store.settleActivation(
      settlement('b', { outcome: 'failed', conclusion: 'half of it', reason: 'time' }),
    )
    expect((await graph(store)).works.get('join')).toMatchObject({
      status: 'skipped',
      reason: 'input b failed',
      waitingFor: [],
    })
  })

  it('is skipped with an input that did not complete, and so on downstream', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', {
      addWork: [
        work('a'),
        work('b', { inputIds: ['a'] }),
        work('c', { inputIds: ['b'] }),
        work('d', { inputIds: ['c', 'other'] }),
        work('other'),
      ],
    })
    await fail(store, 'a')
    const { works, counts, changeSeq } = await graph(store)
    expect([...works.values()].map(({ workId, status, reason }) => [workId, status, reason])).toEqual([
      ['a', 'failed', 'it broke'],
      ['b', 'skipped', 'input a failed'],
      ['c', 'skipped', 'input b skipped'],
      ['d', 'skipped', 'input c skipped'],
      ['other', 'ready', undefined],
    ])
    expect(counts).toEqual({ works: 5, pending: 1, terminal: 4 })
    expect(changeSeq).toBe(4)
    expect(works.get('d')?.waitingFor).toEqual([])
  })

  it('is skipped at once when it is added for an input that is already lost', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b')] })
    await commit(store, 'c2', { stop: [{ targetId: 'a', reason: 'no' }] })
    await commit(store, 'c3', {
      addWork: [work('late', { inputIds: ['b', 'a'] }), work('later', { inputIds: ['late'] })],
    })
    const { works } = await graph(store)
    expect(works.get('late')).toMatchObject({ status: 'skipped', reason: 'input a stopped' })
    expect(works.get('later')).toMatchObject({ status: 'skipped', reason: 'input late skipped' })
  })

  it('is skipped when its input is stopped', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b', { inputIds: ['a'] })] })
    await commit(store, 'c2', { stop: [{ targetId: 'a', reason: 'no' }] })
    expect((await graph(store)).works.get('b')).toMatchObject({
      status: 'skipped',
      reason: 'input a stopped',
    })
  })

  it('waits for the work that takes the place of its input', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b', { inputIds: ['a'] })] })
    await commit(store, 'c2', { addWork: [work('a2', { replaces: 'a' })] })
    expect((await graph(store)).works.get('b')).toMatchObject({ status: 'waiting', waitingFor: ['a2'] })
    await complete(store, 'a2')
    expect((await graph(store)).works.get('b')).toMatchObject({ status: 'ready', inputIds: ['a'] })
  })

  it('is skipped when the admission of its input is cancelled', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b', { inputIds: ['a'] })] })
    const { intentId } = await claim(store, 'a')
    await store.cancelAgentGraphIntentExecution(GRAPH, intentId, 'no model')
    expect(await statuses(store)).toEqual({ a: 'cancelled', b: 'skipped' })
  })

  it('may be one of thousands in a row, which all fall with the first', async () => {
    const { store } = await openGraph()
    let last = 'w0'
    await commit(store, 'c0', { addWork: [work(last)] })
    for (let block = 1; block <= 100; block++) {
      const addWork = Array.from({ length: 32 }, (_, index) => {
        const added = work(`w${block}.${index}`, { inputIds: [last] })
        last = added.workId
        return added
      })
      await commit(store, `c${block}`, { addWork })
    }
    await commit(store, 'stop', { stop: [{ targetId: 'w0', reason: 'no' }] })
    const { counts, works } = await graph(store)
    expect(counts).toEqual({ works: 3201, pending: 0, terminal: 3201 })
    expect(works.get(last)?.reason).toBe('input w100.30 skipped')
  })
})

describe('the life of a work', () => {
  it('is told by its status, times and change sequence', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a', { title: 'First' }), work('b')] })
    expect((await graph(store)).works.get('a')).toMatchObject({
      status: 'ready',
      revision: 1,
      title: 'First',
    })
    const { claimId, targetOperatorId } = await claim(store, 'a')
    expect((await graph(store)).works.get('a')).toMatchObject({
      status: 'claimed',
      claimId,
      operatorId: targetOperatorId,
    })
    await store.beginAgentGraphIntentExecutionAtScheduleRevision(
      GRAPH,
      (await graph(store)).claims.get(claimId)?.intentId ?? '',
      1,
    )
    const running = (await graph(store)).works.get('a')
    expect(running).toMatchObject({ status: 'running' })
    await store.settleActivation(settlement('a'))
    await complete(store, 'b')
    const [a, b] = [...(await graph(store)).works.values()]
    expect(a).toMatchObject({ status: 'completed', endedChangeSeq: 1, startedAt: running?.startedAt })
    expect(b).toMatchObject({ status: 'completed', endedChangeSeq: 2 })
    expect(a?.endedAt).toBeGreaterThan(a?.startedAt ?? Infinity)
    expect(a?.startedAt).toBeGreaterThan(a?.addedAt ?? Infinity)
    expect(a?.reason).toBeUndefined()
  })

  it('leaves the state of before as it was', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    const before = await graph(store)
    await complete(store, 'a')
    expect(before.works.get('a')?.status).toBe('ready')
    expect([...before.records]).toEqual([])
    expect(before.counts).toEqual({ works: 1, pending: 1, terminal: 0 })
    expect(Object.isFrozen(before)).toBe(true)
    expect(Object.isFrozen(before.works.get('a'))).toBe(true)
  })
})
