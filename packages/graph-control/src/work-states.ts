/**
 * How a work moves, and what its end means for those that wait for it.
 *
 * A work waits for its inputs. An input is there once the work it names completed or left a record;
 * an input that ended without one fails whoever waits for it, and so on downstream: nothing waits
 * for what cannot come. All of it follows from the entry that is folded, at the cost of the works
 * that change.
 */
import { type Draft, idsOf } from './graph-state.ts'
import { TERMINAL_WORK_STATUSES, type Claim, type Work, type WorkStatus } from './types.ts'

export interface Ending {
  readonly status: 'completed' | 'failed' | 'cancelled' | 'stopped' | 'superseded'
  readonly reason?: string | undefined
  readonly at: number
}

export function isTerminal(status: WorkStatus): boolean {
  return TERMINAL_WORK_STATUSES.has(status)
}

/** Whether the work gives those who wait for it what they wait for. */
export function isSatisfied(work: Work): boolean {
  return isTerminal(work.status) && (work.status === 'completed' || work.recordIds.length > 0)
}

/** The one place where a work's view is replaced; the ready queue follows from it. */
export function putWork(draft: Draft, work: Work): void {
  const before = draft.works.get(work.workId)
  draft.works = draft.works.set(work.workId, Object.freeze(work))
  const { live } = draft
  if (work.status === before?.status) return
  if (work.status === 'ready') live.ready = live.ready.set(work.workId, true)
  else if (before?.status === 'ready') live.ready = live.ready.delete(work.workId)
}

/** The one place where a claim's view is replaced; what is live follows from it. */
export function putClaim(draft: Draft, claim: Claim): void {
  draft.claims = draft.claims.set(claim.claimId, Object.freeze(claim))
  if (claim.admissionStatus === 'claimed' || claim.admissionStatus === 'executing') {
    draft.live.claims = draft.live.claims.set(claim.claimId, true)
    draft.live.busyOperators = draft.live.busyOperators.set(claim.targetOperatorId, claim.claimId)
  } else {
    draft.live.claims = draft.live.claims.delete(claim.claimId)
    draft.live.busyOperators = draft.live.busyOperators.delete(claim.targetOperatorId)
  }
}

/** Adds a work that waits for these inputs; none makes it ready. */
export function addWork(draft: Draft, work: Work, waitingFor: readonly string[]): void {
  const { index, live, counts } = draft
  counts.works += 1
  counts.pending += 1
  live.pending = live.pending.set(work.workId, true)
  for (const input of waitingFor) {
    const chain = { id: work.workId, earlier: index.dependents.get(input) }
    index.dependents = index.dependents.set(input, chain)
  }
  if (work.operatorId !== undefined) noteOperatorWork(draft, work.operatorId, work.workId)
  putWork(draft, { ...work, waitingFor, status: waitingFor.length === 0 ? 'ready' : 'waiting' })
}

export function noteOperatorWork(draft: Draft, operatorId: string, workId: string): void {
  const chain = { id: workId, earlier: draft.index.operatorWorks.get(operatorId) }
  draft.index.operatorWorks = draft.index.operatorWorks.set(operatorId, chain)
}

/** Ends a work, unless it is over already, and settles everything downstream that this decides. */
export function endWork(draft: Draft, workId: string, ending: Ending): void {
  const endings = [{ workId, ending }]
  for (const next of endings) {
    const work = draft.works.get(next.workId)
    if (work === undefined || isTerminal(work.status)) continue
    const ended = close(draft, work, next.ending)
    for (const dependent of idsOf(draft.index.dependents.get(ended.workId))) {
      if (isSatisfied(ended)) supply(draft, dependent, ended.workId)
      else {
        const reason = `input ${ended.workId} ${ended.status}`
        endings.push({ workId: dependent, ending: { status: 'failed', reason, at: ending.at } })
      }
    }
    draft.index.dependents = draft.index.dependents.delete(ended.workId)
  }
}

function close(draft: Draft, work: Work, { status, reason, at }: Ending): Work {
  draft.counts.pending -= 1
  draft.counts.terminal += 1
  draft.changeSeq += 1
  draft.live.pending = draft.live.pending.delete(work.workId)
  const ended: Work = {
    ...work,
    status,
    waitingFor: [],
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
  putClaim(draft, {
    ...claim,
    admissionStatus: 'cancelled',
    ...(reason === undefined ? {} : { cancellationReason: reason }),
  })
}

function supply(draft: Draft, workId: string, inputId: string): void {
  const work = draft.works.get(workId)
  if (work?.status !== 'waiting') return
  const waitingFor = work.waitingFor.filter((id) => id !== inputId)
  putWork(draft, { ...work, waitingFor, status: waitingFor.length === 0 ? 'ready' : 'waiting' })
}
