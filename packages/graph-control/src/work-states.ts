/**
 * How a work moves, and what its end means for those that wait for it.
 *
 * A work waits until its inputs have ended, is then judged by its condition, and is `ready` or
 * `skipped`. All that follows from one entry is folded with it, at the cost of the works that change.
 *
 * Owns: the moves of one work and the walk downstream. Does not own: items (fold-items), retries
 * (fold-retries).
 */
import { itemsOf, joinEnding } from './fold-items.ts'
import { type Draft, idsOf, NOTHING } from './graph-state.ts'
import { TERMINAL_WORK_STATUSES, type Claim, type Work, type WorkStatus } from './types.ts'

export interface Ending {
  readonly status: 'completed' | 'failed' | 'cancelled' | 'stopped' | 'superseded' | 'skipped'
  readonly reason?: string | undefined
  readonly at: number
}

export function isTerminal(status: WorkStatus): boolean {
  return TERMINAL_WORK_STATUSES.has(status)
}

/** The one place where a work's view is replaced; the ready queue and the changes follow from it. */
export function putWork(draft: Draft, work: Work): void {
  const before = draft.works.get(work.workId)
  draft.works = draft.works.set(work.workId, Object.freeze(work))
  const { live, index } = draft
  const { workId } = work
  const seq = draft.seq + 1
  if (isFirstChange(draft, workId, seq)) index.changes = { workId, seq, earlier: index.changes }
  if (work.status === before?.status) return
  if (work.status === 'ready') live.ready = live.ready.set(work.workId, true)
  else if (before?.status === 'ready') live.ready = live.ready.delete(work.workId)
}

/** Whether the entry at `seq` changed the work for the first time. */
function isFirstChange(draft: Draft, workId: string, seq: number): boolean {
  const newest = draft.index.changes
  if (newest?.seq !== seq) return true
  draft.touched ??= new Set([newest.workId])
  if (draft.touched.has(workId)) return false
  draft.touched.add(workId)
  return true
}

/** The one place where a claim's view is replaced; what is live follows from it. */
export function putClaim(draft: Draft, claim: Claim): void {
  const wasHeld = draft.claims.get(claim.claimId)?.hold !== undefined
  // One that is let go comes behind those that were admitted meanwhile.
  if (wasHeld && claim.hold === undefined) draft.live.claims = draft.live.claims.delete(claim.claimId)
  draft.claims = draft.claims.set(claim.claimId, Object.freeze(claim))
  if (claim.admissionStatus === 'claimed' || claim.admissionStatus === 'executing') {
    draft.live.claims = draft.live.claims.set(claim.claimId, true)
    draft.live.busyOperators = draft.live.busyOperators.set(claim.targetOperatorId, claim.claimId)
  } else {
    draft.live.claims = draft.live.claims.delete(claim.claimId)
    draft.live.busyOperators = draft.live.busyOperators.delete(claim.targetOperatorId)
  }
}

/** Adds a work that is not over; whether it is ready is judged when all works of its entry are there. */
export function addWork(draft: Draft, work: Work): void {
  const { counts, live } = draft
  counts.works += 1
  counts.pending += 1
  live.pending = live.pending.set(work.workId, true)
  if (work.operatorId !== undefined) noteOperatorWork(draft, work.operatorId, work.workId)
  putWork(draft, work)
}

export function noteDependent(draft: Draft, inputId: string, workId: string): void {
  const chain = { id: workId, earlier: draft.index.dependents.get(inputId) }
  draft.index.dependents = draft.index.dependents.set(inputId, chain)
}

export function noteOperatorWork(draft: Draft, operatorId: string, workId: string): void {
  const chain = { id: workId, earlier: draft.index.operatorWorks.get(operatorId) }
  draft.index.operatorWorks = draft.index.operatorWorks.set(operatorId, chain)
}

/** The work that an input stands for now; `undefined` for a record. */
export function inputWork(graph: Pick<Draft, 'works'>, inputId: string): Work | undefined {
  let work = graph.works.get(inputId)
  while (work?.replacedBy !== undefined) work = graph.works.get(work.replacedBy)
  return work
}

/** Ends a work, unless it is over already, and settles everything downstream that this decides. */
export function endWork(draft: Draft, workId: string, ending: Ending): void {
  settleAll(draft, [{ workId, ending }], ending.at)
}

/** Ends works together: what ends by itself is not told as a consequence of the others. */
export function endWorks(draft: Draft, endings: readonly PendingEnding[], at: number): void {
  settleAll(draft, [...endings], at)
}

/** Judges works whose inputs may all have ended. */
export function judgeWorks(draft: Draft, workIds: readonly string[], at: number): void {
  const endings: PendingEnding[] = []
  for (const workId of workIds) judge(draft, workId, at, endings)
  settleAll(draft, endings, at)
}

export interface PendingEnding {
  readonly workId: string
  readonly ending: Ending
}

function settleAll(draft: Draft, endings: PendingEnding[], at: number): void {
  // What ends together has ended before anything that follows from it is judged.
  const ended = endings.splice(0).flatMap((next) => closeOpen(draft, next))
  for (const work of ended) follow(draft, work, at, endings)
  // Grows while it is walked: what an end decides is appended.
  for (const next of endings) for (const work of closeOpen(draft, next)) follow(draft, work, at, endings)
}

