import { describe, expect, it } from 'vitest'
import { type GraphControlStore, graphWakeAttemptId, graphWakeId, type Wake } from '../src/index.ts'
import {
  commit,
  complete,
  GRAPH,
  graph,
  MEDIA,
  openGraph,
  refusal,
  refusedAs,
  ROOT,
  work,
} from './fixture.ts'

/** A graph with two works that ended and one that did not. */
async function changed(medium: (typeof MEDIA)[number] = 'memory') {
  const opened = await openGraph(medium)
  await commit(opened.store, 'c1', { addWork: [work('a'), work('b'), work('c')] })
  await complete(opened.store, 'a')
  await complete(opened.store, 'b')
  return opened
}

function wakeRequest(snapshotVersion: number) {
  return { graphId: GRAPH, wakeId: graphWakeId(GRAPH, snapshotVersion), snapshotVersion, rootSessionId: ROOT }
}

const attempt = (index: number, snapshotVersion = 2) => {
  const { wakeId } = wakeRequest(snapshotVersion)
  return { graphId: GRAPH, wakeId, attemptId: graphWakeAttemptId(wakeId, index) }
}

async function finishAttempt(
  store: GraphControlStore,
  index: number,
  status: 'delivered' | 'superseded' | 'retryable_failed' | 'exhausted',
): Promise<Wake> {
  return store.completeSupervisorWakeAttempt({ ...attempt(index), status, failureReason: `end ${index}` })
}

describe.each(MEDIA)('wakes on %s', (medium) => {
  it('are claimed once, attempted, and delivered; then everything up to them is seen', async () => {
    const { store, reopenStore } = await changed(medium)
    const claimed = await store.claimSupervisorWake(wakeRequest(2))
    expect(claimed).toMatchObject({ created: true, wake: { status: 'pending', attempts: 0 } })
    expect(await store.claimSupervisorWake(wakeRequest(2))).toEqual({ ...claimed, created: false })
    const begun = await store.beginSupervisorWakeAttempt(attempt(1))
    const { attemptId } = attempt(1)
    expect(begun).toMatchObject({
      acquired: true,
      wake: { status: 'running', attempts: 1, currentAttemptId: attemptId },
    })
    const reopened = await reopenStore()
    expect((await graph(reopened)).seenChangeSeq).toBe(0)
    const delivered = await reopened.completeSupervisorWakeAttempt({ ...attempt(1), status: 'delivered' })
    expect(delivered.status).toBe('delivered')
    expect(delivered.currentAttemptId).toBeUndefined()
    expect(await graph(reopened)).toMatchObject({ seenChangeSeq: 2, live: { openWakeId: undefined } })
  })

  it('take no attempt after their end', async () => {
    const { store } = await changed(medium)
    await store.claimSupervisorWake(wakeRequest(2))
    await store.beginSupervisorWakeAttempt(attempt(1))
    await finishAttempt(store, 1, 'delivered')
    const seq = (await graph(store)).seq
    expect(await store.beginSupervisorWakeAttempt(attempt(2))).toMatchObject({
      acquired: false,
      wake: { status: 'delivered' },
    })
    expect((await finishAttempt(store, 1, 'delivered')).status).toBe('delivered')
    expect((await graph(store)).seq).toBe(seq)
    expect(await refusal(store, () => finishAttempt(store, 1, 'retryable_failed'))).toMatchObject(
      refusedAs('wake-already-delivered'),
    )
  })
})

