/** What a driver does to a graph, one step at a time, over the real store: for tests without a host. */
import { randomUUID } from 'node:crypto'
import {
  graphClaimId,
  graphIntentId,
  graphOperatorId,
  graphOperatorSessionId,
  graphProvisionId,
  graphUpdateId,
  stableHash,
  type GraphControl,
  type SettleRequest,
  type WorkRequest,
} from 'dsh-graph-control'

/** Adds works to the root's current graph, which is opened if need be. @returns its id. */
export async function addWorks(
  store: GraphControl,
  rootSessionId: string,
  works: readonly (Partial<WorkRequest> & { readonly workId: string })[],
): Promise<string> {
  const epoch =
    (await store.currentEpoch(rootSessionId)) ??
    (await store.advanceEpoch({ rootSessionId, expectedEpoch: 0 })).epoch
  const { graphId } = epoch
  // One update takes 32 works.
  for (let at = 0; at < works.length; at += 32) {
    const source = { sessionId: rootSessionId, runId: 'r', turnId: 't', toolCallId: randomUUID() }
    const addWork = works.slice(at, at + 32).map((work) => ({
      target: { kind: 'agent' as const, id: 'default' },
      instruction: `do ${work.workId}`,
      inputIds: [],
      ...work,
    }))
    await store.commitScheduleUpdate({
      schemaVersion: 1,
      graphId,
      updateId: graphUpdateId({ graphId, ...source }),
      updateFingerprint: stableHash({ source, addWork }),
      source,
      addWork,
      stop: [],
    })
  }
  return graphId
}

/** Provisions, claims and begins. @returns the claim's id. */
export async function claimWork(store: GraphControl, graphId: string, workId: string): Promise<string> {
  const before = await store.readGraph(graphId)
  const retries = before?.works.get(workId)?.retries ?? 0
  const operatorId = graphOperatorId(graphId, workId)
  const provisionId = graphProvisionId(graphId, workId)
  const targetSessionId = graphOperatorSessionId(graphId, operatorId)
  const fingerprint = stableHash({ graphId, workId })
  const { provision } = await store.provisionOperator({
    provisionId,
    provisionFingerprint: fingerprint,
    graphId,
    workId,
    operatorId,
    targetSessionId,
    initialTurnId: `${provisionId}_turn`,
    initialRunId: `${provisionId}_run`,
    expectedScheduleRevision: before?.revision ?? 0,
  })
  const intentId = graphIntentId(graphId, workId, retries)
  const claimId = graphClaimId(graphId, intentId)
  await store.claimIntent({
    schemaVersion: 1,
    claimId,
    graphId,
    intentId,
    workId,
    intentFingerprint: fingerprint,
    targetOperatorId: operatorId,
    targetSessionId,
    targetTurnId: retries === 0 ? provision.initialTurnId : `${claimId}_turn`,
    targetRunId: retries === 0 ? provision.initialRunId : `${claimId}_run`,
  })
  const revision = (await store.readGraph(graphId))?.revision ?? 0
  await store.beginAgentGraphIntentExecutionAtScheduleRevision(graphId, intentId, revision)
  return claimId
}

export async function settleWork(
  store: GraphControl,
  graphId: string,
  workId: string,
  end: Omit<SettleRequest, 'graphId' | 'claimId' | 'attempt'>,
): Promise<void> {
  const state = await store.readGraph(graphId)
  const claimId = state?.works.get(workId)?.claimId ?? ''
  const attempt = state?.claims.get(claimId)?.attempt ?? 0
  await store.settleActivation({ graphId, claimId, attempt, ...end })
}
