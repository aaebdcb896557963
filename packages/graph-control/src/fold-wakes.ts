/** What yields, acknowledgements and wakes do to a graph. */
import type { GraphEntryData } from './entries.ts'
import { type Draft, FoldError, held } from './graph-state.ts'
import type { Wake, WakeStatus } from './types.ts'

export function isOpenWake(status: WakeStatus): boolean {
  return status === 'pending' || status === 'running' || status === 'retryable_failed'
}

export function foldWait(draft: Draft, data: GraphEntryData<'wait'>): void {
  const { at, v: _, ...wait } = data
  draft.wait = Object.freeze({ ...wait, registeredAt: at })
}

export function foldSeen(draft: Draft, { at, changeSeq }: GraphEntryData<'seen'>): void {
  if (changeSeq > draft.changeSeq) throw new FoldError(`acknowledges change ${changeSeq}, which is to come`)
  draft.seenChangeSeq = Math.max(draft.seenChangeSeq, changeSeq)
  const open = openWake(draft)
  // Nobody has begun to deliver it, and it has nothing left to tell.
  if (open?.status === 'pending' && open.snapshotVersion <= draft.seenChangeSeq) {
    settleWake(draft, open, { status: 'superseded', at, failureReason: 'seen before it was delivered' })
  }
}

export function foldWake(draft: Draft, data: GraphEntryData<'wake'>): void {
  const { at, wakeId, snapshotVersion, rootSessionId } = data
  if (draft.wakes.has(wakeId)) throw new FoldError(`repeats wake ${wakeId}`)
  if (draft.live.openWakeId !== undefined) {
    throw new FoldError(`wakes while wake ${draft.live.openWakeId} is open`)
  }
  if (snapshotVersion > draft.changeSeq) throw new FoldError(`reports change ${snapshotVersion} too early`)
  draft.live.openWakeId = wakeId
  draft.live.wokenChangeSeq = Math.max(draft.live.wokenChangeSeq, snapshotVersion)
  putWake(draft, {
    wakeId,
    snapshotVersion,
    rootSessionId,
    status: 'pending',
    attempts: 0,
    createdAt: at,
    updatedAt: at,
  })
}

export function foldWakeAttempt(
  draft: Draft,
  { at, wakeId, attemptId }: GraphEntryData<'wake-attempt'>,
): void {
  const wake = held(draft.wakes, wakeId, 'wake')
  if (wake.status !== 'pending' && wake.status !== 'retryable_failed') {
    throw new FoldError(`delivers wake ${wakeId}, which is ${wake.status}`)
  }
  if (draft.index.wakeAttempts.has(attemptId)) throw new FoldError(`repeats wake attempt ${attemptId}`)
  draft.index.wakeAttempts = draft.index.wakeAttempts.set(attemptId, { wakeId, status: 'running' })
  const { failureReason: _, ...rest } = wake
  putWake(draft, {
    ...rest,
    status: 'running',
    attempts: wake.attempts + 1,
    currentAttemptId: attemptId,
    updatedAt: at,
  })
  // The root gets its turn: it no longer waits, and what it registers in that turn is a new wait.
  draft.wait = undefined
}

export function foldWakeSettled(draft: Draft, data: GraphEntryData<'wake-settled'>): void {
  const { at, wakeId, attemptId, status, failureReason } = data
  const wake = held(draft.wakes, wakeId, 'wake')
  if (!isOpenWake(wake.status) || wake.currentAttemptId !== attemptId) {
    throw new FoldError(`settles wake ${wakeId} by an attempt that is not its current one`)
  }
  if (attemptId !== undefined) {
    draft.index.wakeAttempts = draft.index.wakeAttempts.set(attemptId, { wakeId, status })
  }
  if (status === 'delivered') {
    draft.seenChangeSeq = Math.max(draft.seenChangeSeq, wake.snapshotVersion)
  }
  settleWake(draft, wake, { status, at, failureReason })
}

/** A finished graph has nothing more to tell, except to the turn that is being delivered right now. */
export function supersedeIdleWake(draft: Draft, at: number): void {
  const open = openWake(draft)
  if (open === undefined || open.status === 'running') return
  settleWake(draft, open, { status: 'superseded', at, failureReason: 'the graph was finished' })
}

function openWake(draft: Draft): Wake | undefined {
  return draft.live.openWakeId === undefined ? undefined : draft.wakes.get(draft.live.openWakeId)
}

function settleWake(
  draft: Draft,
  wake: Wake,
  end: { status: WakeStatus; at: number; failureReason?: string | undefined },
): void {
  const { currentAttemptId: _, ...rest } = wake
  putWake(draft, {
    ...rest,
    status: end.status,
    updatedAt: end.at,
    ...(end.failureReason === undefined ? {} : { failureReason: end.failureReason }),
  })
  if (!isOpenWake(end.status)) draft.live.openWakeId = undefined
}

function putWake(draft: Draft, wake: Wake): void {
  draft.wakes = draft.wakes.set(wake.wakeId, Object.freeze(wake))
}
