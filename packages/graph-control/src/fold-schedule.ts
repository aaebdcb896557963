/** What an update does to a graph: targets stop, works are superseded, works are added, it finishes. */
import type { GraphEntryData } from './entries.ts'
import { supersedeIdleWake } from './fold-wakes.ts'
import { type Draft, FoldError, held, idsOf, sourceKey } from './graph-state.ts'
import type { ScheduleUpdate, StopRequest, Work, WorkRequest } from './types.ts'
import { addWork, endWork, isSatisfied, isTerminal } from './work-states.ts'

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
  draft.revision += 1
  draft.createdAt ??= at
  const update: ScheduleUpdate = Object.freeze({ ...request, revision: draft.revision, committedAt: at })
  draft.index.updates = draft.index.updates.set(update.updateId, update)
  draft.index.sources = draft.index.sources.set(sourceKey(update.source), update.updateId)

  for (const stop of update.stop) stopTarget(draft, stop, at)
  for (const { workId, replaces } of update.addWork) {
    if (replaces === undefined) continue
    held(draft.works, replaces, 'work')
    endWork(draft, replaces, { status: 'superseded', reason: `replaced by ${workId}`, at })
  }
  addWorks(draft, update)
  if (update.finish !== undefined) finish(draft, update)
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

function stopTarget(draft: Draft, { targetId, reason }: StopRequest, at: number): void {
  const works = worksOfTarget(draft, targetId)
  if (works === undefined) throw new FoldError(`stops ${targetId}, which is not there`)
  for (const workId of works) endWork(draft, workId, { status: 'stopped', reason, at })
}

/** Works of one update may name each other in any order, so all are there before any is judged. */
function addWorks(draft: Draft, update: ScheduleUpdate): void {
  const added = new Set(update.addWork.map((work) => work.workId))
  for (const request of update.addWork) {
    if (draft.works.has(request.workId)) throw new FoldError(`adds work ${request.workId} a second time`)
    const waitingFor = request.inputIds.filter((input) => added.has(input) || !isThere(draft, input))
    addWork(draft, workOf(request, update), waitingFor)
  }
  for (const request of update.addWork) {
    const lost = request.inputIds.find((input) => isLost(draft, input))
    if (lost === undefined) continue
    const reason = `input ${lost} ${draft.works.get(lost)?.status ?? 'missing'}`
    endWork(draft, request.workId, { status: 'failed', reason, at: update.committedAt })
  }
}

function workOf(request: WorkRequest, update: ScheduleUpdate): Work {
  return {
    ...request,
    status: 'waiting',
    revision: update.revision,
    addedAt: update.committedAt,
    waitingFor: [],
    recordIds: [],
    ...(request.target.kind === 'operator' ? { operatorId: request.target.id } : {}),
  }
}

function isThere(draft: Draft, input: string): boolean {
  const work = draft.works.get(input)
  if (work !== undefined) return isSatisfied(work)
  if (draft.records.has(input)) return true
  throw new FoldError(`takes input ${input}, which is neither a work nor a record of this graph`)
}

function isLost(draft: Draft, input: string): boolean {
  const work = draft.works.get(input)
  return work !== undefined && isTerminal(work.status) && !isSatisfied(work)
}

function finish(draft: Draft, update: ScheduleUpdate): void {
  if (update.finish === undefined) return
  if (draft.counts.pending > 0) throw new FoldError('finishes a graph with works that are not over')
  draft.closed = true
  draft.finish = Object.freeze({ ...update.finish, finishedAt: update.committedAt })
  draft.wait = undefined
  supersedeIdleWake(draft, update.committedAt)
}