describe('a wake', () => {
  it('is the only open one of its graph', async () => {
    const { store } = await changed()
    await store.claimSupervisorWake(wakeRequest(1))
    const second = () => store.claimSupervisorWake(wakeRequest(2))
    expect(await refusal(store, second)).toMatchObject(refusedAs('wake-conflict', wakeRequest(1).wakeId))
    await store.beginSupervisorWakeAttempt(attempt(1, 1))
    expect(await refusal(store, second)).toMatchObject(refusedAs('wake-conflict'))
    await store.completeSupervisorWakeAttempt({ ...attempt(1, 1), status: 'retryable_failed' })
    expect(await refusal(store, second)).toMatchObject(refusedAs('wake-conflict'))
    await store.beginSupervisorWakeAttempt(attempt(2, 1))
    await store.completeSupervisorWakeAttempt({ ...attempt(2, 1), status: 'delivered' })
    expect((await second()).created).toBe(true)
  })

  it('is refused for another root, a change to come, another payload, and a finished graph', async () => {
    const { store } = await changed()
    const claim = (parts: object) => () => store.claimSupervisorWake({ ...wakeRequest(2), ...parts })
    expect(await refusal(store, claim({ rootSessionId: 'other' }))).toMatchObject(
      refusedAs('wake-conflict', 'belongs to root'),
    )
    expect(await refusal(store, claim({ snapshotVersion: 3 }))).toMatchObject(
      refusedAs('wake-conflict', 'has not happened'),
    )
    await claim({})()
    expect(await refusal(store, claim({ snapshotVersion: 1 }))).toMatchObject(
      refusedAs('wake-conflict', 'another snapshotVersion'),
    )
    const { store: finished } = await openGraph()
    await commit(finished, 'c1', { finish: { resultIds: [], reason: 'end' } })
    expect(await refusal(finished, () => finished.claimSupervisorWake(wakeRequest(0)))).toMatchObject(
      refusedAs('schedule-closed'),
    )
  })

  it('is attempted by one at a time, and a stale attempt cannot complete it', async () => {
    const { store } = await changed()
    await store.claimSupervisorWake(wakeRequest(2))
    const racers = await Promise.all(
      [1, 1, 2].map((index) => store.beginSupervisorWakeAttempt(attempt(index))),
    )
    expect(racers.map(({ acquired }) => acquired)).toEqual([true, false, false])
    expect(await refusal(store, () => finishAttempt(store, 2, 'delivered'))).toMatchObject(
      refusedAs('wake-attempt-not-found'),
    )
    await finishAttempt(store, 1, 'retryable_failed')
    expect((await store.beginSupervisorWakeAttempt(attempt(2))).wake).toMatchObject({
      status: 'running',
      attempts: 2,
    })
    expect(await refusal(store, () => finishAttempt(store, 1, 'delivered'))).toMatchObject(
      refusedAs('wake-conflict', 'retryable_failed'),
    )
    expect((await graph(store)).seenChangeSeq).toBe(0)
    expect((await finishAttempt(store, 2, 'delivered')).status).toBe('delivered')
  })

  it('does not take the id of an attempt that was made before', async () => {
    const { store } = await changed()
    await store.claimSupervisorWake(wakeRequest(2))
    await store.beginSupervisorWakeAttempt(attempt(1))
    await finishAttempt(store, 1, 'retryable_failed')
    expect(await refusal(store, () => store.beginSupervisorWakeAttempt(attempt(1)))).toMatchObject(
      refusedAs('wake-conflict', 'made before'),
    )
  })

  it('is exhausted when its attempts are used up, and stays so (scenario W16)', async () => {
    const { store } = await changed()
    await store.claimSupervisorWake(wakeRequest(2))
    for (const index of [1, 2]) {
      await store.beginSupervisorWakeAttempt({ ...attempt(index), maxAttempts: 2 })
      await finishAttempt(store, index, 'retryable_failed')
    }
    expect(await store.beginSupervisorWakeAttempt({ ...attempt(3), maxAttempts: 2 })).toMatchObject({
      acquired: false,
      wake: { status: 'exhausted', attempts: 2, failureReason: 'end 2' },
    })
    expect(await store.beginSupervisorWakeAttempt(attempt(4))).toMatchObject({ acquired: false })
    expect(await graph(store)).toMatchObject({ seenChangeSeq: 0, live: { openWakeId: undefined } })
  })

  it('is superseded when the root has seen all of it before anybody delivers it', async () => {
    const { store } = await changed()
    const { wakeId } = (await store.claimSupervisorWake(wakeRequest(2))).wake
    await store.acknowledgeChanges(GRAPH, 1)
    expect((await graph(store)).wakes.get(wakeId)?.status).toBe('pending')
    await store.acknowledgeChanges(GRAPH, 2)
    expect((await graph(store)).wakes.get(wakeId)?.status).toBe('superseded')
  })

  it('that is being delivered outlives what its turn sees and finishes', async () => {
    const { store } = await changed()
    await store.claimSupervisorWake(wakeRequest(2))
    await store.beginSupervisorWakeAttempt(attempt(1))
    await store.acknowledgeChanges(GRAPH, 2)
    await commit(store, 'c2', {
      stop: [{ targetId: GRAPH, reason: 'end' }],
      finish: { resultIds: [], reason: 'end' },
    })
    expect((await finishAttempt(store, 1, 'delivered')).status).toBe('delivered')
    expect((await graph(store)).seenChangeSeq).toBe(2)
  })

  it('that waits for an attempt is superseded by the finish (scenario W13)', async () => {
    const { store } = await changed()
    const { wakeId } = (await store.claimSupervisorWake(wakeRequest(2))).wake
    await commit(store, 'c2', {
      stop: [{ targetId: GRAPH, reason: 'end' }],
      finish: { resultIds: [], reason: 'end' },
    })
    expect((await graph(store)).wakes.get(wakeId)?.status).toBe('superseded')
    expect(await store.beginSupervisorWakeAttempt(attempt(1))).toMatchObject({ acquired: false })
  })

  it('that is not there cannot be moved', async () => {
    const { store } = await changed()
    expect(await refusal(store, () => store.beginSupervisorWakeAttempt(attempt(1)))).toMatchObject(
      refusedAs('wake-not-found'),
    )
    expect(await refusal(store, () => finishAttempt(store, 1, 'delivered'))).toMatchObject(
      refusedAs('wake-not-found'),
    )
  })
})

