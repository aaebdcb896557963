/** Scenarios of operators and activations: one winner, fenced attempts, records, worktrees. */
import assert from 'node:assert/strict'
import { type Clause, clause, refused } from './clause.ts'
import {
  begun,
  claim,
  claimed,
  completed,
  GRAPH,
  provision,
  running,
  settlement,
  stateOf,
  statusOf,
  update,
  work,
} from './requests.ts'

export const activationScenarios: readonly Clause[] = [
  clause('concurrent_claimers_have_one_winner', async (store) => {
    await begun(store, 'a')
    await store.provisionOperator(provision('a'))
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, (_, n) => store.claimIntent({ ...claim('a'), targetRunId: `run-${n}` })),
    )
    assert.equal(outcomes.filter(({ created }) => created).length, 1)
    assert.equal(new Set(outcomes.map(({ claim: made }) => made.targetRunId)).size, 1)
    assert.equal((await store.listAgentGraphIntentClaims(GRAPH)).length, 1)
  }),

  clause('operator_does_one_thing_at_a_time', async (store) => {
    await begun(store, 'a')
    await claimed(store, 'a')
    const { operatorId, targetSessionId } = provision('a')
    const follow = work('follow', { target: { kind: 'operator', id: operatorId } })
    await store.commitScheduleUpdate(update('c2', { addWork: [follow] }))
    const request = { ...claim('follow'), targetOperatorId: operatorId, targetSessionId }
    await refused('a claim of a busy operator', store.claimIntent(request), 'intent-claim-conflict')
    await store.cancelAgentGraphIntentExecution(GRAPH, claim('a').intentId, 'make room')
    assert.equal((await store.claimIntent(request)).created, true)
  }),

  clause('settle_commits_the_record_with_the_end_once', async (store) => {
    await begun(store, 'a', work('b', { inputIds: ['a'] }))
    await running(store, 'a')
    const usage = { inputTokens: 5, outputTokens: 2 }
    const first = await store.settleActivation(settlement('a', { usage }))
    const again = await store.settleActivation(settlement('a', { outcome: 'failed', conclusion: 'other' }))
    assert.deepEqual([first.created, again.created], [true, false])
    assert.deepEqual(again.record, first.record)
    assert.equal(first.work.status, 'completed')
    const { works, records, usage: spent } = await stateOf(store)
    assert.deepEqual(works.get('a')?.recordIds, [...records.keys()])
    assert.deepEqual(spent, usage)
    const { recordId = '', bytes, digest } = first.record ?? {}
    assert.equal((await store.readResult(GRAPH, recordId)).text, 'result of a')
    assert.ok(bytes === 11 && digest?.startsWith('sha256:'))
    assert.equal(await statusOf(store, 'b'), 'ready')
    await refused('a text of no record', store.readResult(GRAPH, 'ghost'), 'record-not-found')
  }),

  clause('lost_attempt_is_fenced', async (store) => {
    await begun(store, 'a')
    const { claimId } = await running(store, 'a')
    const second = await store.retryActivation(GRAPH, claimId, 1, 'process died')
    assert.equal(second.attempt, 2)
    assert.equal((await store.retryActivation(GRAPH, claimId, 1, 'process died')).attempt, 2)
    await refused('a late result', store.settleActivation(settlement('a')), 'attempt-conflict')
    const { record } = await store.settleActivation(settlement('a', { attempt: 2 }))
    assert.equal(record?.activationId, `${claim('a').targetRunId}#2`)
    await refused('a retry after the end', store.retryActivation(GRAPH, claimId, 2, 'x'), 'attempt-conflict')
  }),

  clause('held_activation_goes_on_when_somebody_says_so', async (store) => {
    await begun(store, 'a')
    const { claimId } = await running(store, 'a')
    const hold = { graphId: GRAPH, claimId, attempt: 1, kind: 'person', reason: 'asks' } as const
    assert.equal((await store.holdActivation(hold)).hold?.kind, 'person')
    assert.equal((await stateOf(store)).changeSeq, 1, 'a hold is no news to the root')
    const on = await store.retryActivation(GRAPH, claimId, 1, 'agreed', { notBefore: 5 })
    assert.deepEqual([on.hold, on.attempt, on.notBefore], [undefined, 2, 5])
    await refused('a hold of a lost attempt', store.holdActivation(hold), 'attempt-conflict')
  }),

  clause('cancel_wins_before_the_admission', async (store) => {
    await begun(store, 'a', work('b', { inputIds: ['a'] }))
    const { intentId } = await claimed(store, 'a')
    await store.cancelAgentGraphIntentExecution(GRAPH, intentId, 'no model')
    const late = await store.beginAgentGraphIntentExecutionAtScheduleRevision(GRAPH, intentId, 1)
    assert.deepEqual([late.state, late.changed], ['cancelled', false])
    assert.deepEqual([await statusOf(store, 'a'), await statusOf(store, 'b')], ['cancelled', 'skipped'])
    await refused(
      'a result of it',
      store.settleActivation(settlement('a', { attempt: 0 })),
      'attempt-conflict',
    )
  }),

  clause('finished_work_is_not_run_again_and_running_work_is_still_known', async (store) => {
    await begun(store, 'a', 'b')
    const recordId = await completed(store, 'a')
    await running(store, 'b')
    const { works, claims, records, live } = await stateOf(store)
    assert.deepEqual([works.get('a')?.status, works.get('b')?.status], ['completed', 'running'])
    assert.deepEqual([...live.claims.keys()], [claim('b').claimId])
    assert.equal(claims.get(claim('a').claimId)?.admissionStatus, 'settled')
    assert.ok(records.has(recordId))
    assert.equal((await store.claimIntent(claim('a'))).created, false)
    await refused('a second claim of it', store.claimIntent({ ...claim('a', 1) }), 'work-conflict')
  }),

  clause('binding_of_the_same_lease_keeps_its_time', async (store) => {
    await begun(store, 'a')
    const { provisionId } = provision('a')
    const tree = { graphId: GRAPH, provisionId, leaseKey: 'lease', path: '/trees/a', branch: 'graph/a' }
    await refused('a binding of nothing', store.bindOperatorWorktree(tree), 'provision-not-found')
    await store.provisionOperator(provision('a'))
    const first = await store.bindOperatorWorktree(tree)
    const again = await store.bindOperatorWorktree(tree)
    assert.deepEqual([first.created, again.created], [true, false])
    assert.deepEqual(again.binding, first.binding)
    const other = store.bindOperatorWorktree({ ...tree, leaseKey: 'another' })
    await refused('a binding of another lease', other, 'binding-conflict')
    assert.deepEqual(await store.readOperatorBindingByWork(GRAPH, 'a'), first.binding)
    assert.deepEqual(await store.readOperatorBinding(GRAPH, provisionId), first.binding)
    assert.equal((await store.listOperatorBindings(GRAPH)).length, 1)
  }),
]
