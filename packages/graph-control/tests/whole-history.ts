/**
 * Every kind of write at least once, in two histories. Each step can be repeated after a failure, as a
 * driver would.
 */
import { type GraphControlStore, type GraphLease, graphWakeAttemptId, graphWakeId } from '../src/index.ts'
import { claimRequest, commit, GRAPH, provisionRequest, ROOT, settlement, work } from './fixture.ts'

export const wakeId = graphWakeId(GRAPH, 1)
export const attemptId = graphWakeAttemptId(wakeId, 1)

export const WHOLE_HISTORY: readonly ((store: GraphControlStore) => Promise<unknown>)[] = [
  (store) => store.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 }),
  (store) => commit(store, 'c1', { addWork: [work('a'), work('b'), work('c', { inputIds: ['a'] })] }),
  (store) => store.provisionOperator(provisionRequest('a', 1)),
  (store) => store.claimIntentAtScheduleRevision(claimRequest('a'), 1),
  (store) => store.beginAgentGraphIntentExecutionAtScheduleRevision(GRAPH, claimRequest('a').intentId, 1),
  (store) => store.retryActivation(GRAPH, claimRequest('a').claimId, 1, 'lost'),
  (store) => store.settleActivation(settlement('a', { attempt: 2 })),
  (store) => store.registerWait({ graphId: GRAPH, waitId: 'w', until: 'any' }),
  (store) => store.claimSupervisorWake({ graphId: GRAPH, wakeId, snapshotVersion: 1, rootSessionId: ROOT }),
  (store) => store.beginSupervisorWakeAttempt({ graphId: GRAPH, wakeId, attemptId }),
  (store) => store.completeSupervisorWakeAttempt({ graphId: GRAPH, wakeId, attemptId, status: 'delivered' }),
  (store) => store.provisionOperator(provisionRequest('b', 1)),
  (store) => store.claimIntent(claimRequest('b')),
  (store) => store.cancelAgentGraphIntentExecution(GRAPH, claimRequest('b').intentId, 'no'),
  (store) => store.acknowledgeChanges(GRAPH, 2),
  (store) =>
    commit(store, 'c2', {
      stop: [{ targetId: 'c', reason: 'no' }],
      finish: { resultIds: [], reason: 'end' },
    }),
]

const lease: GraphLease = { rootSessionId: ROOT, epoch: 4, holderId: 'holder', assertHeld: () => undefined }
const first = claimRequest('a')
const again = claimRequest('a', 'a', 1)
const item = claimRequest('each#1')
const laterWake = graphWakeId(GRAPH, 2)
const usage = { inputTokens: 11, outputTokens: 3 }

const begin = (intentId: string) => async (store: GraphControlStore) => {
  const { revision = 0 } = (await store.readGraph(GRAPH)) ?? {}
  return store.beginAgentGraphIntentExecutionAtScheduleRevision(GRAPH, intentId, revision)
}

const timer = (status: 'waiting_permission' | 'retryable_failed') => (store: GraphControlStore) =>
  store.completeSupervisorWakeAttempt({
    graphId: GRAPH,
    wakeId: 'timer',
    attemptId: 'timer 1',
    status,
    failureReason: status,
    ...(status === 'retryable_failed' ? { retryAt: 99_000 } : {}),
  })

/** Drafts, conditions, items, holds, retries, leases, artifacts, scheduled wakes. Ends with an open graph. */
export const LATER_HISTORY: readonly ((store: GraphControlStore) => Promise<unknown>)[] = [
  (store) => store.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 }),
  (store) =>
    commit(store, 'c1', {
      draft: 'open',
      addWork: [
        work('a', { title: 'Split', replay: 'model', model: 'm', effort: 'high', args: { n: [1, null] } }),
        work('each', { inputIds: ['a'], forEach: 'a', title: 'Part' }),
        work('always', { inputIds: ['each'], when: 'always' }),
        work('old'),
      ],
    }),
  (store) => commit(store, 'c2', { draft: 'commit', addWork: [work('new', { replaces: 'old' })] }),
  (store) => store.leased(lease).takeGraph(GRAPH),
  (store) => store.provisionOperator(provisionRequest('a', 2)),
  (store) => {
    const { provisionId } = provisionRequest('a', 2)
    const tree = { leaseKey: 'l', path: '/trees/a', branch: 'graph/a', baseCommit: 'abc' }
    return store.bindOperatorWorktree({ graphId: GRAPH, provisionId, ...tree })
  },
  (store) => store.claimIntent(first),
  begin(first.intentId),
  (store) =>
    store.holdActivation({
      graphId: GRAPH,
      claimId: first.claimId,
      attempt: 1,
      kind: 'person',
      reason: 'asks',
    }),
  (store) => store.retryActivation(GRAPH, first.claimId, 1, 'agreed', { notBefore: 5 }),
  (store) => store.rearmAgentGraphIntentForReplay(GRAPH, first.intentId),
  begin(first.intentId),
  (store) =>
    store.settleActivation(
      settlement('a', { attempt: 3, outcome: 'failed', conclusion: '', reason: 'no', usage }),
    ),
  (store) => commit(store, 'c3', { retry: [{ workId: 'a', reason: 'once more' }] }),
  (store) => store.claimIntent(again),
  begin(again.intentId),
  (store) => {
    const artifacts = ['one', 'two'].map((name) => ({ name, text: `text of ${name}` }))
    return store.settleActivation(settlement('a', { claimId: again.claimId, artifacts, usage }))
  },
  (store) =>
    store.scheduleSupervisorWake({
      graphId: GRAPH,
      wakeId: 'timer',
      snapshotVersion: 1,
      rootSessionId: ROOT,
      dueAt: 500,
      recurMs: 1_000_000,
    }),
  (store) =>
    store.beginSupervisorWakeAttempt({
      graphId: GRAPH,
      wakeId: 'timer',
      attemptId: 'timer 1',
      turnId: 'turn 1',
    }),
  timer('waiting_permission'),
  timer('retryable_failed'),
  (store) => store.exhaustSupervisorWake(GRAPH, 'timer', 'gave up'),
  (store) =>
    store.claimSupervisorWake({
      graphId: GRAPH,
      wakeId: laterWake,
      snapshotVersion: 2,
      rootSessionId: ROOT,
    }),
  (store) => store.beginSupervisorWakeAttempt({ graphId: GRAPH, wakeId: laterWake, attemptId: 'later 1' }),
  (store) => store.recoverSupervisorWakes(GRAPH),
  (store) => store.supersedeSupervisorWakes(GRAPH, 'no more'),
  (store) => store.provisionOperator(provisionRequest('each#1', 3)),
  (store) => store.claimIntent(item),
  begin(item.intentId),
  (store) => store.settleActivation(settlement('', { claimId: item.claimId, conclusion: 'read one' })),
  (store) => store.registerWait({ graphId: GRAPH, waitId: 'w', until: 'all', reason: 'the rest' }),
  (store) => store.acknowledgeChanges(GRAPH, 2),
  (store) => commit(store, 'c4', { stop: [{ targetId: 'new', reason: 'no', cascadeDownstream: true }] }),
]
