/** What a driver asks the store for; every id is derived from what it names, so that a repetition is the same. Pure. */
import {
  graphClaimId,
  graphIntentId,
  graphOperatorId,
  graphOperatorSessionId,
  graphProvisionId,
  stableHash,
  type ClaimRequest,
  type GraphState,
  type Operator,
  type ProvisionRequest,
  type Work,
} from 'dsh-graph-control'

/** The operator of a work that needs one of its own. */
export function provisionOf({ graphId, revision, works }: GraphState, workId: string): ProvisionRequest {
  const operatorId = graphOperatorId(graphId, workId)
  const provisionId = graphProvisionId(graphId, workId)
  const target = works.get(workId)?.target ?? null
  return {
    provisionId,
    provisionFingerprint: stableHash({ graphId, workId, target }),
    graphId,
    workId,
    operatorId,
    targetSessionId: graphOperatorSessionId(graphId, operatorId),
    initialTurnId: `${provisionId}_turn`,
    initialRunId: `${provisionId}_run`,
    expectedScheduleRevision: revision,
  }
}

/** The admission of a work; each retry of it is another one. */
export function claimFor({ graphId }: GraphState, work: Work, operator: Operator): ClaimRequest {
  const { retries, target, workId } = work
  const intentId = graphIntentId(graphId, workId, retries)
  const claimId = graphClaimId(graphId, intentId)
  // The first run of an operator was reserved with it.
  const isOwn = operator.workId === workId && retries === 0
  return {
    schemaVersion: 1,
    claimId,
    graphId,
    intentId,
    workId,
    intentFingerprint: stableHash({ graphId, workId, target }),
    targetOperatorId: operator.operatorId,
    targetSessionId: operator.targetSessionId,
    targetTurnId: isOwn ? operator.initialTurnId : `${claimId}_turn`,
    targetRunId: isOwn ? operator.initialRunId : `${claimId}_run`,
  }
}
