/** Every kind of write once. Each step can be repeated after a failure, as a driver would. */
import { type GraphControlStore, graphWakeAttemptId, graphWakeId } from '../src/index.ts'
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