/** The work as it ended with its items, or nothing where it had ended before. */
function closeOpen(draft: Draft, { workId, ending }: PendingEnding): readonly Work[] {
  const work = draft.works.get(workId)
  if (work === undefined || isTerminal(work.status)) return []
  const ended = close(draft, work, ending)
  return [
    ended,
    ...(ended.itemWorkIds ?? []).flatMap((itemId) => closeOpen(draft, { workId: itemId, ending })),
  ]
}

/** What the end of a work decides. */
function follow(draft: Draft, ended: Work, at: number, endings: PendingEnding[]): void {
  for (const dependent of idsOf(draft.index.dependents.get(ended.workId)))
    judge(draft, dependent, at, endings)
  if (ended.status === 'completed') {
    draft.index.dependents = draft.index.dependents.delete(ended.workId)
  }
}

function close(draft: Draft, work: Work, { status, reason, at }: Ending): Work {
  draft.counts.pending -= 1
  draft.counts.terminal += 1
  draft.changeSeq += 1
  draft.live.pending = draft.live.pending.delete(work.workId)
  draft.index.ended = { workId: work.workId, changeSeq: draft.changeSeq, earlier: draft.index.ended }
  const ended: Work = {
    ...work,
    status,
    waitingFor: NOTHING,
    endedAt: at,
    endedChangeSeq: draft.changeSeq,
    ...(reason === undefined ? {} : { reason }),
  }
  putWork(draft, ended)
  if (status === 'stopped' || status === 'superseded') withdrawClaim(draft, work, reason)
  return ended
}

/** A claim that has not begun ends with its work: nothing runs that would have to be cancelled. */
function withdrawClaim(draft: Draft, work: Work, reason: string | undefined): void {
  const claim = work.claimId === undefined ? undefined : draft.claims.get(work.claimId)
  if (claim?.admissionStatus !== 'claimed') return
  const { hold: _, ...rest } = claim
  putClaim(draft, {
    ...rest,
    admissionStatus: 'cancelled',
    ...(reason === undefined ? {} : { cancellationReason: reason }),
  })
}

/** Moves a work that waits, as far as what it waits for allows. */
function judge(draft: Draft, workId: string, at: number, endings: PendingEnding[]): void {
  const work = draft.works.get(workId)
  if (work?.status !== 'waiting') return
  if (work.itemWorkIds !== undefined) {
    const waitingFor = work.waitingFor.filter((id) => !isTerminal(draft.works.get(id)?.status ?? 'failed'))
    if (waitingFor.length === work.waitingFor.length && waitingFor.length > 0) return
    if (waitingFor.length > 0) return putWork(draft, { ...work, waitingFor })
    const { recordIds, ending } = joinEnding(draft, work, at)
    putWork(draft, { ...work, waitingFor, recordIds })
    endings.push({ workId, ending })
    return
  }
  const inputs = work.inputIds.map((id) => ({ id, work: inputWork(draft, id) }))
  const lost = inputs.find((input) => input.work !== undefined && isLost(input.work))
  if (lost?.work !== undefined && (work.when ?? 'all') === 'all') {
    endings.push({ workId, ending: skipped(`input ${lost.work.workId} ${lost.work.status}`, at) })
    return
  }
  // Two inputs may stand for one work, once that took the place of the other.
  const open = inputs.flatMap(({ work: input }) =>
    input === undefined || isTerminal(input.status) ? [] : [input.workId],
  )
  const waitingFor = open.length === 0 ? NOTHING : [...new Set(open)]
  if (waitingFor.length > 0) {
    const isSame = waitingFor.length === work.waitingFor.length
    if (!isSame || waitingFor.some((id, at) => id !== work.waitingFor[at]))
      putWork(draft, { ...work, waitingFor })
    return
  }
  const isMet =
    (work.when ?? 'all') !== 'any' ||
    inputs.length === 0 ||
    inputs.some((input) => input.work === undefined || !isLost(input.work))
  if (!isMet) endings.push({ workId, ending: skipped('none of its inputs completed', at) })
  else if (work.forEach === undefined) putWork(draft, { ...work, waitingFor, status: 'ready' })
  else begin(draft, work, at, endings)
}

/** A `forEach` work whose inputs are there becomes the works of its items, and waits for them. */
function begin(draft: Draft, work: Work, at: number, endings: PendingEnding[]): void {
  const items = itemsOf(draft, work)
  if (typeof items === 'string') {
    endings.push({ workId: work.workId, ending: { status: 'failed', reason: items, at } })
    return
  }
  const itemWorkIds = Object.freeze(items.map((item) => item.workId))
  putWork(draft, { ...work, itemWorkIds, waitingFor: itemWorkIds, startedAt: at })
  for (const item of items) {
    addWork(draft, { ...item, revision: work.revision, addedAt: at, ordinal: draft.counts.works + 1 })
    noteDependent(draft, item.workId, work.workId)
    // An input that is lost now may come back, and an item that is retried then waits for it.
    for (const inputId of item.inputIds) {
      const input = inputWork(draft, inputId)
      if (input !== undefined && input.status !== 'completed') noteDependent(draft, input.workId, item.workId)
    }
    const added = draft.works.get(item.workId)
    if (added !== undefined) putWork(draft, { ...added, status: 'ready' })
  }
  if (items.length === 0) judge(draft, work.workId, at, endings)
}

function isLost(work: Work): boolean {
  return isTerminal(work.status) && work.status !== 'completed'
}

function skipped(reason: string, at: number): Ending {
  return { status: 'skipped', reason, at }
}
