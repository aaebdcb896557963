/** Clauses of provisions: adoption, conflicts, revisions, closure. */
import assert from 'node:assert/strict'
import { type Clause, clause, refused } from './clause.ts'
import { begun, END, GRAPH, provision, stateOf, update, work } from './requests.ts'

export const provisionClauses: readonly Clause[] = [
  clause('adopt_on_retry_reject_conflicts', async (store) => {
    await begun(store, 'a', 'b')
    const edges = [{ edgeId: 'e', fromOperatorId: 'x', toOperatorId: provision('a').operatorId }]
    const first = await store.provisionOperator({ ...provision('a'), edges })
    const again = await store.provisionOperator({ ...provision('a', 7), initialRunId: 'another-run' })
    assert.deepEqual([first.created, again.created], [true, false])
    assert.deepEqual(again.provision, first.provision)
    assert.deepEqual(first.provision.edges, edges)
    const conflicting = [
      { ...provision('a'), provisionFingerprint: 'another' },
      { ...provision('a'), provisionId: 'another' },
      { ...provision('b'), operatorId: provision('a').operatorId },
      { ...provision('b'), targetSessionId: provision('a').targetSessionId },
    ]
    for (const request of conflicting) {
      await refused('a conflicting provision', store.provisionOperator(request), 'provision-conflict')
    }
    assert.equal((await store.listOperatorProvisions(GRAPH)).length, 1)
  }),

  clause('revision_conditional_and_closure_blocked', async (store) => {
    await begun(store, 'a', 'b')
    await store.provisionOperator(provision('a'))
    await store.commitScheduleUpdate(update('c2', { addWork: [work('c')] }))
    const before = (await stateOf(store)).seq
    const stale = store.provisionOperator(provision('b', 1))
    await refused('a provision at an old revision', stale, 'schedule-revision-conflict')
    assert.equal((await stateOf(store)).seq, before, 'a refused provision wrote something')
    const stop = [{ targetId: GRAPH, reason: 'enough' }]
    await store.commitScheduleUpdate(update('c3', { stop, finish: END }))
    const late = store.provisionOperator(provision('b', 3))
    await refused('a provision in a finished graph', late, 'schedule-closed')
    assert.equal((await store.provisionOperator(provision('a', 3))).created, false)
  }),
]
