/** What an update does to a graph: targets stop, works are added, replaced and retried, it finishes. */
import type { GraphEntryData } from './entries.ts'
import { orderPending, retryWork, reviveDependents } from './fold-retries.ts'
import { supersedeIdleWakes } from './fold-wakes.ts'
import { type Draft, FoldError, held, idsOf, NOTHING, sourceKey } from './graph-state.ts'
import { keptUpdateOf } from './kept-updates.ts'
import type { ScheduleUpdate, StopRequest, Work, WorkRequest } from './types.ts'
import {
  addWork,
  endWorks,
  inputWork,
  isTerminal,
  judgeWorks,
  noteDependent,
  type PendingEnding,
  putWork,
} from './work-states.ts'

export function foldOpened(
  draft: Draft,
  { at, graphId, rootSessionId }: GraphEntryData<'graph/opened'>,
): void {
  if (graphId !== draft.graphId) throw new FoldError(`opens another graph, ${graphId}`)
  if (draft.rootSessionId !== undefined) throw new FoldError('opens the graph a second time')
  draft.rootSessionId = rootSessionId
  draft.createdAt ??= at
}

export function foldUpdate(draft: Draft, { at, update: request }: GraphEntryData<'update'>): void {
  if (request.graphId !== draft.graphId) throw new FoldError(`belongs to graph ${request.graphId}`)
  if (draft.closed) throw new FoldError('comes after the graph was finished')
  if (draft.index.updates.has(request.updateId)) throw new FoldError(`repeats update ${request.updateId}`)
  movePhase(draft, request)
  draft.revision += 1
  draft.createdAt ??= at
  const update: ScheduleUpdate = Object.freeze({ ...request, revision: draft.revision, committedAt: at })
  draft.index.updates = draft.index.updates.set(update.updateId, keptUpdateOf(update))
  draft.index.sources = draft.index.sources.set(sourceKey(update.source), update.updateId)

  for (const stop of update.stop) stopTarget(draft, stop, at)
  for (const { replaces } of update.addWork) if (replaces !== undefined) held(draft.works, replaces, 'work')
  addWorks(draft, update)
  for (const { workId, reason } of update.retry ?? []) {
    held(draft.works, workId, 'work')
    retryWork(draft, { workId, reason, at })
  }
  if (update.finish !== undefined) finish(draft, update)
  orderPending(draft)
}

function movePhase(draft: Draft, { draft: step }: GraphEntryData<'update'>['update']): void {
  if (step === undefined) return
  const mayOpen = draft.phase === 'draft' || draft.revision === 0
  if (step === 'open' ? !mayOpen : draft.phase !== 'draft') {
    throw new FoldError(`is for a draft (${step}), and the graph is ${draft.phase}`)
  }
  draft.phase = step === 'open' ? 'draft' : 'open'
}

/** The works that a stop of this target ends, terminal ones included; `undefined`: no such target. */
export function worksOfTarget(
  graph: Pick<Draft, 'graphId' | 'works' | 'operators' | 'live' | 'index'>,
  targetId: string,
): readonly string[] | undefined {
  if (targetId === graph.graphId) return [...graph.live.pending.keys()]
  if (graph.works.has(targetId)) return [targetId]
  if (graph.operators.has(targetId)) return idsOf(graph.index.operatorWorks.get(targetId))
  return undefined
}

function stopTarget(draft: Draft, stop: StopRequest, at: number): void {
  const { targetId, reason } = stop
  const works = worksOfTarget(draft, targetId)
  if (works === undefined) throw new FoldError(`stops ${targetId}, which is not there`)
  const endings = works.map((workId) => ({ workId, ending: { status: 'stopped' as const, reason, at } }))
  if (stop.cascadeDownstream === true) {
    const why = `it waited for ${targetId}, which was stopped: ${reason}`
    for (const workId of downstreamOf(draft, works)) {
      endings.push({ workId, ending: { status: 'stopped', reason: why, at } })
    }
  }
  endWorks(draft, endings, at)
}

/** Everything that takes what these works leave, directly or not, and without them. */
function downstreamOf(draft: Draft, workIds: readonly string[]): readonly string[] {
  const reached = new Set<string>(workIds)
  // Grows while it is walked.
  for (const id of reached) {
    for (const dependent of idsOf(draft.index.dependents.get(id))) reached.add(dependent)
  }
  return [...reached].slice(new Set(workIds).size)
}

/** Works of one update may name each other in any order, so all are there before any is judged. */
function addWorks(draft: Draft, update: ScheduleUpdate): void {
  for (const request of update.addWork) {
    if (draft.works.has(request.workId)) throw new FoldError(`adds work ${request.workId} a second time`)
    addWork(draft, workOf(request, update, draft.counts.works + 1))
  }
  for (const request of update.addWork)
    for (const input of request.inputIds) noteInput(draft, request.workId, input)
  const touched = update.addWork.map((work) => work.workId)
  const endings: PendingEnding[] = []
  const at = update.committedAt
  for (const { workId, replaces } of update.addWork) {
    if (replaces === undefined) continue
    touched.push(...replace(draft, replaces, workId))
    endings.push({
      workId: replaces,
      ending: { status: 'superseded', reason: `replaced by ${workId}`, at },
    })
  }
  // Every place is taken before anything that follows from it is judged.
  endWorks(draft, endings, at)
  judgeWorks(draft, touched, at)
}

function workOf(request: WorkRequest, update: ScheduleUpdate, ordinal: number): Work {
  return {
    ...request,
    status: 'waiting',
    ordinal,
    revision: update.revision,
    addedAt: update.committedAt,
    waitingFor: NOTHING,
    recordIds: NOTHING,
    retries: 0,
    ...(request.target.kind === 'operator' ? { operatorId: request.target.id } : {}),
  }
}

function noteInput(draft: Draft, workId: string, input: string): void {
  if (draft.records.has(input)) return
  const work = inputWork(draft, input)
  if (work === undefined) {
    throw new FoldError(`takes input ${input}, which is neither a work nor a record of this graph`)
  }
  if (work.status !== 'completed') noteDependent(draft, work.workId, workId)
}

/** @returns what waits for the new work now that it takes the place of the old one. */
function replace(draft: Draft, oldId: string, newId: string): readonly string[] {
  const old = held(draft.works, oldId, 'work')
  if (old.status === 'completed') return []
  if (old.replacedBy !== undefined) throw new FoldError(`replaces ${oldId}, which ${old.replacedBy} replaced`)
  putWork(draft, { ...old, replacedBy: newId })
  const dependents = idsOf(draft.index.dependents.get(oldId))
  for (const id of dependents) noteDependent(draft, newId, id)
  const revived = isTerminal(old.status) ? reviveDependents(draft, [oldId]) : []
  draft.index.dependents = draft.index.dependents.delete(oldId)
  return [...revived, ...dependents]
}

function finish(draft: Draft, update: ScheduleUpdate): void {
  if (update.finish === undefined) return
  if (draft.counts.pending > 0) throw new FoldError('finishes a graph with works that are not over')
  draft.phase = 'closed'
  draft.closed = true
  draft.finish = Object.freeze({ ...update.finish, finishedAt: update.committedAt })
  draft.wait = undefined
  supersedeIdleWakes(draft, { at: update.committedAt, reason: 'the graph was finished' })
}
