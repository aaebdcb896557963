/**
 * One call of `update_agent_graph`: which graph it goes to, whether it can be meant, and the one
 * commit. A refusal opens no epoch and writes nothing.
 */
import {
  epochGraphId,
  type GraphEpoch,
  type GraphState,
  type ScheduleUpdate,
  type ScheduleUpdateRequest,
} from 'dsh-graph-control'
import { catalogProblems, referenceProblems } from './catalog-check.ts'
import { compileAgentGraphScheduleUpdate } from './compile-update.ts'
import { AgentGraphError } from './errors.ts'
import type { RootGraphs } from './root-graphs.ts'
import { finishRecords, operatorNamed } from './selected-results.ts'
import type { GraphCall, UpdateInput } from './types.ts'

export interface CommittedUpdate {
  readonly update: ScheduleUpdate
  readonly created: boolean
  readonly state: GraphState
}

export async function commitUpdate(
  graphs: RootGraphs,
  call: GraphCall,
  input: UpdateInput,
): Promise<CommittedUpdate> {
  const { graphId, state, epoch } = await targetOf(graphs, call, input)
  const asked = compileAgentGraphScheduleUpdate(graphId, call, input)
  const replayed = await replayOf(graphs, asked)
  if (replayed !== undefined && state !== undefined) return { update: replayed, created: false, state }
  refuse([
    ...(await workProblems(graphs, input)),
    ...graphs.argumentProblems(input.addWork ?? []),
    ...referenceProblems(input, state),
  ])
  await requireSelectedResults(graphs, input)
  await graphs.requireWithinLimits(input, state, epoch !== undefined)
  const request = resolved(asked, state)
  // The last step before the commit, so that what is refused opens no epoch.
  if (epoch !== undefined) await graphs.store.advanceEpoch(epoch)
  const { update, created } = await graphs.store.commitScheduleUpdate(request)
  const after = await graphs.store.readGraph(graphId)
  if (after === undefined) throw new Error(`graph ${graphId} vanished after its commit`)
  return { update, created, state: after }
}

async function workProblems(graphs: RootGraphs, input: UpdateInput): Promise<readonly string[]> {
  const { addWork = [] } = input
  if (addWork.length === 0) return []
  return [...catalogProblems(input, await graphs.catalog()), ...(await graphs.hostProblems(addWork))]
}

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new AgentGraphError('invalid_input', problems.join('; '))
}

interface Target {
  readonly graphId: string
  readonly state: GraphState | undefined
  /** To be opened first. */
  readonly epoch?: { readonly rootSessionId: string; readonly expectedEpoch: number }
}

/** The graph that this update goes to; the first work after a finish opens the next one. */
async function targetOf(graphs: RootGraphs, call: GraphCall, input: UpdateInput): Promise<Target> {
  const { rootSessionId } = graphs
  const epoch = await graphs.currentEpoch()
  if (input.graphId !== undefined && input.graphId !== epoch?.graphId) {
    const state = await graphs.own(input.graphId)
    if (state === undefined) throw graphs.unknown(input.graphId)
    return { graphId: input.graphId, state }
  }
  if (epoch !== undefined && !(await isSpent(graphs, epoch, call, input))) {
    return { graphId: epoch.graphId, state: await graphs.own(epoch.graphId) }
  }
  if ((input.addWork ?? []).length === 0) {
    if (epoch === undefined) throw graphs.unknown(undefined)
    throw new AgentGraphError(
      'graph_closed',
      `graph ${epoch.graphId} is finished; addWork without graphId opens the next one`,
    )
  }
  const expectedEpoch = epoch?.epoch ?? 0
  const graphId = epochGraphId(rootSessionId, expectedEpoch + 1)
  return { graphId, state: undefined, epoch: { rootSessionId, expectedEpoch } }
}

/** Finished, and not by this very update: a replay of it is answered by the graph it went to. */
async function isSpent(
  graphs: RootGraphs,
  { graphId }: GraphEpoch,
  call: GraphCall,
  input: UpdateInput,
): Promise<boolean> {
  const state = await graphs.store.readGraph(graphId)
  if (state?.closed !== true) return false
  if (input.graphId !== undefined && (input.addWork ?? []).length > 0 && input.graphId === graphId) {
    // Named on purpose: the store refuses it, unless it is a replay.
    return false
  }
  const { updateId } = compileAgentGraphScheduleUpdate(graphId, call, input)
  return (await graphs.store.readScheduleUpdate(graphId, updateId)) === undefined
}

/**
 * The update that is there already for the very same words. What work ids stand for may have moved
 * on since, so the words decide and not what they would mean now.
 */
async function replayOf(
  { store }: RootGraphs,
  { graphId, updateId, updateFingerprint }: ScheduleUpdateRequest,
): Promise<ScheduleUpdate | undefined> {
  const existing = await store.readScheduleUpdate(graphId, updateId)
  return existing?.updateFingerprint === updateFingerprint ? existing : undefined
}

/** The fingerprint stays that of the words. */
function resolved(request: ScheduleUpdateRequest, state: GraphState | undefined): ScheduleUpdateRequest {
  const { addWork, stop, finish } = request
  return {
    ...request,
    addWork: addWork.map((work) =>
      work.target.kind === 'operator'
        ? { ...work, target: { kind: 'operator', id: operatorNamed(state, work.target.id) } }
        : work,
    ),
    stop: stop.map((item) =>
      item.targetId === 'graph' && state?.works.has('graph') !== true
        ? { ...item, targetId: request.graphId }
        : item,
    ),
    ...(finish === undefined || state === undefined
      ? {}
      : { finish: { ...finish, resultIds: finishRecords(state, finish.resultIds) } }),
  }
}

/** A result may be selected only from a finished graph of this root that finished with it. */
async function requireSelectedResults(graphs: RootGraphs, input: UpdateInput): Promise<void> {
  for (const { sourceGraphId, resultId } of (input.addWork ?? []).flatMap(
    (item) => item.selectedResultInputs ?? [],
  )) {
    const source = await graphs.own(sourceGraphId)
    if (source?.finish?.resultIds.includes(resultId) === true) continue
    const allowed = source?.finish?.resultIds.slice(0, 8).join(', ')
    throw new AgentGraphError(
      'invalid_input',
      `selectedResultInputs: "${resultId}" is not a result with which a graph "${sourceGraphId}" of this session finished` +
        (allowed === undefined || allowed === '' ? '' : `; it finished with ${allowed}`),
    )
  }
}
