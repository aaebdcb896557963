/** Requests that the suite makes: small, valid, and the same in every run. */
import {
  epochGraphId,
  graphClaimId,
  graphIntentId,
  graphOperatorId,
  graphOperatorSessionId,
  graphProvisionId,
  graphUpdateId,
  graphWakeAttemptId,
  graphWakeId,
  stableHash,
} from '../ids.ts'
import type { GraphControl } from '../port.ts'
import type {
  Claim,
  ClaimRequest,
  GraphState,
  ProvisionRequest,
  ScheduleUpdateRequest,
  SettleRequest,
  WorkRequest,
} from '../types.ts'

export const ROOT = 'conformance-root'
export const GRAPH = epochGraphId(ROOT, 1)

export function work(workId: string, parts: Partial<WorkRequest> = {}): WorkRequest {
  const target = { kind: 'agent', id: 'default' } as const
  return { workId, target, instruction: `do ${workId}`, inputIds: [], ...parts }
}

export type UpdateParts = Partial<
  Pick<ScheduleUpdateRequest, 'addWork' | 'stop' | 'retry' | 'finish' | 'draft' | 'graphId'>
>

/** The update of one tool call of the root. */
export function update(toolCallId: string, parts: UpdateParts): ScheduleUpdateRequest {
  const { graphId = GRAPH, addWork = [], stop = [], ...optional } = parts
  const source = { sessionId: ROOT, runId: 'run', turnId: 'turn', toolCallId }
  return {
    schemaVersion: 1,
    updateId: graphUpdateId({ graphId, ...source }),
    updateFingerprint: stableHash({ addWork, stop, ...optional }),
    graphId,
    source,
    addWork,
    stop,
    ...optional,
  }
}

export const END = { resultIds: [], reason: 'done' } as const

/** Opens the first epoch of {@link ROOT} and adds works to its graph. */
export async function begun(store: GraphControl, ...works: readonly (string | WorkRequest)[]): Promise<void> {
  await store.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
  const addWork = works.map((added) => (typeof added === 'string' ? work(added) : added))
  await store.commitScheduleUpdate(update('begin', { addWork }))
}

export async function stateOf(store: GraphControl, graphId = GRAPH): Promise<GraphState> {
  const state = await store.readGraph(graphId)
  if (state === undefined) throw new Error(`the store has no graph ${graphId}`)
  return state
}

export async function statusOf(store: GraphControl, workId: string): Promise<string | undefined> {
  return (await stateOf(store)).works.get(workId)?.status
}

export function provision(workId: string, expectedScheduleRevision = 1): ProvisionRequest {
  const operatorId = graphOperatorId(GRAPH, workId)
  const provisionId = graphProvisionId(GRAPH, workId)
  return {
    provisionId,
    provisionFingerprint: stableHash({ workId }),
    graphId: GRAPH,
    workId,
    operatorId,
    targetSessionId: graphOperatorSessionId(GRAPH, operatorId),
    initialTurnId: `${provisionId}_turn`,
    initialRunId: `${provisionId}_run`,
    expectedScheduleRevision,
  }
}

/** @param retries of the work: its turn and run are new each time. */
export function claim(workId: string, retries = 0): ClaimRequest {
  const { operatorId, targetSessionId, initialTurnId, initialRunId } = provision(workId)
  const intentId = graphIntentId(GRAPH, workId, retries)
  const again = retries === 0 ? '' : `_${retries}`
  return {
    schemaVersion: 1,
    claimId: graphClaimId(GRAPH, intentId),
    graphId: GRAPH,
    intentId,
    workId,
    intentFingerprint: stableHash({ intent: intentId }),
    readinessContextFingerprint: stableHash({ context: intentId }),
    targetOperatorId: operatorId,
    targetSessionId,
    targetTurnId: initialTurnId + again,
    targetRunId: initialRunId + again,
  }
}

/** Provisions and claims. */
export async function claimed(store: GraphControl, workId: string, retries = 0): Promise<Claim> {
  const { revision } = await stateOf(store)
  await store.provisionOperator(provision(workId, revision))
  return (await store.claimIntentAtScheduleRevision(claim(workId, retries), revision)).claim
}

/** Provisions, claims and begins. */
export async function running(store: GraphControl, workId: string, retries = 0): Promise<Claim> {
  const made = await claimed(store, workId, retries)
  const { revision } = await stateOf(store)
  await store.beginAgentGraphIntentExecutionAtScheduleRevision(GRAPH, made.intentId, revision)
  return made
}

export function settlement(workId: string, parts: Partial<SettleRequest> = {}): SettleRequest {
  const { claimId } = claim(workId)
  const conclusion = `result of ${workId}`
  return { graphId: GRAPH, claimId, attempt: 1, outcome: 'completed', conclusion, ...parts }
}

/** Runs a work to its end. @returns the id of its record. */
export async function completed(store: GraphControl, workId: string, retries = 0): Promise<string> {
  const { claimId } = await running(store, workId, retries)
  const { record } = await store.settleActivation(settlement(workId, { claimId }))
  return record?.recordId ?? ''
}

export async function failed(store: GraphControl, workId: string, retries = 0): Promise<void> {
  const { claimId } = await running(store, workId, retries)
  const { conclusion: _, ...silent } = settlement(workId, { claimId })
  await store.settleActivation({ ...silent, outcome: 'failed', reason: 'it broke' })
}

export function wake(snapshotVersion: number) {
  const wakeId = graphWakeId(GRAPH, snapshotVersion)
  return { graphId: GRAPH, wakeId, snapshotVersion, rootSessionId: ROOT }
}

export function attempt(wakeId: string, index: number) {
  return { graphId: GRAPH, wakeId, attemptId: graphWakeAttemptId(wakeId, index) }
}
