/** Committing an update: every rule an update must keep, against the state it is appended to. */
import { canonicalJson } from './canonical.ts'
import { commit, committed, type Decision, requireOpen, unchanged } from './decision.ts'
import { graphEntry } from './entries.ts'
import { GraphControlError } from './errors.ts'
import { fold } from './fold.ts'
import { worksOfTarget } from './fold-schedule.ts'
import { type FoldedGraph, sourceKey } from './graph-state.ts'
import { updateOf } from './kept-updates.ts'
import { named } from './request-shapes.ts'
import { requireRetries } from './retry-rules.ts'
import type { ScheduleUpdate, ScheduleUpdateRequest } from './types.ts'
import { requireWorks } from './work-rules.ts'

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
  if (existing !== undefined)
    return unchanged({ update: sameUpdate(updateOf(existing, state.works), request), created: false })
  requireFreshSource(state, request)
  requireOpen(state)
  requireDraftStep(state, request)
  requireWorks(state, request.addWork)
  requireStopTargets(state, request)
  requireRetries(state, request, at)
  requireFinishable(state, request, at)

  const opened =
    rootSessionId === undefined
      ? []
      : [graphEntry('graph/opened', { at, graphId: state.graphId, rootSessionId })]
  return commit([...opened, graphEntry('update', { at, update: request })], (after) => ({
    update: updateOf(committed(after.index.updates, request.updateId), after.works),
    created: true,
  }))
}

/** A retry may come from another tool call; what it asks for must be the same. */
function sameUpdate(existing: ScheduleUpdate, request: ScheduleUpdateRequest): ScheduleUpdate {
  const payload = ({ addWork, stop, retry, finish, draft }: ScheduleUpdateRequest) =>
    canonicalJson({ addWork, stop, retry, finish, draft })
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

function requireDraftStep(state: FoldedGraph, { draft }: ScheduleUpdateRequest): void {
  if (draft === undefined) return
  if (draft === 'commit' && state.phase !== 'draft') {
    throw new GraphControlError(
      'draft-conflict',
      `graph ${state.graphId} is no draft: its works run already, there is nothing to commit`,
    )
  }
  if (draft === 'open' && state.phase !== 'draft' && state.revision > 0) {
    throw new GraphControlError(
      'draft-conflict',
      `graph ${state.graphId} runs already and cannot become a draft; open drafts with the first update`,
    )
  }
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

function requireFinishable(state: FoldedGraph, request: ScheduleUpdateRequest, at: number): void {
  if (request.finish === undefined) return
  if (request.addWork.length > 0 || (request.retry ?? []).length > 0) {
    throw new GraphControlError(
      'invalid',
      'an update that finishes the graph cannot add work to it or retry any',
    )
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
