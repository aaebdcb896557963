/**
 * Which graph an update goes to: the one it was committed to already, the one it names, the current
 * one, or, for the first work after a finish, the next.
 */
import { epochGraphId, type GraphState, type ScheduleUpdate } from 'dsh-graph-control'
import { compileAgentGraphScheduleUpdate } from './compile-update.ts'
import { AgentGraphError } from './errors.ts'
import type { RootGraphs } from './root-graphs.ts'
import type { GraphCall, UpdateInput } from './types.ts'

/** Earlier graphs of a root in which an idempotency key is looked for. */
const KEY_EPOCHS = 32

export interface Replay {
  readonly update: ScheduleUpdate
  readonly state: GraphState
}

/**
 * The update that is there already for the very same words. What work ids stand for may have moved
 * on since, so the words decide and not what they would mean now. A key stands for its update also
 * after the graph was finished and others were opened.
 */
export async function replayOf(
  graphs: RootGraphs,
  call: GraphCall,
  input: UpdateInput,
): Promise<Replay | undefined> {
  for (const graphId of await replayGraphs(graphs, input)) {
    const asked = compileAgentGraphScheduleUpdate(graphId, call, input)
    const update = await graphs.store.readScheduleUpdate(graphId, asked.updateId)
    if (update?.updateFingerprint !== asked.updateFingerprint) continue
    const state = await graphs.own(graphId)
    if (state !== undefined) return { update, state }
  }
  return undefined
}

async function replayGraphs(graphs: RootGraphs, input: UpdateInput): Promise<readonly string[]> {
  if (input.graphId !== undefined) return [input.graphId]
  const epochs = await graphs.store.listEpochs(graphs.rootSessionId)
  const reach = input.idempotencyKey === undefined ? 1 : KEY_EPOCHS
  return epochs
    .slice(-reach)
    .map((epoch) => epoch.graphId)
    .toReversed()
}

export interface Target {
  readonly graphId: string
  readonly state: GraphState | undefined
  /** To be opened first. */
  readonly epoch?: { readonly rootSessionId: string; readonly expectedEpoch: number }
}

/** @throws AgentGraphError `unknown_graph`, `graph_closed`. */
export async function targetOf(graphs: RootGraphs, call: GraphCall, input: UpdateInput): Promise<Target> {
  const { rootSessionId } = graphs
  const epoch = await graphs.currentEpoch()
  const graphId = input.graphId ?? epoch?.graphId
  const state = graphId === undefined ? undefined : await graphs.own(graphId)
  if (input.graphId !== undefined && state === undefined && graphId !== epoch?.graphId)
    throw await graphs.unknown(input.graphId)
  if (graphId !== undefined && (state?.closed !== true || (await isTaken(graphs, graphId, call, input))))
    return { graphId, state }
  const opensNext = input.graphId === undefined && (input.addWork ?? []).length > 0
  if (opensNext) {
    const expectedEpoch = epoch?.epoch ?? 0
    const next = epochGraphId(rootSessionId, expectedEpoch + 1)
    return { graphId: next, state: undefined, epoch: { rootSessionId, expectedEpoch } }
  }
  if (graphId === undefined) throw await graphs.unknown(undefined)
  throw new AgentGraphError(
    'graph_closed',
    `graph ${graphId} is finished; addWork without graphId opens the next one`,
  )
}

/** The update's identity is there with other words: the store refuses it by name. */
async function isTaken(
  graphs: RootGraphs,
  graphId: string,
  call: GraphCall,
  input: UpdateInput,
): Promise<boolean> {
  const { updateId } = compileAgentGraphScheduleUpdate(graphId, call, input)
  return (await graphs.store.readScheduleUpdate(graphId, updateId)) !== undefined
}
