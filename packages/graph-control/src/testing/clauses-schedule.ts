/** Clauses of the schedule: revisions, idempotency, conflicts, finishing. */
import assert from 'node:assert/strict'
import { type Clause, clause, refused } from './clause.ts'
import { begun, END, GRAPH, stateOf, update, work } from './requests.ts'

export const scheduleClauses: readonly Clause[] = [
  clause('revisions_append_monotonically', async (store) => {
    await begun(store, 'a')
    const second = await store.commitScheduleUpdate(update('c2', { addWork: [work('b')] }))
    const third = await store.commitScheduleUpdate(update('c3', { addWork: [work('c')] }))
    assert.deepEqual([second.update.revision, third.update.revision], [2, 3])
    const listed = await store.listScheduleUpdates(GRAPH)
    assert.deepEqual(
      listed.map(({ revision, addWork }) => [revision, addWork[0]?.workId]),
      [
        [1, 'a'],
        [2, 'b'],
        [3, 'c'],
      ],
    )
    assert.equal((await stateOf(store)).revision, 3)
  }),

  clause('commit_idempotent_same_id_same_payload', async (store) => {
    await begun(store)
    const request = update('c2', { addWork: [work('a')] })
    const first = await store.commitScheduleUpdate(request)
    const again = await store.commitScheduleUpdate(structuredClone(request))
    assert.deepEqual([first.created, again.created], [true, false])
    assert.deepEqual(again.update, first.update)
    assert.equal((await store.listScheduleUpdates(GRAPH)).length, 2)
  }),

  clause('rejects_same_update_id_different_payload', async (store) => {
    await begun(store)
    const request = update('c2', { addWork: [work('a')] })
    await store.commitScheduleUpdate(request)
    const others = [
      { ...request, addWork: [work('b')], updateFingerprint: 'another' },
      { ...request, updateFingerprint: 'another' },
      { ...request, addWork: [work('a', { instruction: 'something else' })] },
    ]
    for (const other of others) {
      const what = 'an update id with another payload'
      await refused(what, store.commitScheduleUpdate(other), 'schedule-update-conflict')
    }
    assert.deepEqual([...(await stateOf(store)).works.keys()], ['a'])
  }),

  clause('rejects_different_update_same_source', async (store) => {
    await begun(store)
    const request = update('c2', { addWork: [work('a')] })
    await store.commitScheduleUpdate(request)
    const other = { ...update('c2', { addWork: [work('b')] }), updateId: 'another-update' }
    const what = 'another update of the same tool call'
    await refused(what, store.commitScheduleUpdate(other), 'schedule-update-conflict')
    assert.equal((await stateOf(store)).revision, 2)
  }),

  clause('finish_rejected_with_add_work', async (store) => {
    await begun(store)
    const both = update('c2', { addWork: [work('a')], finish: END })
    await refused('a finish that adds work', store.commitScheduleUpdate(both), 'invalid')
    assert.equal((await stateOf(store)).closed, false)
    const alone = await store.commitScheduleUpdate(update('c3', { finish: END }))
    assert.equal(alone.created, true)
    assert.equal((await stateOf(store)).closed, true)
  }),
]
