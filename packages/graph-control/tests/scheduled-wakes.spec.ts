import type { DurableLog } from 'dsh-durable-log'
import { describe, expect, it, onTestFinished } from 'vitest'
import { GraphControlStore, graphWakeAttemptId, graphWakeId, reconcile } from '../src/index.ts'
import {
  commit,
  complete,
  GRAPH,
  graph,
  MEDIA,
  type Medium,
  openLog,
  refusal,
  refusedAs,
  ROOT,
  work,
} from './fixture.ts'

/** A store whose time the test tells. */
async function timed(log: DurableLog, clock: { now: number }): Promise<GraphControlStore> {
  const store = await GraphControlStore.open(log, { now: () => clock.now })
  onTestFinished(() => store.close())
  return store
}

/** A graph with two works, one of them ended, at time 1,000. */
async function opened(medium: Medium = 'memory') {
  const { log, reopen } = await openLog(medium)
  const clock = { now: 1_000 }
  const store = await timed(log, clock)
  await store.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
  await commit(store, 'c1', { addWork: [work('a'), work('b')] })
  await complete(store, 'a')
  return { store, clock, reopenStore: async () => timed(await reopen(), clock) }
}

const scheduled = (
  parts: { dueAt?: number; recurMs?: number; wakeId?: string; snapshotVersion?: number } = {},
) => ({
  graphId: GRAPH,
  wakeId: 'timer',
  snapshotVersion: 0,
  rootSessionId: ROOT,
  dueAt: 2_000,
  ...parts,
})

const attemptOf = (wakeId: string, index = 1) => ({
  graphId: GRAPH,
  wakeId,
  attemptId: graphWakeAttemptId(wakeId, index),
})

async function deliver(store: GraphControlStore, wakeId: string, index = 1) {
  const { acquired } = await store.beginSupervisorWakeAttempt(attemptOf(wakeId, index))
  expect(acquired).toBe(true)
  return store.completeSupervisorWakeAttempt({ ...attemptOf(wakeId, index), status: 'delivered' })
}

async function actions(store: GraphControlStore, now: number) {
  return reconcile(await graph(store), { maxNewActivations: 0, now })
}

describe.each(MEDIA)('a scheduled wake on %s', (medium) => {
  it('is there again after a restart, is acquired when it is due, and reports all there is by then', async () => {
    const { store, clock, reopenStore } = await opened(medium)
    await store.acknowledgeChanges(GRAPH, 1)
    const first = await store.scheduleSupervisorWake(scheduled())
    expect(first).toMatchObject({ created: true, wake: { status: 'pending', dueAt: 2_000, attempts: 0 } })
    expect(await store.scheduleSupervisorWake(scheduled())).toEqual({ ...first, created: false })
    const reopened = await reopenStore()
    expect(await reopened.readSupervisorWake(GRAPH, 'timer')).toEqual(first.wake)
    expect(await reopened.beginSupervisorWakeAttempt(attemptOf('timer'))).toEqual({
      wake: first.wake,
      acquired: false,
    })
    expect(await actions(reopened, 1_999)).toEqual([{ kind: 'look-again', at: 2_000 }])
    await complete(reopened, 'b')
    clock.now = 2_000
    await reopened.acknowledgeChanges(GRAPH, 2)
    expect(await actions(reopened, 2_000)).toEqual([{ kind: 'deliver', wakeId: 'timer' }])
    const begun = await reopened.beginSupervisorWakeAttempt({ ...attemptOf('timer'), turnId: 't7' })
    expect(begun).toMatchObject({
      acquired: true,
      attempt: { status: 'running', turnId: 't7', startedAt: 2_000 },
      wake: { status: 'running', snapshotVersion: 2 },
    })
    expect(await reopened.scheduleSupervisorWake(scheduled())).toEqual({ wake: begun.wake, created: false })
    const last = await reopened.completeSupervisorWakeAttempt({ ...attemptOf('timer'), status: 'delivered' })
    expect(last).toMatchObject({ status: 'delivered', dueAt: 2_000 })
    expect((await graph(reopened)).live).toMatchObject({ openWakeId: undefined, scheduledWakes: { size: 0 } })
  })

  it('comes again at its beat, with the times that passed meanwhile left out (scenario W17)', async () => {
    const { store, clock, reopenStore } = await opened(medium)
    await store.scheduleSupervisorWake(scheduled({ recurMs: 100 }))
    clock.now = 2_000
    await deliver(store, 'timer')
    const second = await store.readSupervisorWake(GRAPH, 'timer#occurrence-2')
    expect(second).toMatchObject({ status: 'pending', dueAt: 2_100, recurMs: 100, attempts: 0 })
    clock.now = 2_370
    const reopened = await reopenStore()
    await deliver(reopened, 'timer#occurrence-2')
    expect(await reopened.readSupervisorWake(GRAPH, 'timer#occurrence-3')).toMatchObject({ dueAt: 2_400 })
    expect((await graph(reopened)).live.scheduledWakes.size).toBe(1)
    clock.now = 2_400
    await deliver(reopened, 'timer#occurrence-3')
    expect(await reopened.readSupervisorWake(GRAPH, 'timer#occurrence-4')).toMatchObject({ dueAt: 2_500 })
  })
})

