/**
 * One call of `update_agent_graph`: whether it can be meant, and the one commit. A refusal opens no
 * graph and writes nothing.
 */
import type {
  GraphState,
  ScheduleUpdate,
  ScheduleUpdateRequest,
  SelectedResultInput,
} from 'dsh-graph-control'
import { catalogProblems, referenceProblems } from './catalog-check.ts'
import { compileAgentGraphScheduleUpdate } from './compile-update.ts'
import { selectedOf } from './earlier-results.ts'
import { refuse } from './problems.ts'
import { rehearse } from './rehearse.ts'
import type { RootGraphs } from './root-graphs.ts'
import { finishRecords, operatorNamed } from './selected-results.ts'
import type { GraphCall, UpdateInput } from './types.ts'
import { replayOf, targetOf } from './update-target.ts'

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
  const replay = await replayOf(graphs, call, input)
  if (replay !== undefined) return { ...replay, created: false }
  const { graphId, state, epoch } = await targetOf(graphs, call, input)
  refuse([
    ...(await workProblems(graphs, input)),
    ...graphs.argumentProblems(input.addWork ?? []),
    ...referenceProblems(input, state),
  ])
  const selected = await selectedOf(graphs, input)
  await graphs.requireWithinLimits(input, state, epoch !== undefined)
  const request = resolved(compileAgentGraphScheduleUpdate(graphId, call, input), state, selected)
  if (epoch !== undefined) {
    await rehearse(request)
    await graphs.store.advanceEpoch(epoch)
  }
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

/** Names in place of ids are looked up; the fingerprint stays that of the words. */
function resolved(
  request: ScheduleUpdateRequest,
  state: GraphState | undefined,
  selected: readonly (readonly SelectedResultInput[])[],
): ScheduleUpdateRequest {
  const { addWork, stop, finish } = request
  return {
    ...request,
    addWork: addWork.map((work, index) => ({
      ...work,
      target:
        work.target.kind === 'operator'
          ? { kind: 'operator', id: operatorNamed(state, work.target.id) }
          : work.target,
      ...(work.selectedResultInputs === undefined ? {} : { selectedResultInputs: selected[index] ?? [] }),
    })),
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
