/** Clauses of wakes: one claim, one attempt at a time, ends that stay, schedules. */
import assert from 'node:assert/strict'
import { type Clause, clause, refused } from './clause.ts'
import { attempt, begun, completed, GRAPH, ROOT, stateOf, wake } from './requests.ts'

/** Far in the past, so that it is due on any clock. */
const scheduled = {
  graphId: GRAPH,
  wakeId: 'timer',
  snapshotVersion: 0,
  rootSessionId: ROOT,
  dueAt: 1_000,
  recurMs: 4_000_000_000_000,
}

export const wakeClauses: readonly Clause[] = [
  clause('claim_once_attempt_lifecycle_then_deliver', async (store) => {
    await begun(store, 'a')
    await completed(store, 'a')
    const first = await store.claimSupervisorWake(wake(1))
    const again = await store.claimSupervisorWake(wake(1))
    assert.deepEqual([first.created, again.created, first.wake.status], [true, false, 'pending'])
    assert.deepEqual(again.wake, first.wake)
    const { wakeId } = first.wake
    const begin = await store.beginSupervisorWakeAttempt({ ...attempt(wakeId, 1), turnId: 'turn-1' })
    assert.deepEqual([begin.acquired, begin.wake.status, begin.attempt?.status], [true, 'running', 'running'])
    const beside = await store.beginSupervisorWakeAttempt({ ...attempt(wakeId, 2), turnId: 'turn-2' })
    assert.equal(beside.acquired, false)
    const lost = { ...attempt(wakeId, 1), status: 'retryable_failed', failureReason: 'gone' } as const
    assert.equal((await store.completeSupervisorWakeAttempt(lost)).status, 'retryable_failed')
    const retry = await store.beginSupervisorWakeAttempt({ ...attempt(wakeId, 2), turnId: 'turn-2' })
    assert.deepEqual([retry.acquired, retry.wake.attempts], [true, 2])
    const park = { ...attempt(wakeId, 2), status: 'waiting_permission' } as const
    assert.equal((await store.completeSupervisorWakeAttempt(park)).status, 'waiting_permission')
    const answered = await store.beginSupervisorWakeAttempt(attempt(wakeId, 2))
    assert.deepEqual([answered.acquired, answered.wake.status, answered.wake.attempts], [true, 'running', 2])
    assert.equal((await store.completeSupervisorWakeAttempt(park)).status, 'waiting_permission')
    const end = { ...attempt(wakeId, 2), status: 'delivered' } as const
    assert.equal((await store.completeSupervisorWakeAttempt(end)).status, 'delivered')
    const rows = await store.listSupervisorWakeAttempts(GRAPH, wakeId)
    assert.deepEqual(
      rows.map(({ status, turnId }) => [status, turnId]),
      [
        ['retryable_failed', 'turn-1'],
        ['delivered', 'turn-2'],
      ],
    )
    assert.equal((await store.readSupervisorWake(GRAPH, wakeId))?.status, 'delivered')
  }),

  clause('refuse_attempt_after_terminal', async (store) => {
    await begun(store, 'a')
    await completed(store, 'a')
    const { wakeId } = (await store.claimSupervisorWake(wake(1))).wake
    await store.beginSupervisorWakeAttempt(attempt(wakeId, 1))
    await store.completeSupervisorWakeAttempt({ ...attempt(wakeId, 1), status: 'delivered' })
    const late = await store.beginSupervisorWakeAttempt(attempt(wakeId, 2))
    assert.deepEqual([late.acquired, late.wake.status], [false, 'delivered'])
    const worse = { ...attempt(wakeId, 1), status: 'retryable_failed' } as const
    await refused(
      'a failure after the delivery',
      store.completeSupervisorWakeAttempt(worse),
      'wake-already-delivered',
      'wake-conflict',
    )
    assert.equal((await store.readSupervisorWake(GRAPH, wakeId))?.status, 'delivered')
    const ghost = { ...attempt('ghost', 1), status: 'delivered' } as const
    await refused('an attempt of no wake', store.completeSupervisorWakeAttempt(ghost), 'wake-not-found')
  }),

  clause('schedule_round_trip', async (store) => {
    await begun(store, 'a')
    const { wake: made, created } = await store.scheduleSupervisorWake(scheduled)
    assert.deepEqual(
      [created, made.status, made.dueAt, made.recurMs],
      [true, 'pending', 1_000, scheduled.recurMs],
    )
    assert.deepEqual(await store.readSupervisorWake(GRAPH, 'timer'), made)
    assert.deepEqual(
      (await store.listUnsettledSupervisorWakes(GRAPH)).map(({ wakeId }) => wakeId),
      ['timer'],
    )
    assert.equal((await store.beginSupervisorWakeAttempt(attempt('timer', 1))).acquired, true)
    await store.completeSupervisorWakeAttempt({ ...attempt('timer', 1), status: 'delivered' })
    const next = (await store.listUnsettledSupervisorWakes(GRAPH))[0]
    assert.equal(next?.dueAt, 1_000 + scheduled.recurMs, 'a recurring wake did not come again')
    const early = await store.beginSupervisorWakeAttempt(attempt(next?.wakeId ?? '', 1))
    assert.equal(early.acquired, false, 'a wake was delivered before its time')
    assert.equal((await stateOf(store)).closed, false)
  }),

  clause('schedule_replay_idempotent', async (store) => {
    await begun(store, 'a')
    const first = await store.scheduleSupervisorWake(scheduled)
    const again = await store.scheduleSupervisorWake({ ...scheduled })
    assert.deepEqual([first.created, again.created], [true, false])
    assert.deepEqual(again.wake, first.wake)
    for (const other of [{ dueAt: 2_000 }, { recurMs: 5 }, { rootSessionId: 'another' }]) {
      const request = store.scheduleSupervisorWake({ ...scheduled, ...other })
      await refused('a schedule with another payload', request, 'wake-conflict')
    }
    assert.equal((await store.listUnsettledSupervisorWakes(GRAPH)).length, 1)
  }),
]

/** The two clauses about scheduled wakes, which stores without schedules leave out. */
export const scheduledWakeNames: ReadonlySet<string> = new Set([
  'schedule_round_trip',
  'schedule_replay_idempotent',
])
