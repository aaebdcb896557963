import { describe, expect, it } from 'vitest'
import { type GraphControlStore, permitPlace, reconcile } from '../src/index.ts'
import {
  begin,
  claim,
  commit,
  GRAPH,
  graph,
  MEDIA,
  openGraph,
  refusal,
  refusedAs,
  settlement,
  statuses,
  work,
} from './fixture.ts'

async function running(medium: (typeof MEDIA)[number] = 'memory', ...ids: string[]) {
  const opened = await openGraph(medium)
  const { store } = opened
  await commit(store, 'c1', { addWork: ['a', ...ids].map((id) => work(id)) })
  return { ...opened, claim: await begin(store, 'a') }
}

const hold = (store: GraphControlStore, claimId: string, attempt = 1, kind: 'person' | 'model' = 'person') =>
  store.holdActivation({ graphId: GRAPH, claimId, attempt, kind, reason: 'asks to delete files' })

async function actions(store: GraphControlStore, now?: number, maxNewActivations = 1) {
  const options = { maxNewActivations, ...(now === undefined ? {} : { now }) }
  return reconcile(await graph(store), options)
}

describe.each(MEDIA)('a hold on %s', (medium) => {
  it('gives its permit away, and waits for another one once it is let go', async () => {
    const { store, claim, reopenStore } = await running(medium, 'b')
    const { claimId } = claim
    await hold(store, claimId)
    const b = await begin(store, 'b')
    await store.retryActivation(GRAPH, claimId, 1, 'confirmed')
    await store.acknowledgeChanges(GRAPH, 1)
    const look = async (opened: GraphControlStore) => {
      const state = await graph(opened)
      return {
        places: [permitPlace(state, b.claimId), permitPlace(state, claimId)],
        one: await actions(opened),
        two: await actions(opened, undefined, 2),
      }
    }
    const observe = { kind: 'observe', claimId: b.claimId, attempt: 1 }
    const seen = await look(store)
    expect(seen).toEqual({
      places: [1, 2],
      one: [observe],
      two: [observe, { kind: 'observe', claimId, attempt: 2 }],
    })
    expect(await look(await reopenStore())).toEqual(seen)
  })

  it('stops a claim from going on, is told to the root, and ends with the retry', async () => {
    const { store, claim, reopenStore } = await running(medium)
    const held = await hold(store, claim.claimId)
    expect(held).toMatchObject({
      admissionStatus: 'executing',
      hold: { kind: 'person', reason: 'asks to delete files', heldAt: expect.any(Number) as number },
    })
    expect(await hold(store, claim.claimId, 1, 'model')).toEqual(held)
    const reopened = await reopenStore()
    expect((await graph(reopened)).claims.get(claim.claimId)).toEqual(held)
    expect((await graph(reopened)).changeSeq).toBe(1)
    expect(await actions(reopened)).toEqual([{ kind: 'wake', snapshotVersion: 1 }])
    const retried = await reopened.retryActivation(GRAPH, claim.claimId, 1, 'the person agrees')
    expect(retried).toMatchObject({ attempt: 2, retryReason: 'the person agrees' })
    expect(retried.hold).toBeUndefined()
    expect((await actions(reopened))[0]).toEqual({ kind: 'observe', claimId: claim.claimId, attempt: 2 })
  })
})

describe('a hold', () => {
  it('is confirmed by a retry of its work in an update, if the model may do so', async () => {
    const { store, claim } = await running('memory', 'b')
    const { claimId } = await begin(store, 'b')
    await hold(store, claim.claimId, 1, 'person')
    await hold(store, claimId, 1, 'model')
    const retry = (workId: string) =>
      commit(store, `confirm-${workId}`, { retry: [{ workId, reason: 'go on' }] })
    expect(await refusal(store, () => retry('a'))).toMatchObject(
      refusedAs('work-conflict', 'a person has to confirm it first (asks to delete files)'),
    )
    await retry('b')
    const { claims, works } = await graph(store)
    expect(claims.get(claimId)).toMatchObject({
      attempt: 2,
      retryReason: 'go on',
      admissionStatus: 'executing',
    })
    expect(claims.get(claimId)?.hold).toBeUndefined()
    expect(works.get('b')).toMatchObject({ status: 'running', retries: 0, claimId })
  })

  it('frees its permit, and wakes a root that waits for all', async () => {
    const { store, claim } = await running('memory', 'b')
    await store.registerWait({ graphId: GRAPH, waitId: 'w', until: 'all' })
    expect((await actions(store)).map(({ kind }) => kind)).toEqual(['observe'])
    await hold(store, claim.claimId)
    expect((await actions(store)).map(({ kind }) => kind)).toEqual(['provision', 'wake'])
  })

  it.each([
    ['settled', (store: GraphControlStore) => store.settleActivation(settlement('a'))],
    [
      'cancelled',
      async (store: GraphControlStore) => {
        const [claim] = [...(await graph(store)).claims.values()]
        await store.cancelAgentGraphIntentExecution(GRAPH, claim?.intentId ?? '', 'no')
      },
    ],
    [
      'armed anew',
      async (store: GraphControlStore) => {
        const [claim] = [...(await graph(store)).claims.values()]
        await store.rearmAgentGraphIntentForReplay(GRAPH, claim?.intentId ?? '')
      },
    ],
  ])('is over when its claim is %s', async (_, end) => {
    const { store, claim } = await running()
    await hold(store, claim.claimId)
    await end(store)
    expect((await graph(store)).claims.get(claim.claimId)?.hold).toBeUndefined()
  })

  it('is refused for another attempt, before the first, after the end, and for a stopped work', async () => {
    const { store, claim: a } = await running('memory', 'b', 'c')
    expect(await refusal(store, () => hold(store, 'ghost'))).toMatchObject(refusedAs('intent-not-found'))
    expect(await refusal(store, () => hold(store, a.claimId, 2))).toMatchObject(
      refusedAs('attempt-conflict', 'live one is 1'),
    )
    const b = await claim(store, 'b')
    expect(await refusal(store, () => hold(store, b.claimId))).toMatchObject(
      refusedAs('attempt-conflict', 'claimed'),
    )
    await commit(store, 'c2', { stop: [{ targetId: 'a', reason: 'no' }] })
    expect(await refusal(store, () => hold(store, a.claimId))).toMatchObject(refusedAs('work-conflict'))
    const c = await begin(store, 'c')
    await store.settleActivation(settlement('c'))
    expect(await refusal(store, () => hold(store, c.claimId))).toMatchObject(
      refusedAs('attempt-conflict', 'settled'),
    )
  })
})

