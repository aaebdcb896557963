/**
 * What a person does to a graph with their own hands: stop, retry, let a held attempt run again.
 * Each is one commit to the store; the drivers of the root, in whichever process they are, act on it.
 */
import {
  graphUpdateId,
  stableHash,
  type Claim,
  type GraphControl,
  type GraphState,
  type RetryRequest,
  type StopRequest,
} from 'dsh-graph-control'

/** Names the hand in the graph's history, where a tool call's ids would stand. */
const HAND = 'person'

export interface PersonUpdate {
  /** The same one again commits nothing more. */
  readonly click: string
  readonly stop?: readonly StopRequest[]
  readonly retry?: readonly RetryRequest[]
}

/** @throws GraphControlError when the store refuses it. @returns whether it was committed now. */
export async function commitByHand(
  store: GraphControl,
  state: GraphState,
  { click, stop = [], retry = [] }: PersonUpdate,
): Promise<boolean> {
  const { graphId, rootSessionId: sessionId = '' } = state
  const source = { sessionId, runId: HAND, turnId: HAND, toolCallId: `${HAND}:${click}` }
  const updateId = graphUpdateId({ graphId, ...source })
  const payload = { addWork: [], stop, ...(retry.length === 0 ? {} : { retry }) }
  const updateFingerprint = stableHash({ schemaVersion: 1, updateId, graphId, ...payload })
  const request = { schemaVersion: 1 as const, updateId, updateFingerprint, graphId, source, ...payload }
  return (await store.commitScheduleUpdate(request)).created
}

/** The held claim of a work, if it has one. */
export function heldClaimOf(state: GraphState, workId: string): Claim | undefined {
  const work = state.works.get(workId)
  const claim = work?.claimId === undefined ? undefined : state.claims.get(work.claimId)
  return claim?.hold === undefined ? undefined : claim
}