describe('a scheduled wake', () => {
  it('stands beside the open wake, waits for it, and is not what a seen change supersedes', async () => {
    const { store, clock } = await opened()
    await store.scheduleSupervisorWake(scheduled())
    const wakeId = graphWakeId(GRAPH, 1)
    await store.claimSupervisorWake({ graphId: GRAPH, wakeId, snapshotVersion: 1, rootSessionId: ROOT })
    clock.now = 2_000
    expect(await actions(store, 2_000)).toEqual([{ kind: 'deliver', wakeId }])
    expect((await store.beginSupervisorWakeAttempt(attemptOf('timer'))).acquired).toBe(false)
    await store.acknowledgeChanges(GRAPH, 1)
    expect((await graph(store)).wakes.get(wakeId)?.status).toBe('superseded')
    expect((await graph(store)).wakes.get('timer')?.status).toBe('pending')
    expect((await store.beginSupervisorWakeAttempt(attemptOf('timer'))).acquired).toBe(true)
    const second = { graphId: GRAPH, wakeId: 'k', snapshotVersion: 1, rootSessionId: ROOT }
    expect(await refusal(store, () => store.claimSupervisorWake(second))).toMatchObject(
      refusedAs('wake-conflict', 'timer is still open'),
    )
  })

  it('goes on recurring whatever became of one time', async () => {
    const { store, clock } = await opened()
    await store.scheduleSupervisorWake(scheduled({ recurMs: 100 }))
    clock.now = 2_000
    await store.beginSupervisorWakeAttempt(attemptOf('timer'))
    await store.completeSupervisorWakeAttempt({ ...attemptOf('timer'), status: 'retryable_failed' })
    expect((await graph(store)).live.openWakeId).toBe('timer')
    await store.exhaustSupervisorWake(GRAPH, 'timer', 'three times')
    expect(await store.readSupervisorWake(GRAPH, 'timer#occurrence-2')).toMatchObject({ dueAt: 2_100 })
  })

  it('ends with the graph, recurring or not, and the one under way does not come again', async () => {
    const { store, clock } = await opened()
    await store.scheduleSupervisorWake(scheduled({ recurMs: 100 }))
    await store.scheduleSupervisorWake(scheduled({ wakeId: 'later', dueAt: 9_000 }))
    clock.now = 2_000
    await store.beginSupervisorWakeAttempt(attemptOf('timer'))
    const finish = { resultIds: [], reason: 'end' }
    await commit(store, 'c2', { stop: [{ targetId: GRAPH, reason: 'end' }], finish })
    expect((await graph(store)).wakes.get('later')).toMatchObject({ status: 'superseded' })
    await store.completeSupervisorWakeAttempt({ ...attemptOf('timer'), status: 'delivered' })
    const { live, wakes } = await graph(store)
    expect([live.scheduledWakes.size, wakes.size, live.openWakeId]).toEqual([0, 2, undefined])
    expect(
      await refusal(store, () => store.scheduleSupervisorWake(scheduled({ wakeId: 'x' }))),
    ).toMatchObject(refusedAs('schedule-closed'))
  })

  it('is refused with another payload, for another root, for a change to come, and as the 65th', async () => {
    const { store } = await opened()
    await store.scheduleSupervisorWake(scheduled({ snapshotVersion: 1 }))
    const schedule = (parts: object) => () => store.scheduleSupervisorWake({ ...scheduled(), ...parts })
    expect(await refusal(store, schedule({ snapshotVersion: 1, dueAt: 3_000 }))).toMatchObject(
      refusedAs('wake-conflict', 'another dueAt'),
    )
    expect(await refusal(store, schedule({ snapshotVersion: 1, recurMs: 5 }))).toMatchObject(
      refusedAs('wake-conflict', 'another recurMs'),
    )
    expect(await refusal(store, schedule({ wakeId: 'x', rootSessionId: 'other' }))).toMatchObject(
      refusedAs('wake-conflict', 'belongs to root'),
    )
    expect(await refusal(store, schedule({ wakeId: 'x', snapshotVersion: 2 }))).toMatchObject(
      refusedAs('wake-conflict', 'has not happened'),
    )
    for (let n = 1; n < 64; n++) await schedule({ wakeId: `t${n}` })()
    expect(await refusal(store, schedule({ wakeId: 't64' }))).toMatchObject(
      refusedAs('wake-conflict', '64 scheduled wakes'),
    )
  })

  it('is refused under an id that a later time of another may come to have, or that leaves no room', async () => {
    const { store } = await opened()
    const schedule = (wakeId: string) => () => store.scheduleSupervisorWake(scheduled({ wakeId }))
    expect(await refusal(store, schedule('timer#occurrence-2'))).toMatchObject(
      refusedAs('invalid', 'later time of a recurring wake'),
    )
    expect(await refusal(store, schedule('x'.repeat(233)))).toMatchObject(refusedAs('invalid', 'at most 232'))
    expect((await schedule('x'.repeat(232))()).created).toBe(true)
  })
})

