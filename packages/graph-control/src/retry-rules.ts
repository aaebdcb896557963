/** What may be retried: judged on the state that the rest of the update leads to. */
import { graphEntry } from './entries.ts'
import { GraphControlError } from './errors.ts'
import { fold } from './fold.ts'
import { isReplaced, isRetryable } from './fold-retries.ts'
import type { FoldedGraph } from './graph-state.ts'
import type { Claim, ScheduleUpdateRequest, Work } from './types.ts'
import { isTerminal } from './work-states.ts'

/** @throws GraphControlError `work-conflict`, naming the cure. */
export function requireRetries(state: FoldedGraph, request: ScheduleUpdateRequest, at: number): void {
  const { retry = [], finish: _, ...rest } = request
  if (retry.length === 0) return
  const heirs = new Map(request.addWork.map((work) => [work.replaces, work.workId]))
  for (const { workId } of retry) {
    requireRetryable(state, workId)
    const heir = heirs.get(workId) ?? heirs.get(state.works.get(workId)?.joinedBy ?? workId)
    if (heir !== undefined)
      throw conflict(`cannot retry ${workId}, which ${heir} of the same update replaces`)
  }
  // What a stop of the same update ends may still run, and is no more to be begun anew than before.
  if (rest.stop.length > 0) {
    const stopped = fold(state, graphEntry('update', { at, update: rest }))
    for (const { workId } of retry) requireNoLiveClaims(stopped, workId)
  }
  const after = fold(state, graphEntry('update', { at, update: { ...rest, retry } }))
  for (const { workId } of retry) {
    const work = after.works.get(workId)
    if (work?.status !== 'skipped') continue
    throw conflict(
      `work ${workId} would be skipped again: ${work.reason ?? 'its inputs did not complete'}; ` +
        'retry or replace that input, and what waits for it follows by itself',
    )
  }
}

function requireRetryable(state: FoldedGraph, workId: string): void {
  const work = state.works.get(workId)
  if (work === undefined) throw conflict(`cannot retry ${workId}: no such work in this graph`)
  if (isReplaced(state, work)) {
    const heir = work.replacedBy ?? state.works.get(work.joinedBy ?? '')?.replacedBy ?? ''
    throw conflict(`cannot retry ${workId}: ${heir} took its place; retry that one`)
  }
  const hold = heldClaim(state, work)?.hold
  if (hold?.kind === 'model') return
  if (hold !== undefined) {
    throw conflict(`cannot retry ${workId}: a person has to confirm it first (${hold.reason})`)
  }
  if (work.itemWorkIds !== undefined) return requireRetryableItems(state, work, work.itemWorkIds)
  if (!isRetryable(work)) {
    throw conflict(
      `cannot retry ${workId}, which is ${work.status}; only failed, cancelled, stopped and skipped works are`,
    )
  }
  requireNoLiveClaim(state, work)
}

function requireRetryableItems(state: FoldedGraph, work: Work, itemIds: readonly string[]): void {
  const lost = itemIds.flatMap((id) => state.works.get(id) ?? []).filter(isRetryable)
  if (lost.length === 0) throw conflict(`cannot retry ${work.workId}: none of its items failed`)
  for (const item of lost) requireNoLiveClaim(state, item)
}

/** The claim of a work whose attempt may not go on by itself. */
function heldClaim(state: FoldedGraph, { claimId, status }: Work): Claim | undefined {
  const claim = claimId === undefined || isTerminal(status) ? undefined : state.claims.get(claimId)
  return claim?.hold !== undefined && claim.admissionStatus === 'executing' ? claim : undefined
}

function requireNoLiveClaims(state: FoldedGraph, workId: string): void {
  const ids = state.works.get(workId)?.itemWorkIds ?? [workId]
  for (const own of ids.flatMap((id) => state.works.get(id) ?? []).filter(isRetryable)) {
    requireNoLiveClaim(state, own)
  }
}

function requireNoLiveClaim(state: FoldedGraph, { workId, claimId }: Work): void {
  if (claimId === undefined || !state.live.claims.has(claimId)) return
  throw conflict(
    `cannot retry ${workId} yet: its last attempt is still being cancelled; try again in a moment`,
  )
}

function conflict(message: string): GraphControlError {
  return new GraphControlError('work-conflict', message)
}
