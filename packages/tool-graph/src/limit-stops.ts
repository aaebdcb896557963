/**
 * What a ceiling ends: works that may not begin, or all of a graph. Each is a stop like any other,
 * committed by the driver: the root is woken and reads why.
 */
import { graphUpdateId, stableHash, type GraphState } from 'dsh-graph-control'
import type { ActivationDeps } from './activation.ts'

type Deps = Pick<ActivationDeps, 'store' | 'rootSessionId'>

/** Stops one work that may not have an operator. */
export function stopForLimit(deps: Deps, state: GraphState, workId: string, why: string): Promise<void> {
  return commitStop(deps, state, workId, why)
}

/** Stops all that is pending, and takes back the turns that the root asked for at a time to come. */
export async function endForLimit(deps: Deps, state: GraphState, why: string): Promise<void> {
  if (state.counts.pending > 0) await commitStop(deps, state, state.graphId, why)
  // What tells the root of the end is not taken back: it is made when the rest is gone.
  else if (state.live.openWakeId === undefined && state.changeSeq <= state.seenChangeSeq)
    await deps.store.supersedeSupervisorWakes(state.graphId, `limit_reached: ${why}`)
}

async function commitStop(
  { rootSessionId, store }: Deps,
  { graphId, revision }: GraphState,
  targetId: string,
  why: string,
): Promise<void> {
  const reason = `limit_reached: ${why}`
  // The same decision on the same revision is the same update, also after a crash.
  const key = `limit:${targetId}:${revision}`
  const source = {
    sessionId: rootSessionId,
    runId: 'graph_run_limit',
    turnId: 'graph_turn_limit',
    toolCallId: stableHash({ graphId, key }),
  }
  const payload = { addWork: [], stop: [{ targetId, reason }] }
  const updateId = graphUpdateId({ graphId, ...source, idempotencyKey: key })
  const updateFingerprint = stableHash({ schemaVersion: 1, updateId, graphId, ...payload })
  await store.commitScheduleUpdate({
    schemaVersion: 1,
    updateId,
    updateFingerprint,
    graphId,
    source,
    ...payload,
  })
}
