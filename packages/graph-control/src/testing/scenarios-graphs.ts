/** Scenarios of graphs as a whole: what closes them, what they are named, what is removed of them. */
import assert from 'node:assert/strict'
import { epochGraphId } from '../ids.ts'
import { type Clause, clause, refused } from './clause.ts'
import {
  begun,
  claim,
  completed,
  END,
  GRAPH,
  provision,
  ROOT,
  running,
  stateOf,
  statusOf,
  update,
  work,
} from './requests.ts'

export const graphScenarios: readonly Clause[] = [
  clause('closed_graph_refuses_updates_and_claims', async (store) => {
    await begun(store, 'a')
    await store.provisionOperator(provision('a'))
    const stop = [{ targetId: 'a', reason: 'enough' }]
    await store.commitScheduleUpdate(update('c2', { stop, finish: END }))
    const late = store.commitScheduleUpdate(update('c3', { addWork: [work('b')] }))
    await refused('an update after the finish', late, 'schedule-closed')
    await refused('an empty update after it', store.commitScheduleUpdate(update('c4', {})), 'schedule-closed')
    await refused('a claim after the finish', store.claimIntent(claim('a')), 'schedule-closed')
    const { closed, finish, works } = await stateOf(store)
    assert.deepEqual([closed, finish?.reason, works.size], [true, 'done', 1])
  }),

  clause('finish_needs_works_that_are_over_and_results_that_are_there', async (store) => {
    await begun(store, 'a')
    const finish = (...resultIds: string[]) =>
      store.commitScheduleUpdate(update('c2', { finish: { resultIds, reason: 'done' } }))
    await refused('a finish with pending work', finish(), 'work-conflict')
    const recordId = await completed(store, 'a')
    await refused('a finish with an unknown result', finish(recordId, 'ghost'), 'record-not-found')
    await finish(recordId)
    assert.deepEqual((await stateOf(store)).finish?.resultIds, [recordId])
  }),

  clause('graph_stays_readable_after_every_refusal', async (store) => {
    await begun(store, 'a')
    await completed(store, 'a')
    const attempts = [
      update('c2', { addWork: [work('a')] }),
      update('c3', { addWork: [work('b', { replaces: 'ghost' })] }),
      update('c4', { stop: [{ targetId: 'ghost', reason: 'no' }] }),
      update('c5', { addWork: [work('b', { inputIds: ['ghost'] })] }),
      update('c6', { addWork: [work('b', { inputIds: ['c'] }), work('c', { inputIds: ['b'] })] }),
      update('c7', { retry: [{ workId: 'ghost', reason: 'no' }] }),
    ]
    for (const request of attempts) {
      await refused('a request that does not fit', store.commitScheduleUpdate(request), 'work-conflict')
    }
    assert.deepEqual([...(await stateOf(store)).works.keys()], ['a'])
    await store.commitScheduleUpdate(update('c8', { finish: END }))
    const after = store.commitScheduleUpdate(update('c9', { addWork: [work('z')] }))
    await refused('an update after the finish', after, 'schedule-closed')
    assert.equal((await stateOf(store)).closed, true)
  }),

  clause('epochs_advance_by_compare_and_are_kept', async (store) => {
    const advance = (expectedEpoch: number, rootSessionId = ROOT) =>
      store.advanceEpoch({ rootSessionId, expectedEpoch })
    assert.equal(await store.currentEpoch(ROOT), undefined)
    const first = await advance(0)
    assert.deepEqual([first.created, first.epoch.epoch, first.epoch.graphId], [true, 1, GRAPH])
    assert.deepEqual(await advance(0), { epoch: first.epoch, created: false })
    await refused('an epoch beside an open graph', advance(1), 'graph-exists')
    await refused('an epoch too far', advance(5), 'epoch-conflict')
    await store.commitScheduleUpdate(update('c1', { finish: END }))
    const outcomes = await Promise.all([advance(1), advance(1), advance(1)])
    assert.equal(outcomes.filter(({ created }) => created).length, 1, 'several cutovers created an epoch')
    for (const { epoch } of outcomes) assert.equal(epoch.graphId, epochGraphId(ROOT, 2))
    await refused('an old writer', advance(0), 'epoch-conflict')
    assert.equal((await advance(0, 'another-root')).created, true)
    assert.deepEqual(
      (await store.listEpochs(ROOT)).map(({ epoch }) => epoch),
      [1, 2],
    )
    assert.equal((await stateOf(store)).closed, true)
  }),

  clause('registered_graphs_belong_to_one_root', async (store) => {
    const request = { graphId: 'mine', rootSessionId: ROOT }
    assert.equal((await store.createGraph(request)).created, true)
    assert.equal((await store.createGraph(request)).created, false)
    const theirs = store.createGraph({ graphId: 'mine', rootSessionId: 'another-root' })
    await refused('a graph of another root', theirs, 'graph-exists')
    const { graphs } = await store.listGraphs({ rootSessionId: ROOT })
    assert.deepEqual(
      graphs.map(({ graphId }) => graphId),
      ['mine'],
    )
    assert.deepEqual((await store.listGraphs({ rootSessionId: 'another-root' })).graphs, [])
  }),

  clause('purge_removes_all_of_a_root_and_nothing_else', async (store) => {
    await begun(store, 'a')
    const recordId = await completed(store, 'a')
    await store.createGraph({ graphId: 'theirs', rootSessionId: 'another-root' })
    await store.purge(ROOT)
    assert.equal(await store.readGraph(GRAPH), undefined)
    assert.deepEqual(await store.listEpochs(ROOT), [])
    await refused('a removed text', store.readResult(GRAPH, recordId), 'record-not-found')
    assert.ok(await store.readGraph('theirs'), 'a graph of another root is gone')
    assert.equal((await store.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })).created, true)
    assert.equal((await stateOf(store)).works.size, 0)
  }),

  clause('purge_is_refused_while_something_runs', async (store) => {
    await begun(store, 'a')
    await running(store, 'a')
    await refused('a purge of what runs', store.purge(ROOT), 'work-conflict')
    assert.equal(await statusOf(store, 'a'), 'running')
  }),

  clause('compaction_keeps_what_is_selected_or_open', async (store) => {
    await begun(store, 'a', 'b')
    const [kept, dropped] = [await completed(store, 'a'), await completed(store, 'b')]
    assert.equal(await store.compact(ROOT), 0)
    assert.equal((await store.readResult(GRAPH, dropped)).text, 'result of b')
    const finish = { resultIds: [kept], reason: 'done' }
    await store.commitScheduleUpdate(update('c2', { finish }))
    await store.compact(ROOT)
    assert.equal((await store.readResult(GRAPH, kept)).text, 'result of a')
    const record = (await stateOf(store)).records.get(dropped)
    assert.equal(record?.summary, 'result of b')
  }),

  clause('timeline_tells_every_transition_once', async (store) => {
    await begun(store, 'a')
    await completed(store, 'a')
    const { seq } = await stateOf(store)
    const whole = await store.readTimeline({ graphId: GRAPH })
    assert.deepEqual(
      whole.events.map((event) => event.seq),
      Array.from({ length: seq }, (_, index) => index + 1),
    )
    const page = await store.readTimeline({ graphId: GRAPH, afterSeq: 1, limit: 2 })
    assert.deepEqual(
      [page.events.map((event) => event.seq), page.omittedBefore, page.omittedAfter],
      [[2, 3], 1, seq - 3],
    )
    const last = await store.readTimeline({ graphId: GRAPH, beforeSeq: seq + 1, limit: 1 })
    assert.equal(last.events[0]?.kind, 'activation_terminal')
  }),

  clause('unknown_graph_is_nothing_to_read_and_not_to_be_moved', async (store) => {
    assert.equal(await store.readGraph('ghost'), undefined)
    assert.deepEqual(await store.listScheduleUpdates('ghost'), [])
    await refused(
      'a claim in no graph',
      store.claimIntent({ ...claim('a'), graphId: 'ghost' }),
      'graph-not-found',
    )
    await refused('an acknowledgement', store.acknowledgeChanges('ghost', 0), 'graph-not-found')
    assert.equal(await store.readGraph('ghost'), undefined)
  }),
]