/** An open wake whose first attempt is under way. */
async function underWay(medium: Medium = 'memory') {
  const all = await opened(medium)
  const wakeId = graphWakeId(GRAPH, 1)
  const request = { graphId: GRAPH, wakeId, snapshotVersion: 1, rootSessionId: ROOT }
  await all.store.claimSupervisorWake(request)
  await all.store.beginSupervisorWakeAttempt(attemptOf(wakeId))
  return { ...all, wakeId, request }
}

describe.each(MEDIA)('a wake under way on %s', (medium) => {
  it('is parked for a person and goes on with the same attempt, also after a restart', async () => {
    const { store, wakeId, reopenStore } = await underWay(medium)
    const park = { ...attemptOf(wakeId), status: 'waiting_permission', failureReason: 'asks' } as const
    const parked = await store.completeSupervisorWakeAttempt(park)
    expect(parked).toMatchObject({
      status: 'waiting_permission',
      currentAttemptId: attemptOf(wakeId).attemptId,
    })
    const reopened = await reopenStore()
    expect(await reopened.completeSupervisorWakeAttempt(park)).toEqual(parked)
    expect(await reopened.recoverSupervisorWakes(GRAPH)).toBe(0)
    expect(await reopened.beginSupervisorWakeAttempt(attemptOf(wakeId, 2))).toMatchObject({ acquired: false })
    expect(await reopened.listSupervisorWakeAttempts(GRAPH, wakeId)).toMatchObject([
      { status: 'waiting_permission', startedAt: 1_000 },
    ])
    const delivered = { ...attemptOf(wakeId), status: 'delivered' } as const
    expect((await reopened.completeSupervisorWakeAttempt(delivered)).status).toBe('delivered')
    expect((await graph(reopened)).seenChangeSeq).toBe(1)
    expect(await reopened.listSupervisorWakeAttempts(GRAPH, wakeId)).toMatchObject([
      { status: 'delivered', completedAt: 1_000 },
    ])
  })

  it('is tried again after the process that delivered it is gone', async () => {
    const { wakeId, reopenStore } = await underWay(medium)
    const reopened = await reopenStore()
    expect(await reopened.recoverSupervisorWakes(GRAPH)).toBe(1)
    expect(await reopened.recoverSupervisorWakes(GRAPH)).toBe(0)
    expect(await reopened.listRetryableSupervisorWakes(GRAPH)).toMatchObject([
      { wakeId, status: 'retryable_failed', failureReason: 'host_restart' },
    ])
    await deliver(reopened, wakeId, 2)
    expect(await reopened.listRetryableSupervisorWakes(GRAPH)).toEqual([])
    expect(await reopened.listUnsettledSupervisorWakes(GRAPH)).toEqual([])
  })
})

