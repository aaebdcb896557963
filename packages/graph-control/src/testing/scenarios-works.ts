/** Scenarios of works: ids, conditions, items, replacements, retries, stops, drafts. */
import assert from 'node:assert/strict'
import { type Clause, clause, refused } from './clause.ts'
import {
  begun,
  claim,
  claimed,
  completed,
  END,
  failed,
  GRAPH,
  provision,
  running,
  settlement,
  stateOf,
  statusOf,
  update,
  work,
} from './requests.ts'

const stop = (targetId: string, cascadeDownstream = false) => [
  { targetId, reason: 'enough', ...(cascadeDownstream ? { cascadeDownstream } : {}) },
]

export const workScenarios: readonly Clause[] = [
  clause('work_ids_are_unique_across_updates', async (store) => {
    await begun(store, 'a')
    const again = store.commitScheduleUpdate(update('c2', { addWork: [work('b'), work('a')] }))
    await refused('a work id that is taken', again, 'work-conflict')
    const { works, revision } = await stateOf(store)
    assert.deepEqual([[...works.keys()], revision], [['a'], 1])
  }),

  clause('poison_work_does_not_block_its_siblings', async (store) => {
    await begun(store, 'a', 'b', work('after', { inputIds: ['b'] }))
    await failed(store, 'a')
    await completed(store, 'b')
    assert.deepEqual(
      [await statusOf(store, 'a'), await statusOf(store, 'b'), await statusOf(store, 'after')],
      ['failed', 'completed', 'ready'],
    )
  }),

  clause('work_waits_for_its_inputs_and_is_skipped_when_they_are_lost', async (store) => {
    await begun(
      store,
      'a',
      'b',
      work('all', { inputIds: ['a', 'b'] }),
      work('any', { inputIds: ['a', 'b'], when: 'any' }),
      work('always', { inputIds: ['a', 'b'], when: 'always' }),
      work('behind', { inputIds: ['all'] }),
    )
    await store.provisionOperator(provision('all'))
    await refused('a claim of what waits', store.claimIntent(claim('all')), 'work-conflict')
    await failed(store, 'a')
    assert.equal(await statusOf(store, 'all'), 'skipped')
    assert.equal(await statusOf(store, 'behind'), 'skipped')
    assert.equal(await statusOf(store, 'any'), 'waiting')
    await completed(store, 'b')
    assert.deepEqual([await statusOf(store, 'any'), await statusOf(store, 'always')], ['ready', 'ready'])
    await refused('a claim of what was skipped', store.claimIntent(claim('all')), 'work-conflict')
  }),

  clause('for_each_makes_a_work_for_each_record_and_joins_them', async (store) => {
    await begun(
      store,
      'a',
      work('each', { inputIds: ['a'], forEach: 'a' }),
      work('after', { inputIds: ['each'] }),
    )
    await running(store, 'a')
    const artifacts = ['one', 'two'].map((name) => ({ name, text: `text ${name}` }))
    const { work: split } = await store.settleActivation(settlement('a', { artifacts }))
    const joined = (await stateOf(store)).works.get('each')
    assert.deepEqual(joined?.itemWorkIds, ['each#1', 'each#2'])
    assert.deepEqual((await stateOf(store)).works.get('each#2')?.inputIds, [split.recordIds[2]])
    const itemRun = { initialRunId: 'run-item-1', initialTurnId: 'turn-item-1' }
    await store.provisionOperator({ ...provision('each#1'), ...itemRun })
    assert.equal(await statusOf(store, 'each'), 'waiting')
    await store.commitScheduleUpdate(update('c2', { stop: stop('each#2') }))
    const request = { ...claim('each#1'), targetRunId: 'run-item-1', targetTurnId: 'turn-item-1' }
    const { claim: made } = await store.claimIntent(request)
    await store.beginAgentGraphIntentExecutionAtScheduleRevision(GRAPH, made.intentId, 2)
    await store.settleActivation(settlement('each#1', { claimId: made.claimId }))
    assert.deepEqual([await statusOf(store, 'each'), await statusOf(store, 'after')], ['failed', 'skipped'])
    await store.commitScheduleUpdate(update('c3', { retry: [{ workId: 'each', reason: 'again' }] }))
    assert.deepEqual(
      [await statusOf(store, 'each'), await statusOf(store, 'each#1'), await statusOf(store, 'each#2')],
      ['waiting', 'completed', 'ready'],
    )
    assert.equal(await statusOf(store, 'after'), 'waiting')
  }),

  clause('replacement_takes_over_what_waits', async (store) => {
    await begun(store, 'a', work('b', { inputIds: ['a'] }))
    const { claimId } = await claimed(store, 'a')
    const { targetSessionId } = claim('a')
    await store.commitScheduleUpdate(update('c2', { addWork: [work('a2', { replaces: 'a' })] }))
    const { works, claims } = await stateOf(store)
    assert.deepEqual([works.get('a')?.status, works.get('a')?.replacedBy], ['superseded', 'a2'])
    assert.deepEqual(works.get('b')?.waitingFor, ['a2'])
    assert.equal(claims.get(claimId)?.admissionStatus, 'cancelled', targetSessionId)
    await completed(store, 'a2')
    assert.equal(await statusOf(store, 'b'), 'ready')
    const itself = store.commitScheduleUpdate(update('c3', { addWork: [work('x', { replaces: 'x' })] }))
    await refused('a work that replaces itself', itself, 'work-conflict')
  }),

  clause('retry_is_a_new_admission_and_revives_what_was_skipped', async (store) => {
    await begun(store, 'a', work('b', { inputIds: ['a'] }))
    await failed(store, 'a')
    assert.equal(await statusOf(store, 'b'), 'skipped')
    await store.commitScheduleUpdate(update('c2', { retry: [{ workId: 'a', reason: 'again' }] }))
    assert.deepEqual([await statusOf(store, 'a'), await statusOf(store, 'b')], ['ready', 'waiting'])
    const reused = { ...claim('a', 1), targetRunId: claim('a').targetRunId }
    await refused('a second life in the first run', store.claimIntent(reused), 'intent-claim-conflict')
    await completed(store, 'a', 1)
    assert.equal(await statusOf(store, 'b'), 'ready')
    const done = store.commitScheduleUpdate(update('c3', { retry: [{ workId: 'a', reason: 'again' }] }))
    await refused('a retry of what completed', done, 'work-conflict')
    assert.equal((await store.listAgentGraphIntentClaims(GRAPH)).length, 2)
  }),

  clause('stop_wins_before_the_begin', async (store) => {
    await begun(store, 'a', 'b')
    const made = await claimed(store, 'a')
    await store.commitScheduleUpdate(update('c2', { stop: stop('a') }))
    const stale = await store.beginAgentGraphIntentExecutionAtScheduleRevision(GRAPH, made.intentId, 1)
    assert.deepEqual([stale.state, stale.changed], ['cancelled', false])
    assert.equal(await statusOf(store, 'a'), 'stopped')
    assert.equal(await statusOf(store, 'b'), 'ready')
  }),

  clause('cascade_stops_what_waits_now_and_not_what_comes_later', async (store) => {
    const always = { when: 'always' } as const
    await begun(
      store,
      'a',
      work('b', { inputIds: ['a'], ...always }),
      work('c', { inputIds: ['b'], ...always }),
    )
    await store.commitScheduleUpdate(update('c2', { stop: stop('a', true) }))
    assert.deepEqual([await statusOf(store, 'b'), await statusOf(store, 'c')], ['stopped', 'stopped'])
    await store.commitScheduleUpdate(
      update('c3', { addWork: [work('late', { inputIds: ['a'], ...always })] }),
    )
    assert.equal(await statusOf(store, 'late'), 'ready')
  }),

  clause('stop_takes_all_of_an_operator_or_of_the_graph', async (store) => {
    await begun(store, 'a', 'b')
    await store.provisionOperator(provision('a'))
    const { operatorId } = provision('a')
    const follow = work('follow', { target: { kind: 'operator', id: operatorId } })
    await store.commitScheduleUpdate(update('c2', { addWork: [follow] }))
    await store.commitScheduleUpdate(update('c3', { stop: stop(operatorId) }))
    assert.deepEqual(
      [await statusOf(store, 'a'), await statusOf(store, 'follow'), await statusOf(store, 'b')],
      ['stopped', 'stopped', 'ready'],
    )
    await store.commitScheduleUpdate(update('c4', { stop: stop(GRAPH), finish: END }))
    assert.equal((await stateOf(store)).closed, true)
  }),

  clause('draft_runs_nothing_before_its_commit', async (store) => {
    await store.advanceEpoch({ rootSessionId: 'another-root', expectedEpoch: 0 })
    await store.commitScheduleUpdate(update('begin', { draft: 'open', addWork: [work('a')] }))
    await refused('an operator of a draft', store.provisionOperator(provision('a')), 'draft-conflict')
    const commit = update('c2', { draft: 'commit' })
    const first = await store.commitScheduleUpdate(commit)
    const again = await store.commitScheduleUpdate(commit)
    assert.deepEqual([first.created, again.created, again.update.revision], [true, false, 2])
    const late = store.commitScheduleUpdate(update('c3', { draft: 'commit' }))
    await refused('a second commit of the draft', late, 'draft-conflict')
    assert.equal((await store.provisionOperator(provision('a', 2))).created, true)
  }),
]
