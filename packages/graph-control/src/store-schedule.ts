/** Committing an update: every rule an update must keep, against the state it is appended to. */
import { canonicalJson } from './canonical.ts'
import { commit, committed, type Decision, requireOpen, unchanged } from './decision.ts'
import { graphEntry } from './entries.ts'
import { GraphControlError } from './errors.ts'
import { fold } from './fold.ts'
import { worksOfTarget } from './fold-schedule.ts'
import { type FoldedGraph, sourceKey } from './graph-state.ts'
import { named } from './request-shapes.ts'
import { LIMITS, type ScheduleUpdate, type ScheduleUpdateRequest, type WorkRequest } from './types.ts'
import { isTerminal } from './work-states.ts'

interface Committed {
  readonly update: ScheduleUpdate
  readonly created: boolean
}

/** @param rootSessionId the root whose epoch names this graph, for a graph without entries yet. */
export function decideUpdate(
  state: FoldedGraph,
  request: ScheduleUpdateRequest,
  at: number,
  rootSessionId?: string,
): Decision<Committed> {
  const existing = state.index.updates.get(request.updateId)
  if (existing !== undefined) return unchanged({ update: sameUpdate(existing, request), created: false })
  requireFreshSource(state, request)
  requireOpen(state)
  requireSelectedBound(request)
  for (const work of request.addWork) requireFreshWork(state, work)
  requireInputs(state, request)
  requireStopTargets(state, request)
  for (const work of request.addWork) requireReplaced(state, work)
  requireFinishable(state, request, at)

  const opened =
    rootSessionId === undefined
      ? []
      : [graphEntry('graph/opened', { at, graphId: state.graphId, rootSessionId })]
  return commit([...opened, graphEntry('update', { at, update: request })], (after) => ({
    update: committed(after.index.updates, request.updateId),
    created: true,
  }))
}

/** A retry may come from another tool call; what it asks for must be the same. */
function sameUpdate(existing: ScheduleUpdate, request: ScheduleUpdateRequest): ScheduleUpdate {
  const payload = ({ addWork, stop, finish }: ScheduleUpdateRequest) =>
    canonicalJson({ addWork, stop, finish })
  if (existing.updateFingerprint === request.updateFingerprint && payload(existing) === payload(request)) {
    return existing
  }
  throw new GraphControlError(
    'schedule-update-conflict',
    `update ${request.updateId} is already committed with another payload, as revision ${existing.revision}`,
  )
}

function requireFreshSource(state: FoldedGraph, request: ScheduleUpdateRequest): void {
  const other = state.index.sources.get(sourceKey(request.source))
  if (other === undefined) return
  throw new GraphControlError(
    'schedule-update-conflict',
    `tool call ${request.source.toolCallId} already committed update ${other}; ${request.updateId} is refused`,
  )
}

function requireSelectedBound(request: ScheduleUpdateRequest): void {
  const selected = request.addWork.reduce((sum, work) => sum + (work.selectedResultInputs?.length ?? 0), 0)
  if (selected <= LIMITS.selectedResults) return
  throw new GraphControlError(
    'invalid',
    `the update selects ${selected} results of earlier epochs; at most ${LIMITS.selectedResults} are allowed`,
  )
}

function requireFreshWork(state: FoldedGraph, { workId, target }: WorkRequest): void {
  if (state.works.has(workId)) throw new GraphControlError('work-conflict', `work id ${workId} is taken`)
  // A stop and an input name their target by id alone, so an id must never mean two things.
  if (workId === state.graphId || state.operators.has(workId) || workId.startsWith('graph_record_')) {
    throw new GraphControlError('work-conflict', `work id ${workId} already names something else`)
  }
  if (target.kind === 'operator' && !state.operators.has(target.id)) {
    throw new GraphControlError(
      'provision-not-found',
      `work ${workId} is for operator ${target.id}, which this graph does not have`,
    )
  }
}

function requireInputs(state: FoldedGraph, request: ScheduleUpdateRequest): void {
  const added = new Map(request.addWork.map((work) => [work.workId, work]))
  for (const { workId, inputIds } of request.addWork) {
    const missing = inputIds.filter((id) => !added.has(id) && !state.works.has(id) && !state.records.has(id))
    if (missing.length > 0) {
      throw new GraphControlError(
        'work-conflict',
        `work ${workId} takes ${named(missing)} as input, which is neither a work nor a record of this graph`,
      )
    }
  }
  const circle = findCircle(added)
  if (circle !== undefined) {
    throw new GraphControlError('work-conflict', `works wait for each other in a circle: ${named(circle)}`)
  }
}

/** The works of an update that can never start because they wait for one another. */
function findCircle(added: ReadonlyMap<string, WorkRequest>): readonly string[] | undefined {
  const left = new Map(added)
  for (let before = -1; before !== left.size;) {
    before = left.size
    for (const [workId, work] of left) if (!work.inputIds.some((id) => left.has(id))) left.delete(workId)
  }
  return left.size === 0 ? undefined : [...left.keys()]
}

function requireStopTargets(state: FoldedGraph, request: ScheduleUpdateRequest): void {
  for (const { targetId } of request.stop) {
    if (worksOfTarget(state, targetId) !== undefined) continue
    throw new GraphControlError(
      'work-conflict',
      `cannot stop ${targetId}: name a work or an operator of this graph, or the graph itself`,
    )
  }
}

function requireReplaced(state: FoldedGraph, { workId, replaces, inputIds }: WorkRequest): void {
  if (replaces === undefined) return
  if (replaces === workId) throw new GraphControlError('work-conflict', `work ${workId} replaces itself`)
  const replaced = state.works.get(replaces)
  if (replaced === undefined) {
    throw new GraphControlError(
      'work-conflict',
      `work ${workId} replaces ${replaces}, which no earlier update added`,
    )
  }
  if (!isTerminal(replaced.status) && inputIds.includes(replaces)) {
    throw new GraphControlError(
      'work-conflict',
      `work ${workId} waits for the result of ${replaces}, which it replaces`,
    )
  }
}

function requireFinishable(state: FoldedGraph, request: ScheduleUpdateRequest, at: number): void {
  if (request.finish === undefined) return
  if (request.addWork.length > 0) {
    throw new GraphControlError('invalid', 'an update that finishes the graph cannot add work to it')
  }
  const pending = pendingAfterStops(state, request, at)
  if (pending.length > 0) {
    throw new GraphControlError(
      'work-conflict',
      `the graph cannot be finished while works are not over: ${named(pending)}; wait for them or stop them`,
    )
  }
  const unknown = request.finish.resultIds.filter((resultId) => !state.records.has(resultId))
  if (unknown.length > 0) {
    throw new GraphControlError(
      'record-not-found',
      `the graph cannot be finished with results it does not have: ${named(unknown)}`,
    )
  }
}

/** Stops come before the finish, and take with them what waits for what they stop. */
function pendingAfterStops(
  state: FoldedGraph,
  request: ScheduleUpdateRequest,
  at: number,
): readonly string[] {
  if (state.counts.pending === 0 || request.stop.length === 0) return [...state.live.pending.keys()]
  const { finish: _, ...stops } = request
  return [...fold(state, graphEntry('update', { at, update: stops })).live.pending.keys()]
}
