import { describe, expect, it } from 'vitest'
import { graphOperatorId, type ProvisionRequest } from '../src/index.ts'
import {
  commit,
  complete,
  GRAPH,
  graph,
  MEDIA,
  openGraph,
  provisionRequest,
  refusal,
  refusedAs,
  ROOT,
  work,
} from './fixture.ts'

describe.each(MEDIA)('provisions on %s', (medium) => {
  it('give a work its operator, and adopt it on a retry at a later revision', async () => {
    const { store } = await openGraph(medium)
    await commit(store, 'c1', { addWork: [work('a')] })
    const first = await store.provisionOperator(provisionRequest('a', 1))
    const { graphId: _, expectedScheduleRevision: __, ...operator } = provisionRequest('a', 1)
    expect(first).toEqual({ created: true, provision: { ...operator, provisionedAt: expect.any(Number) } })
    expect((await graph(store)).works.get('a')).toMatchObject({
      status: 'ready',
      operatorId: graphOperatorId(GRAPH, 'a'),
    })
    await commit(store, 'c2', { addWork: [work('b')] })
    const retry = { ...provisionRequest('a', 99), initialTurnId: 'other', initialRunId: 'other' }
    expect(await store.provisionOperator(retry)).toEqual({ ...first, created: false })
  })

  it('are refused with another fingerprint, also after the graph is finished', async () => {
    const { store } = await openGraph(medium)
    await commit(store, 'c1', { addWork: [work('a')] })
    await store.provisionOperator(provisionRequest('a', 1))
    const other = { ...provisionRequest('a', 1), provisionFingerprint: 'other' }
    expect(await refusal(store, () => store.provisionOperator(other))).toMatchObject(
      refusedAs('provision-conflict', other.provisionId),
    )
    await commit(store, 'c2', {
      stop: [{ targetId: GRAPH, reason: 'end' }],
      finish: { resultIds: [], reason: 'end' },
    })
    expect(await refusal(store, () => store.provisionOperator(other))).toMatchObject(
      refusedAs('provision-conflict'),
    )
    expect((await store.provisionOperator(provisionRequest('a', 1))).created).toBe(false)
  })

  it('are refused at a stale revision and on a finished graph', async () => {
    const { store } = await openGraph(medium)
    await commit(store, 'c1', { addWork: [work('a')] })
    await commit(store, 'c2', { addWork: [work('b')] })
    const stale = () => store.provisionOperator(provisionRequest('a', 1))
    expect(await refusal(store, stale)).toMatchObject(
      refusedAs('schedule-revision-conflict', 'revision 2, not 1'),
    )
    await commit(store, 'c3', {
      stop: [{ targetId: GRAPH, reason: 'end' }],
      finish: { resultIds: [], reason: 'end' },
    })
    expect(await refusal(store, () => store.provisionOperator(provisionRequest('a', 3)))).toMatchObject(
      refusedAs('schedule-closed'),
    )
  })
})

describe('provisions', () => {
  it('are refused for a work that is not there, is over, or has an operator', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b'), work('c')] })
    const ghost = () => store.provisionOperator(provisionRequest('ghost', 1))
    expect(await refusal(store, ghost)).toMatchObject(refusedAs('work-conflict', 'no work ghost'))
    await complete(store, 'a')
    await commit(store, 'c2', { stop: [{ targetId: 'c', reason: 'no' }] })
    expect(await refusal(store, () => store.provisionOperator(provisionRequest('c', 2)))).toMatchObject(
      refusedAs('work-conflict', 'stopped'),
    )
    const followUp = work('a+', { target: { kind: 'operator', id: graphOperatorId(GRAPH, 'a') } })
    await commit(store, 'c3', { addWork: [followUp] })
    expect(await refusal(store, () => store.provisionOperator(provisionRequest('a+', 3)))).toMatchObject(
      refusedAs('provision-conflict', 'already has'),
    )
  })

  it('are refused when an id of theirs is given out already', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b')] })
    await store.provisionOperator(provisionRequest('a', 1))
    const a = provisionRequest('a', 1)
    const taken: Partial<ProvisionRequest>[] = [
      { operatorId: a.operatorId },
      { operatorId: 'b' },
      { operatorId: GRAPH },
      { targetSessionId: a.targetSessionId },
      { targetSessionId: ROOT },
      { initialTurnId: a.initialTurnId },
      { initialRunId: a.initialRunId },
    ]
    for (const part of taken) {
      const request = { ...provisionRequest('b', 1), ...part }
      expect(await refusal(store, () => store.provisionOperator(request))).toMatchObject(
        refusedAs('provision-conflict'),
      )
    }
    expect((await store.provisionOperator(provisionRequest('b', 1))).created).toBe(true)
  })

  it('are refused on a graph without entries', async () => {
    const { store } = await openGraph()
    const request = { ...provisionRequest('a', 0), graphId: 'ghost' }
    expect(await refusal(store, () => store.provisionOperator(request))).toMatchObject(
      refusedAs('graph-not-found', 'ghost'),
    )
    expect(await store.readGraph('ghost')).toBeUndefined()
  })
})
