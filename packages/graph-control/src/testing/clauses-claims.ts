/** Clauses of claims: exactly one activation, identities, revisions, transitions. */
import assert from 'node:assert/strict'
import { type Clause, clause, refused } from './clause.ts'
import { begun, claim, claimed, GRAPH, provision, running, stateOf, update, work } from './requests.ts'

export const claimClauses: readonly Clause[] = [
  clause('exactly_once_same_activation_identity_on_retry', async (store) => {
    await begun(store, 'a')
    await store.provisionOperator(provision('a'))
    const first = await store.claimIntentAtScheduleRevision(claim('a'), 1)
    assert.equal(first.created, true)
    const other = { ...claim('a'), targetTurnId: 'fresh-turn', targetRunId: 'fresh-run' }
    for (const again of [
      await store.claimIntentAtScheduleRevision(other, 1),
      await store.claimIntent(other),
    ]) {
      assert.equal(again.created, false)
      assert.deepEqual(
        [again.claim.targetTurnId, again.claim.targetRunId],
        [claim('a').targetTurnId, claim('a').targetRunId],
      )
    }
    assert.equal((await store.listAgentGraphIntentClaims(GRAPH)).length, 1)
  }),

  clause('reject_conflicting_intent_or_activation_identity', async (store) => {
    await begun(store, 'a', 'b')
    await claimed(store, 'a')
    await store.provisionOperator(provision('b'))
    const conflicting = [
      { ...claim('a'), intentFingerprint: 'another' },
      { ...claim('a'), readinessContextFingerprint: 'another' },
      { ...claim('a'), claimId: 'another' },
      { ...claim('a'), targetSessionId: 'another' },
      { ...claim('b'), targetRunId: claim('a').targetRunId },
      { ...claim('b'), targetTurnId: claim('a').targetTurnId },
      { ...claim('b'), claimId: claim('a').claimId },
    ]
    for (const request of conflicting) {
      await refused('a conflicting claim', store.claimIntent(request), 'intent-claim-conflict')
    }
    assert.equal((await store.listAgentGraphIntentClaims(GRAPH)).length, 1)
    assert.equal((await store.claimIntent(claim('b'))).created, true)
  }),

  clause('reject_stale_revision_without_writes', async (store) => {
    await begun(store, 'a')
    await store.provisionOperator(provision('a'))
    await store.commitScheduleUpdate(update('c2', { addWork: [work('b')] }))
    const before = (await stateOf(store)).seq
    for (const revision of [1, 3]) {
      const stale = store.claimIntentAtScheduleRevision(claim('a'), revision)
      await refused(`a claim at revision ${revision}`, stale, 'schedule-revision-conflict')
    }
    assert.equal(await store.readAgentGraphIntentClaim(GRAPH, claim('a').intentId), undefined)
    assert.equal((await stateOf(store)).seq, before, 'a refused claim wrote something')
    const { claim: made } = await store.claimIntentAtScheduleRevision(claim('a'), 2)
    const begin = store.beginAgentGraphIntentExecutionAtScheduleRevision(GRAPH, made.intentId, 1)
    await refused('a begin at revision 1', begin, 'schedule-revision-conflict')
  }),

  clause('transition_claimed_executing_cancelled', async (store) => {
    await begun(store, 'a', 'b')
    const { intentId } = await claimed(store, 'a')
    const begin = (id: string) => store.beginAgentGraphIntentExecutionAtScheduleRevision(GRAPH, id, 1)
    const cancel = (id: string) => store.cancelAgentGraphIntentExecution(GRAPH, id, 'no more')
    const steps = [await begin(intentId), await begin(intentId), await cancel(intentId)]
    steps.push(await cancel(intentId), await begin(intentId))
    assert.deepEqual(
      steps.map(({ state, previousState, changed }) => [state, previousState, changed]),
      [
        ['executing', 'claimed', true],
        ['executing', 'executing', false],
        ['cancelled', 'executing', true],
        ['cancelled', 'cancelled', false],
        ['cancelled', 'cancelled', false],
      ],
    )
    const row = await store.readAgentGraphIntentClaim(GRAPH, intentId)
    assert.deepEqual([row?.admissionStatus, row?.cancellationReason], ['cancelled', 'no more'])
    const second = await claimed(store, 'b')
    assert.deepEqual((await cancel(second.intentId)).previousState, 'claimed')
    await refused('a begin of nothing', begin('ghost'), 'intent-not-found')
    await refused('a cancel of nothing', cancel('ghost'), 'intent-not-found')
  }),

  clause('rearm_replay_gate_executing_to_claimed_only', async (store) => {
    await begun(store, 'a', 'b')
    const { intentId } = await running(store, 'a')
    const rearm = (id: string) => store.rearmAgentGraphIntentForReplay(GRAPH, id)
    const steps = [await rearm(intentId), await rearm(intentId)]
    const unbegun = await claimed(store, 'b')
    steps.push(await rearm(unbegun.intentId))
    await store.cancelAgentGraphIntentExecution(GRAPH, unbegun.intentId, 'no')
    steps.push(await rearm(unbegun.intentId))
    assert.deepEqual(
      steps.map(({ state, previousState, changed }) => [state, previousState, changed]),
      [
        ['claimed', 'executing', true],
        ['claimed', 'claimed', false],
        ['claimed', 'claimed', false],
        ['cancelled', 'cancelled', false],
      ],
    )
    const again = await store.beginAgentGraphIntentExecutionAtScheduleRevision(GRAPH, intentId, 1)
    assert.equal(again.state, 'executing')
    await refused('a rearming of nothing', rearm('ghost'), 'intent-not-found')
  }),
]
