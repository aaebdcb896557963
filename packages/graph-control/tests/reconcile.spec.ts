import { describe, expect, it } from 'vitest'
import {
  type GraphControlStore,
  graphOperatorId,
  graphWakeAttemptId,
  graphWakeId,
  readyPlace,
  reconcile,
} from '../src/index.ts'
import { begin, claim, commit, complete, GRAPH, graph, openGraph, provision, ROOT, work } from './fixture.ts'

const operatorA = graphOperatorId(GRAPH, 'a')

async function actions(store: GraphControlStore, maxNewActivations = 8) {
  return reconcile(await graph(store), { maxNewActivations })
}

describe('reconcile', () => {
  it('asks for nothing on an empty graph', async () => {
    const { store } = await openGraph()
    expect(await actions(store)).toEqual([])
  })

  it('leads a work from ready to its end, one step at a time', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b', { inputIds: ['a'] })] })
    expect(await actions(store)).toEqual([{ kind: 'provision', workId: 'a' }])
    await provision(store, 'a')
    expect(await actions(store)).toEqual([{ kind: 'claim', workId: 'a', operatorId: operatorA }])
    const { claimId, intentId } = await claim(store, 'a')
    expect(await actions(store)).toEqual([{ kind: 'start', claimId, attempt: 1 }])
    await store.beginAgentGraphIntentExecutionAtScheduleRevision(GRAPH, intentId, 1)
    expect(await actions(store)).toEqual([{ kind: 'observe', claimId, attempt: 1 }])
    await store.retryActivation(GRAPH, claimId, 1, 'lost')
    expect(await actions(store)).toEqual([{ kind: 'observe', claimId, attempt: 2 }])
  })

  it.each(['agent', 'preset', 'graph'] as const)(
    'provisions an operator for a work of kind %s',
    async (kind) => {
      const { store } = await openGraph()
      await commit(store, 'c1', { addWork: [work('a', { target: { kind, id: 'x' } })] })
      expect(await actions(store)).toEqual([{ kind: 'provision', workId: 'a' }])
    },
  )

  it('admits no more than the permits allow, in order of arrival', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: ['a', 'b', 'c', 'd'].map((id) => work(id)) })
    expect(await actions(store, 0)).toEqual([])
    expect((await actions(store, 2)).map((action) => 'workId' in action && action.workId)).toEqual(['a', 'b'])
    await begin(store, 'a')
    expect((await actions(store, 2)).map(({ kind }) => kind)).toEqual(['observe', 'provision'])
    await claim(store, 'b')
    expect((await actions(store, 2)).map(({ kind }) => kind)).toEqual(['observe', 'start'])
    // A host that admits fewer by now begins no more either.
    expect((await actions(store, 1)).map(({ kind }) => kind)).toEqual(['observe'])
    await store.settleActivation({
      graphId: GRAPH,
      claimId: (await graph(store)).works.get('a')?.claimId ?? '',
      attempt: 1,
      outcome: 'failed',
    })
    expect((await actions(store, 2)).map(({ kind }) => kind)).toEqual(['start', 'provision', 'wake'])
  })

  it('keeps the works of one operator strictly serial', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    await provision(store, 'a')
    const target = { kind: 'operator', id: operatorA } as const
    await commit(store, 'c2', { addWork: [work('a2', { target }), work('a3', { target }), work('b')] })
    expect(await actions(store)).toEqual([
      { kind: 'claim', workId: 'a', operatorId: operatorA },
      { kind: 'provision', workId: 'b' },
    ])
    await claim(store, 'a')
    expect((await actions(store)).map(({ kind }) => kind)).toEqual(['start', 'provision'])
  })

  it('cancels what runs for a stopped or superseded work, also once the graph is finished', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b')] })
    const a = await begin(store, 'a')
    const b = await begin(store, 'b')
    await commit(store, 'c2', {
      stop: [{ targetId: 'a', reason: 'no' }],
      addWork: [work('b2', { replaces: 'b' })],
    })
    const cancels = [
      { kind: 'cancel', claimId: a.claimId, reason: 'no' },
      { kind: 'cancel', claimId: b.claimId, reason: 'replaced by b2' },
    ]
    expect((await actions(store)).slice(0, 2)).toEqual(cancels)
    await commit(store, 'c3', {
      stop: [{ targetId: 'b2', reason: 'no' }],
      finish: { resultIds: [], reason: 'end' },
    })
    expect(await actions(store)).toEqual(cancels)
    await store.cancelAgentGraphIntentExecution(GRAPH, a.intentId, 'no')
    await store.cancelAgentGraphIntentExecution(GRAPH, b.intentId, 'no')
    expect(await actions(store)).toEqual([])
  })

  it('counts what is still to be cancelled as live', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b')] })
    await begin(store, 'a')
    await commit(store, 'c2', { stop: [{ targetId: 'a', reason: 'no' }] })
    expect((await actions(store, 1)).map(({ kind }) => kind)).toEqual(['cancel', 'wake'])
  })

  it('wakes once for what ended and was not seen', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b'), work('c')] })
    await complete(store, 'a')
    const wake = (snapshotVersion: number) => ({ kind: 'wake', snapshotVersion })
    expect(await actions(store, 0)).toEqual([wake(1)])
    const wakeId = graphWakeId(GRAPH, 1)
    await store.claimSupervisorWake({ graphId: GRAPH, wakeId, snapshotVersion: 1, rootSessionId: ROOT })
    const deliver = { kind: 'deliver', wakeId }
    expect(await actions(store, 0)).toEqual([deliver])
    await complete(store, 'b')
    expect(await actions(store, 0)).toEqual([deliver])
    const attemptId = graphWakeAttemptId(wakeId, 1)
    await store.beginSupervisorWakeAttempt({ graphId: GRAPH, wakeId, attemptId })
    expect(await actions(store, 0)).toEqual([deliver])
    await store.completeSupervisorWakeAttempt({ graphId: GRAPH, wakeId, attemptId, status: 'delivered' })
    expect(await actions(store, 0)).toEqual([wake(2)])
    await store.acknowledgeChanges(GRAPH, 2)
    expect(await actions(store, 0)).toEqual([])
  })

  it('does not wake again for what an exhausted wake reported, but for what comes after', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b')] })
    await complete(store, 'a')
    const wakeId = graphWakeId(GRAPH, 1)
    const attemptId = graphWakeAttemptId(wakeId, 1)
    await store.claimSupervisorWake({ graphId: GRAPH, wakeId, snapshotVersion: 1, rootSessionId: ROOT })
    await store.beginSupervisorWakeAttempt({ graphId: GRAPH, wakeId, attemptId })
    await store.completeSupervisorWakeAttempt({ graphId: GRAPH, wakeId, attemptId, status: 'exhausted' })
    expect(await actions(store, 0)).toEqual([])
    await complete(store, 'b')
    expect(await actions(store, 0)).toEqual([{ kind: 'wake', snapshotVersion: 2 }])
  })

  it('holds the wake of a root that waits for all until nothing is pending', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b')] })
    await store.registerWait({ graphId: GRAPH, waitId: 'w', until: 'all' })
    await complete(store, 'a')
    expect(await actions(store, 0)).toEqual([])
    await store.registerWait({ graphId: GRAPH, waitId: 'w2', until: 'any' })
    expect(await actions(store, 0)).toEqual([{ kind: 'wake', snapshotVersion: 1 }])
    await store.registerWait({ graphId: GRAPH, waitId: 'w3', until: 'all' })
    await complete(store, 'b')
    expect(await actions(store, 0)).toEqual([{ kind: 'wake', snapshotVersion: 2 }])
  })

  it('does not wake for a finished graph', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    await complete(store, 'a')
    await commit(store, 'c2', { finish: { resultIds: [], reason: 'end' } })
    expect(await actions(store)).toEqual([])
  })

  it.each([-1, 1.5, NaN, Infinity])('refusal, refusedAs %s permits', async (maxNewActivations) => {
    const { store } = await openGraph()
    const state = await graph(store)
    expect(() => reconcile(state, { maxNewActivations })).toThrow(
      expect.objectContaining({ code: 'invalid' }),
    )
  })

  it('looks only at what is live', async () => {
    const { store } = await openGraph()
    for (let block = 0; block < 20; block++) {
      await commit(store, `c${block}`, {
        addWork: Array.from({ length: 32 }, (_, n) => work(`w${block}.${n}`)),
      })
    }
    await commit(store, 'stop', { stop: [{ targetId: GRAPH, reason: 'no' }], addWork: [work('a')] })
    const state = await graph(store)
    let looks = 0
    const counted = new Proxy(state, {
      get: (target, key) => {
        if (key === 'works') looks += 1
        return Reflect.get(target, key) as unknown
      },
    })
    expect(reconcile(counted, { maxNewActivations: 8 })).toHaveLength(2)
    expect(looks).toBeLessThanOrEqual(2)
  })
})

describe('the place of a ready work', () => {
  it('is counted up to a hundred before it, whatever the graph holds', async () => {
    const { store } = await openGraph()
    const ids = Array.from({ length: 110 }, (_, at) => `w${at}`)
    for (let at = 0; at < ids.length; at += 32)
      await commit(store, `c${at}`, { addWork: ids.slice(at, at + 32).map((id) => work(id)) })
    await complete(store, 'w0')
    const state = await graph(store)
    const places = ['w0', 'w1', 'w101', 'w102', 'w109', 'ghost'].map((id) => readyPlace(state, id))
    expect(places).toEqual([undefined, 1, 101, undefined, undefined, undefined])
  })
})