describe('a retry of an activation for later', () => {
  it('is started when its time has come, and looked at again then', async () => {
    const { store, claim, reopenStore } = await running()
    const { claimId } = claim
    const later = await store.retryActivation(GRAPH, claimId, 1, 'rate limit', { notBefore: 5_000 })
    expect(later).toMatchObject({ attempt: 2, notBefore: 5_000 })
    const reopened = await reopenStore()
    expect(await actions(reopened, 4_999)).toEqual([{ kind: 'look-again', at: 5_000 }])
    const observe = { kind: 'observe', claimId, attempt: 2 }
    expect(await actions(reopened, 5_000)).toEqual([observe])
    expect(await actions(reopened)).toEqual([observe])
    const third = await reopened.retryActivation(GRAPH, claimId, 2, 'again')
    expect(third.notBefore).toBeUndefined()
  })

  it('looks again at the earliest of several times', async () => {
    const { store, claim } = await running('memory', 'b')
    const b = await begin(store, 'b')
    await store.retryActivation(GRAPH, claim.claimId, 1, 'x', { notBefore: 9_000 })
    await store.retryActivation(GRAPH, b.claimId, 1, 'x', { notBefore: 7_000 })
    expect(await actions(store, 1, 2)).toEqual([{ kind: 'look-again', at: 7_000 }])
    expect(await actions(store, 8_000, 2)).toEqual([
      { kind: 'observe', claimId: b.claimId, attempt: 2 },
      { kind: 'look-again', at: 9_000 },
    ])
  })
})

describe.each(MEDIA)('arming a claim anew on %s', (medium) => {
  it('leads from executing to claimed only, and the next begin makes the next attempt', async () => {
    const { store, claim, reopenStore } = await running(medium)
    const rearm = (on: GraphControlStore) => on.rearmAgentGraphIntentForReplay(GRAPH, claim.intentId)
    const done = await rearm(store)
    expect(JSON.stringify(done)).toBe('{"state":"claimed","previousState":"executing","changed":true}')
    const reopened = await reopenStore()
    expect(await rearm(reopened)).toEqual({ state: 'claimed', previousState: 'claimed', changed: false })
    expect(await statuses(reopened)).toEqual({ a: 'claimed' })
    expect(await actions(reopened)).toEqual([{ kind: 'start', claimId: claim.claimId, attempt: 2 }])
    const late = () => reopened.settleActivation(settlement('a'))
    expect(await refusal(reopened, late)).toMatchObject(
      refusedAs('attempt-conflict', 'given up, and the next has not begun'),
    )
    await reopened.beginAgentGraphIntentExecutionAtScheduleRevision(GRAPH, claim.intentId, 1)
    expect((await graph(reopened)).claims.get(claim.claimId)).toMatchObject({
      admissionStatus: 'executing',
      attempt: 2,
    })
    const { record } = await reopened.settleActivation(settlement('a', { attempt: 2 }))
    expect(record?.activationId).toBe('run-of-a#2')
    expect(await rearm(reopened)).toEqual({ state: 'settled', previousState: 'settled', changed: false })
  })

  it('changes nothing for a cancelled claim, a stopped work, and is refused for no claim', async () => {
    const { store, claim } = await running(medium)
    await commit(store, 'c2', { stop: [{ targetId: 'a', reason: 'no' }] })
    const rearm = () => store.rearmAgentGraphIntentForReplay(GRAPH, claim.intentId)
    expect(await rearm()).toMatchObject({ state: 'executing', changed: false })
    await store.cancelAgentGraphIntentExecution(GRAPH, claim.intentId, 'no')
    expect(await rearm()).toMatchObject({ state: 'cancelled', changed: false })
    expect(await refusal(store, () => store.rearmAgentGraphIntentForReplay(GRAPH, 'ghost'))).toMatchObject(
      refusedAs('intent-not-found'),
    )
  })
})
