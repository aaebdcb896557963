/** The reference: updates. Stops first, then works and replacements, then retries, then the finish. */
import { isDeepStrictEqual } from 'node:util'
import type { ScheduleUpdate, ScheduleUpdateRequest, StopRequest, WorkRequest } from '../../src/index.ts'
import { inputsOf, itemsOf, type RefGraph, type RefWork, standsFor, workOf } from './graph.ts'
import { done, kept, refused, Rules, type Verdict } from './verdict.ts'
import { endIdleWakes } from './wakes.ts'
import { downstream, end, retry, revive, settle, whyNoRetry } from './works.ts'

/** @param root the root whose epoch names the graph, where the graph has no entries yet. */
export function update(graph: RefGraph, request: ScheduleUpdateRequest, at: number, root?: string): Verdict {
  const existing = graph.updates.find((known) => known.updateId === request.updateId)
  if (existing !== undefined) {
    return isSame(existing, request)
      ? kept({ created: false, revision: existing.revision })
      : refused('schedule-update-conflict')
  }
  const { source, stop, addWork, retry: retries = [], finish, draft } = request
  const rules = new Rules()
    .keep(!graph.updates.some((known) => isSameCall(known, source)), 'schedule-update-conflict')
    .keep(graph.finish === undefined, 'schedule-closed')
    .keep(draft !== 'commit' || graph.isDraft, 'draft-conflict')
    .keep(draft !== 'open' || graph.isDraft || graph.updates.length === 0, 'draft-conflict')
    .keep(finish === undefined || (addWork.length === 0 && retries.length === 0), 'invalid')
    .keep(
      stop.every(({ targetId }) => targetsOf(graph, targetId) !== undefined),
      'work-conflict',
    )
    .keep(
      (finish?.resultIds ?? []).every((id) => graph.records.some((record) => record.recordId === id)),
      'record-not-found',
    )
  for (const work of addWork) ruleWork(rules, graph, work, addWork)
  const replaced = new Set(addWork.map((work) => work.replaces))
  for (const { workId } of retries) {
    const isReplaced = [workId, workOf(graph, workId)?.joinedBy].some(
      (id) => id !== undefined && replaced.has(id),
    )
    rules.keep(whyNoRetry(graph, workId) === undefined && !isReplaced, 'work-conflict')
  }
  if (!rules.broken.includes('work-conflict')) ruleOutcome(rules, graph, request, at)
  return rules.allow(() => {
    if (root !== undefined) open(graph, root, at)
    move(graph, request, at)
    graph.seq += 1
    return done({ created: true, revision: graph.updates.length })
  })
}

/** Rules on what the update would lead to. */
function ruleOutcome(rules: Rules, graph: RefGraph, request: ScheduleUpdateRequest, at: number): void {
  const { addWork, retry: retries = [], finish } = request
  const stopped = structuredClone(graph)
  move(stopped, { ...request, addWork: [], retry: [] }, at)
  rules.keep(!retries.some(({ workId }) => whyNoRetry(stopped, workId) === 'still running'), 'work-conflict')
  const after = structuredClone(graph)
  move(after, request, at)
  const isOfUpdate = (work: RefWork) => addWork.some((asked) => asked.workId === work.id)
  rules.keep(
    !after.works.some((work) => isOfUpdate(work) && restsOnItself(graph, after, work)),
    'work-conflict',
  )
  rules.keep(
    retries.every(({ workId }) => workOf(after, workId)?.over?.status !== 'skipped'),
    'work-conflict',
  )
  rules.keep(finish === undefined || after.works.every((work) => work.over !== undefined), 'work-conflict')
}

export function open(graph: RefGraph, root: string, at: number): void {
  graph.root = root
  graph.createdAt ??= at
  graph.seq += 1
}

function isSame(known: ScheduleUpdate, request: ScheduleUpdateRequest): boolean {
  const parts = ({
    updateFingerprint,
    addWork,
    stop,
    retry: again,
    finish,
    draft,
  }: ScheduleUpdateRequest) => ({
    updateFingerprint,
    addWork,
    stop,
    again,
    finish,
    draft,
  })
  return isDeepStrictEqual(parts(known), parts(request))
}

function isSameCall({ source }: ScheduleUpdate, other: ScheduleUpdate['source']): boolean {
  return (['sessionId', 'runId', 'toolCallId'] as const).every((key) => source[key] === other[key])
}

