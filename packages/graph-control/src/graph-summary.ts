/** One graph in a listing. Pure. */
import type { GraphState, GraphSummary } from './types.ts'

export function summarize(state: GraphState): GraphSummary {
  const { graphId, rootSessionId, phase, revision, seq, counts, createdAt, finish } = state
  return { graphId, rootSessionId, phase, revision, seq, counts, createdAt, finishedAt: finish?.finishedAt }
}