describe('a wait', () => {
  const wait = { graphId: GRAPH, waitId: 'w1', until: 'all' } as const

  it('is registered once, and a newer one replaces it', async () => {
    const { store, reopenStore } = await changed()
    const first = await store.registerWait({ ...wait, reason: 'all three' })
    expect(first).toMatchObject({ waitId: 'w1', until: 'all', reason: 'all three' })
    expect(await store.registerWait({ ...wait, reason: 'all three' })).toEqual(first)
    expect(await refusal(store, () => store.registerWait({ ...wait, until: 'any' }))).toMatchObject(
      refusedAs('wake-conflict', 'w1'),
    )
    const second = await store.registerWait({ ...wait, waitId: 'w2', until: 'any' })
    expect((await graph(await reopenStore())).wait).toEqual(second)
  })

  it('is over when the root gets its turn, and one registered in that turn stays', async () => {
    const { store } = await changed()
    await store.registerWait(wait)
    await store.claimSupervisorWake(wakeRequest(2))
    expect((await graph(store)).wait?.waitId).toBe('w1')
    await store.beginSupervisorWakeAttempt(attempt(1))
    expect((await graph(store)).wait).toBeUndefined()
    await store.registerWait({ ...wait, waitId: 'w2' })
    await finishAttempt(store, 1, 'delivered')
    expect((await graph(store)).wait?.waitId).toBe('w2')
  })

  it('is refused on a finished graph and on one that is not there', async () => {
    const { store } = await openGraph()
    expect(await refusal(store, () => store.registerWait({ ...wait, graphId: 'ghost' }))).toMatchObject(
      refusedAs('graph-not-found'),
    )
    await commit(store, 'c1', { finish: { resultIds: [], reason: 'end' } })
    expect(await refusal(store, () => store.registerWait(wait))).toMatchObject(refusedAs('schedule-closed'))
  })
})

describe('acknowledged changes', () => {
  it('only grow, are written only when they do, and never run ahead', async () => {
    const { store } = await changed()
    await store.acknowledgeChanges(GRAPH, 2)
    const { seq } = await graph(store)
    await store.acknowledgeChanges(GRAPH, 1)
    await store.acknowledgeChanges(GRAPH, 2)
    expect(await graph(store)).toMatchObject({ seq, seenChangeSeq: 2 })
    expect(await refusal(store, () => store.acknowledgeChanges(GRAPH, 3))).toMatchObject(
      refusedAs('invalid', 'change 3'),
    )
    expect(await refusal(store, () => store.acknowledgeChanges('ghost', 0))).toMatchObject(
      refusedAs('graph-not-found'),
    )
  })
})