function ruleWork(rules: Rules, graph: RefGraph, work: WorkRequest, addWork: readonly WorkRequest[]): void {
  const { workId, target, inputIds, forEach, replaces, replacementMode } = work
  const isOperator = (id: string) => graph.operators.some((operator) => operator.operatorId === id)
  const isTaken = workOf(graph, workId) !== undefined || isOperator(workId) || workId === graph.graphId
  rules.keep(!isTaken && !workId.startsWith('graph_record_'), 'work-conflict')
  rules.keep(target.kind !== 'operator' || isOperator(target.id), 'provision-not-found')
  rules.keep(forEach === undefined || inputIds.includes(forEach), 'invalid')
  rules.keep(replacementMode !== 'none' || replaces === undefined, 'invalid')
  rules.keep(replacementMode !== 'replace' || replaces !== undefined, 'invalid')
  for (const id of inputIds) {
    const isAdded = addWork.some((other) => other.workId === id)
    const isRecord = graph.records.some((record) => record.recordId === id)
    rules.keep(isAdded || isRecord || workOf(graph, id) !== undefined, 'work-conflict')
  }
  if (replaces === undefined) return
  const old = workOf(graph, replaces)
  rules.keep(old !== undefined && old.replacedBy === undefined && old.joinedBy === undefined, 'work-conflict')
  rules.keep(addWork.filter((other) => other.replaces === replaces).length === 1, 'work-conflict')
  rules.keep(old?.over?.status === 'completed' || !inputIds.includes(replaces), 'work-conflict')
}

/** Whether a work takes, over any number of others that had not completed before, what it leaves itself. */
function restsOnItself(before: RefGraph, graph: RefGraph, work: RefWork): boolean {
  const reached = new Set<RefWork>()
  const next = [work]
  for (const from of next) {
    if (workOf(before, from.id)?.over?.status === 'completed') continue
    for (const cause of [...inputsOf(graph, from), ...itemsOf(graph, from)]) {
      if (cause === work) return true
      if (!reached.has(cause)) next.push(cause)
      reached.add(cause)
    }
  }
  return false
}

function move(graph: RefGraph, request: ScheduleUpdateRequest, at: number): void {
  graph.createdAt ??= at
  if (request.draft !== undefined) graph.isDraft = request.draft === 'open'
  graph.updates.push({ ...request, revision: graph.updates.length + 1, committedAt: at })
  for (const stop of request.stop) stopTargets(graph, stop, at)
  addWorks(graph, request.addWork, at)
  for (const { workId, reason } of request.retry ?? []) retry(graph, workId, reason, at)
  if (request.finish === undefined) return
  graph.finish = { ...request.finish, finishedAt: at }
  graph.isDraft = false
  delete graph.wait
  endIdleWakes(graph, at, 'the graph was finished')
}

function targetsOf(graph: RefGraph, id: string): RefWork[] | undefined {
  if (id === graph.graphId) return graph.works.filter((work) => work.over === undefined)
  const work = workOf(graph, id)
  if (work !== undefined) return [work]
  if (!graph.operators.some((operator) => operator.operatorId === id)) return undefined
  return graph.works.filter((other) => other.operatorId === id)
}

function stopTargets(
  graph: RefGraph,
  { targetId, reason, cascadeDownstream }: StopRequest,
  at: number,
): void {
  const targets = targetsOf(graph, targetId) ?? []
  const swept = cascadeDownstream === true ? downstream(graph, targets) : []
  for (const work of targets) end(graph, work, { status: 'stopped', reason, at })
  const why = `it waited for ${targetId}, which was stopped: ${reason}`
  for (const work of swept) end(graph, work, { status: 'stopped', reason: why, at })
  settle(graph, at)
}

function addWorks(graph: RefGraph, addWork: readonly WorkRequest[], at: number): void {
  for (const request of addWork) {
    graph.works.push({
      id: request.workId,
      request,
      ordinal: graph.works.length + 1,
      revision: graph.updates.length,
      addedAt: at,
      isAdmitted: false,
      endings: 0,
      retries: 0,
      ...(request.target.kind === 'operator' ? { operatorId: request.target.id } : {}),
    })
  }
  for (const { workId, replaces } of addWork) {
    const old = workOf(graph, replaces)
    if (old === undefined || old.over?.status === 'completed') continue
    const wasOver = old.over !== undefined
    old.replacedBy = workId
    const heir = standsFor(graph, workId)
    if (wasOver && heir !== undefined) revive(graph, [heir])
    end(graph, old, { status: 'superseded', reason: `replaced by ${workId}`, at })
  }
  settle(graph, at)
}
