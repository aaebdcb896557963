/**
 * Bringing works back to life: a work that is retried, one whose place another takes, and whatever
 * downstream was skipped on their account.
 */
import { type Draft, idsOf, NOTHING } from './graph-state.ts'
import { VersionedMap } from './versioned-map.ts'
import type { Work, WorkStatus } from './types.ts'
import { isTerminal, judgeWorks, putClaim, putWork } from './work-states.ts'

/** Statuses from which a work can be brought back. */
export function isRetryable(work: Work): boolean {
  return ['failed', 'cancelled', 'stopped', 'skipped'].includes(work.status)
}

/** From here a join comes back with one of its items. */
const JOIN_REVIVED: ReadonlySet<WorkStatus> = new Set<WorkStatus>(['failed', 'stopped'])

/** Retries a work; of a joined one, those of its items that did not complete. */
export function retryWork(
  draft: Draft,
  { workId, reason, at }: { readonly workId: string; readonly reason: string; readonly at: number },
): void {
  const work = draft.works.get(workId)
  if (work === undefined) return
  if (confirmHeld(draft, work, reason)) return
  const asked = work.itemWorkIds ?? [workId]
  // One that another retry of the same update brought back already is left as it is.
  const retried = asked.flatMap((id) => draft.works.get(id) ?? []).filter(isRetryable)
  for (const own of retried) reopen(draft, { ...own, retries: own.retries + 1, retryReason: reason })
  const ids = retried.map((own) => own.workId)
  judgeWorks(draft, [...ids, ...reviveDependents(draft, ids)], at)
}

/** A work whose attempt is held goes on with the next attempt, under the same claim. */
function confirmHeld(draft: Draft, work: Work, reason: string): boolean {
  const held = work.claimId === undefined ? undefined : draft.claims.get(work.claimId)
  if (held?.hold === undefined || held.admissionStatus !== 'executing' || isTerminal(work.status))
    return false
  const { hold: _h, notBefore: _n, ...claim } = held
  putClaim(draft, { ...claim, attempt: claim.attempt + 1, retryReason: reason })
  putWork(draft, { ...work })
  return true
}

/**
 * What was skipped because of these works waits again, and so on downstream.
 *
 * @returns what is to be judged anew: those, and what waits for one of them or of the works named.
 */
export function reviveDependents(draft: Draft, workIds: readonly string[]): readonly string[] {
  const touched: string[] = []
  const causes = [...workIds]
  for (const cause of causes) {
    for (const id of idsOf(draft.index.dependents.get(cause))) {
      const work = draft.works.get(id)
      if (work === undefined || isReplaced(draft, work)) continue
      const isJoin = work.itemWorkIds?.includes(cause) === true
      // A join that still waits for other items waits for the retried one too.
      if (isJoin && work.status === 'waiting') putWork(draft, reopened(draft, work))
      else if (work.status === 'waiting') touched.push(id)
      if (work.status !== 'skipped' && !(isJoin && JOIN_REVIVED.has(work.status))) continue
      reopen(draft, work)
      touched.push(id)
      causes.push(id)
    }
  }
  return touched
}

/** Another work took the place of this one, or of the one that it does an item of. */
export function isReplaced({ works }: Pick<Draft, 'works'>, work: Work): boolean {
  if (work.replacedBy !== undefined) return true
  return work.joinedBy !== undefined && works.get(work.joinedBy)?.replacedBy !== undefined
}

/** Brings what is pending back into the order of the places in the graph, where works came back to life. */
export function orderPending(draft: Draft): void {
  if (draft.isReordered !== true) return
  delete draft.isReordered
  draft.live.pending = pendingInOrder(draft.works, [...draft.live.pending.keys()])
}

export function pendingInOrder(works: Draft['works'], ids: readonly string[]): VersionedMap<true> {
  const places = ids.map((id) => [works.get(id)?.ordinal ?? 0, id] as const)
  const ordered = places.sort((a, b) => a[0] - b[0])
  return VersionedMap.from(ordered.map(([, id]) => [id, true] as const))
}

function reopen(draft: Draft, work: Work): void {
  draft.counts.pending += 1
  draft.counts.terminal -= 1
  draft.live.pending = draft.live.pending.set(work.workId, true)
  draft.isReordered = true
  putWork(draft, reopened(draft, work))
}

function reopened(draft: Draft, work: Work): Work {
  const { reason: _r, endedAt: _e, endedChangeSeq: _s, claimId: _c, startedAt, ...rest } = work
  const items = (work.itemWorkIds ?? []).filter((id) => !isTerminal(draft.works.get(id)?.status ?? 'failed'))
  return {
    ...rest,
    status: 'waiting',
    recordIds: NOTHING,
    waitingFor: Object.freeze(items),
    ...(work.itemWorkIds === undefined || startedAt === undefined ? {} : { startedAt }),
  }
}
