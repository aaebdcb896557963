/** Scenarios of wakes: stale attempts, supersession, recovery, one open wake at a time. */
import assert from 'node:assert/strict'
import { type Clause, clause, refused } from './clause.ts'
import { attempt, begun, completed, END, GRAPH, ROOT, stateOf, update, wake } from './requests.ts'
import type { GraphControl } from '../port.ts'

/** A graph with two ended works, and an open wake for the first. */
async function woken(store: GraphControl): Promise<string> {
  await begun(store, 'a', 'b')
  await completed(store, 'a')
  const { wakeId } = (await store.claimSupervisorWake(wake(1))).wake
  await completed(store, 'b')
  return wakeId
}

export const wakeScenarios: readonly Clause[] = [
  clause('one_open_wake_for_a_graph', async (store) => {
    const wakeId = await woken(store)
    await refused('a second open wake', store.claimSupervisorWake(wake(2)), 'wake-conflict')
    await store.beginSupervisorWakeAttempt(attempt(wakeId, 1))
    await store.completeSupervisorWakeAttempt({ ...attempt(wakeId, 1), status: 'delivered' })
    assert.equal((await store.claimSupervisorWake(wake(2))).created, true)
    await refused(
      'a wake of another root',
      store.claimSupervisorWake({ ...wake(2), wakeId: 'x', rootSessionId: 'y' }),
      'wake-conflict',
    )
    await refused('a wake for a change to come', store.claimSupervisorWake(wake(3)), 'wake-conflict')
  }),

  clause('stale_attempt_completes_nothing', async (store) => {
    const wakeId = await woken(store)
    await store.beginSupervisorWakeAttempt(attempt(wakeId, 1))
    await store.completeSupervisorWakeAttempt({ ...attempt(wakeId, 1), status: 'retryable_failed' })
    await store.beginSupervisorWakeAttempt(attempt(wakeId, 2))
    const stale = store.completeSupervisorWakeAttempt({ ...attempt(wakeId, 1), status: 'delivered' })
    await refused('a delivery by a stale attempt', stale, 'wake-conflict')
    const ghost = store.completeSupervisorWakeAttempt({ ...attempt(wakeId, 9), status: 'delivered' })
    await refused('a delivery by no attempt', ghost, 'wake-attempt-not-found')
    assert.equal((await store.readSupervisorWake(GRAPH, wakeId))?.status, 'running')
    assert.equal((await stateOf(store)).seenChangeSeq, 0)
  }),

  clause('supersession_settles_attempts_and_is_final', async (store) => {
    const wakeId = await woken(store)
    await store.beginSupervisorWakeAttempt(attempt(wakeId, 1))
    assert.equal(await store.supersedeSupervisorWakes(GRAPH, 'epoch advanced'), 1)
    assert.deepEqual(
      (await store.listSupervisorWakeAttempts(GRAPH, wakeId)).map(({ status }) => status),
      ['superseded'],
    )
    const late = store.completeSupervisorWakeAttempt({ ...attempt(wakeId, 1), status: 'delivered' })
    await refused('a delivery of a superseded wake', late, 'wake-conflict')
    assert.equal((await store.readSupervisorWake(GRAPH, wakeId))?.status, 'superseded')
    assert.deepEqual(await store.listUnsettledSupervisorWakes(GRAPH), [])
  }),

  clause('exhausted_wake_stays_exhausted', async (store) => {
    const wakeId = await woken(store)
    const early = store.exhaustSupervisorWake(GRAPH, wakeId, 'no')
    await refused('giving up before a failure', early, 'wake-conflict')
    await store.beginSupervisorWakeAttempt({ ...attempt(wakeId, 1), maxAttempts: 1 })
    await store.completeSupervisorWakeAttempt({ ...attempt(wakeId, 1), status: 'retryable_failed' })
    assert.equal((await store.listRetryableSupervisorWakes(GRAPH)).length, 1)
    const over = await store.beginSupervisorWakeAttempt({ ...attempt(wakeId, 2), maxAttempts: 1 })
    assert.deepEqual([over.acquired, over.wake.status], [false, 'exhausted'])
    const again = await store.beginSupervisorWakeAttempt(attempt(wakeId, 3))
    assert.deepEqual([again.acquired, again.wake.status], [false, 'exhausted'])
    assert.equal((await store.exhaustSupervisorWake(GRAPH, wakeId, 'no')).status, 'exhausted')
  }),

  clause('interrupted_delivery_is_tried_again', async (store) => {
    const wakeId = await woken(store)
    await store.beginSupervisorWakeAttempt(attempt(wakeId, 1))
    await store.recoverSupervisorWakes(GRAPH)
    assert.equal((await store.readSupervisorWake(GRAPH, wakeId))?.status, 'retryable_failed')
    const second = await store.beginSupervisorWakeAttempt(attempt(wakeId, 2))
    assert.deepEqual([second.acquired, second.wake.attempts], [true, 2])
    const delivered = { ...attempt(wakeId, 2), status: 'delivered' } as const
    assert.equal((await store.completeSupervisorWakeAttempt(delivered)).status, 'delivered')
    assert.equal(await store.recoverSupervisorWakes(GRAPH), 0)
  }),

  clause('yield_after_a_delivery_is_woken_anew', async (store) => {
    const wakeId = await woken(store)
    const wait = { graphId: GRAPH, waitId: 'w1', until: 'any' } as const
    await store.registerWait(wait)
    await store.beginSupervisorWakeAttempt(attempt(wakeId, 1))
    assert.equal((await stateOf(store)).wait, undefined)
    await store.completeSupervisorWakeAttempt({ ...attempt(wakeId, 1), status: 'delivered' })
    await store.registerWait({ ...wait, waitId: 'w2' })
    assert.deepEqual([(await stateOf(store)).wait?.waitId, (await stateOf(store)).seenChangeSeq], ['w2', 1])
    const next = await store.claimSupervisorWake(wake(2))
    assert.deepEqual([next.created, next.wake.status], [true, 'pending'])
  }),

  clause('seen_or_finished_supersedes_what_nobody_delivers', async (store) => {
    const wakeId = await woken(store)
    await store.acknowledgeChanges(GRAPH, 2)
    assert.equal((await store.readSupervisorWake(GRAPH, wakeId))?.status, 'superseded')
    const timer = { ...wake(2), wakeId: 'timer', rootSessionId: ROOT, dueAt: 9_000_000_000_000 }
    await store.scheduleSupervisorWake(timer)
    await store.commitScheduleUpdate(update('end', { finish: END }))
    assert.equal((await store.readSupervisorWake(GRAPH, 'timer'))?.status, 'superseded')
    await refused('a wake of a finished graph', store.claimSupervisorWake(wake(2)), 'schedule-closed')
  }),
]
