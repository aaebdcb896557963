/** The numbers of some graphs, read from the store; at the cost of their size. */
import type { GraphControl, GraphState, WakeAttempt } from 'dsh-graph-control'
import { durationText } from './board/durations.ts'
import { metricsOf, type GraphMetrics, type Spread } from './metrics.ts'

/** Wakes a graph that are looked at, the newest. */
const WAKES = 256

export async function readMetrics(store: GraphControl, graphIds: readonly string[]): Promise<GraphMetrics> {
  const states: GraphState[] = []
  const attempts: WakeAttempt[] = []
  for (const graphId of graphIds) {
    const state = await store.readGraph(graphId)
    if (state === undefined) continue
    states.push(state)
    for (const wakeId of [...state.wakes.keys()].slice(-WAKES))
      attempts.push(...(await store.listSupervisorWakeAttempts(graphId, wakeId)))
  }
  return metricsOf(states, attempts)
}

/** The numbers as lines. */
export function metricsLines(metrics: GraphMetrics): readonly string[] {
  const { graphs, queueWait, retries, runTime, tokens, wakeLatency, worksByStatus } = metrics
  const counts = Object.entries(worksByStatus).map(([status, count]) => `${count} ${status}`)
  return [
    `graphs        ${graphs}`,
    `works         ${counts.length === 0 ? 'none' : counts.join(', ')}`,
    `queue wait    ${spreadText(queueWait)}`,
    `run time      ${spreadText(runTime)}`,
    `wake latency  ${spreadText(wakeLatency)}`,
    `retries       ${retries.attempts} attempts, ${retries.works} works`,
    `tokens        ${tokens.inputTokens} in, ${tokens.outputTokens} out`,
  ]
}

function spreadText(spread: Spread | undefined): string {
  if (spread === undefined) return 'not measured yet'
  const { count, maxMs, p50Ms, p95Ms } = spread
  return `p50 ${durationText(p50Ms)}, p95 ${durationText(p95Ms)}, max ${durationText(maxMs)} (${count})`
}
