/** What becomes of the graphs of a root whose session was deleted: they are stopped and finished. */
import { graphUpdateId, stableHash, type GraphControl, type GraphState } from 'dsh-graph-control'

export const ABANDONED = 'abandoned: the session that supervised this graph was deleted'

/** Idempotent; what still runs is cancelled by whoever drives the graph next. */
export async function abandonGraph(
  store: GraphControl,
  rootSessionId: string,
  { graphId, counts }: GraphState,
): Promise<void> {
  const source = {
    sessionId: rootSessionId,
    runId: 'graph_run_abandoned',
    turnId: 'graph_turn_abandoned',
    toolCallId: `abandon_${graphId}`,
  }
  const payload = {
    addWork: [],
    stop: counts.pending === 0 ? [] : [{ targetId: graphId, reason: ABANDONED }],
    finish: { resultIds: [], reason: ABANDONED },
  }
  const updateId = graphUpdateId({ graphId, ...source, idempotencyKey: ABANDONED })
  const updateFingerprint = stableHash({ schemaVersion: 1, updateId, graphId, ...payload })
  await store.commitScheduleUpdate({
    schemaVersion: 1,
    updateId,
    updateFingerprint,
    graphId,
    source,
    ...payload,
  })
  // There is nobody left to be woken.
  await store.supersedeSupervisorWakes(graphId, ABANDONED)
}