describe('a wake', () => {
  it('tells when its next attempt is due, until that begins', async () => {
    const { store, wakeId } = await underWay()
    const failed = { ...attemptOf(wakeId), status: 'retryable_failed', retryAt: 31_000 } as const
    expect(await store.completeSupervisorWakeAttempt(failed)).toMatchObject({ retryAt: 31_000 })
    const { wake } = await store.beginSupervisorWakeAttempt(attemptOf(wakeId, 2))
    expect(wake).not.toHaveProperty('retryAt')
  })

  it('is given up only after a failed delivery, once', async () => {
    const { store, wakeId } = await underWay()
    const exhaust = () => store.exhaustSupervisorWake(GRAPH, wakeId, 'enough')
    expect(await refusal(store, exhaust)).toMatchObject(refusedAs('wake-conflict', 'is running'))
    await store.completeSupervisorWakeAttempt({ ...attemptOf(wakeId), status: 'retryable_failed' })
    expect(await exhaust()).toMatchObject({ status: 'exhausted', failureReason: 'enough' })
    expect((await exhaust()).status).toBe('exhausted')
    expect(await refusal(store, () => store.exhaustSupervisorWake(GRAPH, 'ghost', 'x'))).toMatchObject(
      refusedAs('wake-not-found'),
    )
    expect((await graph(store)).live.openWakeId).toBeUndefined()
  })

  it('is superseded with its attempt, with all that are scheduled, and stays so', async () => {
    const { store, wakeId, reopenStore } = await underWay('sqlite')
    await store.scheduleSupervisorWake(scheduled({ recurMs: 10 }))
    expect((await store.listUnsettledSupervisorWakes(GRAPH)).map((wake) => wake.wakeId)).toEqual([
      wakeId,
      'timer',
    ])
    expect(await store.supersedeSupervisorWakes(GRAPH, 'epoch advanced')).toBe(2)
    expect(await store.supersedeSupervisorWakes(GRAPH, 'epoch advanced')).toBe(0)
    const reopened = await reopenStore()
    expect(await reopened.listUnsettledSupervisorWakes(GRAPH)).toEqual([])
    expect(await reopened.listSupervisorWakeAttempts(GRAPH, wakeId)).toMatchObject([
      { status: 'superseded', failureReason: 'epoch advanced' },
    ])
    const late = () => reopened.completeSupervisorWakeAttempt({ ...attemptOf(wakeId), status: 'delivered' })
    expect(await refusal(reopened, late)).toMatchObject(refusedAs('wake-conflict', 'superseded'))
    expect(await reopened.beginSupervisorWakeAttempt(attemptOf(wakeId, 2))).toMatchObject({
      acquired: false,
      wake: { status: 'superseded' },
    })
    expect((await graph(reopened)).seenChangeSeq).toBe(0)
  })

  it('of an open recurring one does not come again once all are superseded', async () => {
    const { store, clock } = await opened()
    await store.scheduleSupervisorWake(scheduled({ recurMs: 10 }))
    clock.now = 2_000
    await store.beginSupervisorWakeAttempt(attemptOf('timer'))
    await store.supersedeSupervisorWakes(GRAPH, 'no more')
    expect((await graph(store)).live).toMatchObject({ openWakeId: undefined, scheduledWakes: { size: 0 } })
    clock.now = 9_000
    expect(await actions(store, 9_000)).toEqual([])
    await complete(store, 'b')
    expect(await actions(store, 9_000)).toEqual([{ kind: 'wake', snapshotVersion: 2 }])
  })
})
