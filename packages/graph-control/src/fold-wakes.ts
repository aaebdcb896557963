/** What yields, acknowledgements and wakes do to a graph. */
import type { GraphEntryData } from './entries.ts'
import { type Draft, FoldError, held } from './graph-state.ts'
import { nextOccurrence } from './recurrence.ts'
import type { Wake, WakeStatus } from './types.ts'

const OPEN: ReadonlySet<WakeStatus> = new Set<WakeStatus>([
  'pending',
  'running',
  'waiting_permission',
  'retryable_failed',
])

export function isOpenWake(status: WakeStatus): boolean {
  return OPEN.has(status)
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
  const { at, wakeId, snapshotVersion, rootSessionId, dueAt, recurMs } = data
  if (draft.wakes.has(wakeId)) throw new FoldError(`repeats wake ${wakeId}`)
  if (snapshotVersion > draft.changeSeq) throw new FoldError(`reports change ${snapshotVersion} too early`)
  if (dueAt === undefined) {
    if (draft.live.openWakeId !== undefined) {
      throw new FoldError(`wakes while wake ${draft.live.openWakeId} is open`)
    }
    draft.live.openWakeId = wakeId
    draft.live.wokenChangeSeq = Math.max(draft.live.wokenChangeSeq, snapshotVersion)
  }
  addWake(draft, {
    wakeId,
    snapshotVersion,
    rootSessionId,
    status: 'pending',
    attempts: 0,
    ...(dueAt === undefined ? {} : { dueAt }),
    ...(recurMs === undefined ? {} : { recurMs }),
    createdAt: at,
    updatedAt: at,
  })
}

function addWake(draft: Draft, wake: Wake): void {
  if (wake.dueAt !== undefined) draft.live.scheduledWakes = draft.live.scheduledWakes.set(wake.wakeId, true)
  putWake(draft, wake)
}

export function foldWakeAttempt(draft: Draft, data: GraphEntryData<'wake-attempt'>): void {
  const { at, wakeId, attemptId, turnId } = data
  const wake = held(draft.wakes, wakeId, 'wake')
  if (wake.status === 'waiting_permission' && wake.currentAttemptId === attemptId)
    return goOn(draft, wake, attemptId, at)
  if (wake.status !== 'pending' && wake.status !== 'retryable_failed') {
    throw new FoldError(`delivers wake ${wakeId}, which is ${wake.status}`)
  }
  if (draft.index.wakeAttempts.has(attemptId)) throw new FoldError(`repeats wake attempt ${attemptId}`)
  const isScheduled = draft.live.scheduledWakes.has(wakeId)
  if (isScheduled) {
    if (draft.live.openWakeId !== undefined) throw new FoldError(`delivers ${wakeId} beside another wake`)
    draft.live.scheduledWakes = draft.live.scheduledWakes.delete(wakeId)
    draft.live.openWakeId = wakeId
    draft.live.wokenChangeSeq = draft.changeSeq
  }
  const turn = turnId === undefined ? {} : { turnId }
  const attempt = Object.freeze({ attemptId, wakeId, status: 'running' as const, startedAt: at, ...turn })
  draft.index.wakeAttempts = draft.index.wakeAttempts.set(attemptId, attempt)
  const { failureReason: _f, retryAt: _r, ...rest } = wake
  putWake(draft, {
    ...rest,
    // A scheduled wake reports whatever there is to report by then.
    ...(isScheduled ? { snapshotVersion: draft.changeSeq } : {}),
    status: 'running',
    attempts: wake.attempts + 1,
    currentAttemptId: attemptId,
    updatedAt: at,
  })
  // The root gets its turn: it no longer waits, and what it registers in that turn is a new wait.
  draft.wait = undefined
}

/** The person has answered: the attempt that was parked is under way again. */
function goOn(draft: Draft, wake: Wake, attemptId: string, at: number): void {
  const { failureReason: _a, ...attempt } = held(draft.index.wakeAttempts, attemptId, 'wake attempt')
  draft.index.wakeAttempts = draft.index.wakeAttempts.set(
    attemptId,
    Object.freeze({ ...attempt, status: 'running' }),
  )
  const { failureReason: _w, ...rest } = wake
  putWake(draft, { ...rest, status: 'running', updatedAt: at })
}

export function foldWakeSettled(draft: Draft, data: GraphEntryData<'wake-settled'>): void {
  const { at, wakeId, attemptId, status, failureReason, retryAt } = data
  const wake = held(draft.wakes, wakeId, 'wake')
  if (!isOpenWake(wake.status) || wake.currentAttemptId !== attemptId) {
    throw new FoldError(`settles wake ${wakeId} by an attempt that is not its current one`)
  }
  if (status === 'delivered') {
    draft.seenChangeSeq = Math.max(draft.seenChangeSeq, wake.snapshotVersion)
  }
  settleWake(draft, wake, { status, at, failureReason, retryAt })
}

export function foldWakesSuperseded(draft: Draft, { at, reason }: GraphEntryData<'wakes-superseded'>): void {
  const open = openWake(draft)
  if (open !== undefined) settleWake(draft, open, { status: 'superseded', at, failureReason: reason })
  supersedeScheduled(draft, at, reason)
}

/** A finished graph has nothing more to tell, except to the turn that is being delivered right now. */
export function supersedeIdleWakes(draft: Draft, { at, reason }: { at: number; reason: string }): void {
  const open = openWake(draft)
  if (open !== undefined && open.status !== 'running' && open.status !== 'waiting_permission') {
    settleWake(draft, open, { status: 'superseded', at, failureReason: reason })
  }
  supersedeScheduled(draft, at, reason)
}

function supersedeScheduled(draft: Draft, at: number, reason: string): void {
  for (const wakeId of draft.live.scheduledWakes.keys()) {
    const wake = held(draft.wakes, wakeId, 'wake')
    draft.live.scheduledWakes = draft.live.scheduledWakes.delete(wakeId)
    putWake(draft, { ...wake, status: 'superseded', updatedAt: at, failureReason: reason })
  }
}

function openWake(draft: Draft): Wake | undefined {
  return draft.live.openWakeId === undefined ? undefined : draft.wakes.get(draft.live.openWakeId)
}

interface WakeEnd {
  readonly status: Exclude<WakeStatus, 'pending' | 'running'>
  readonly at: number
  readonly failureReason?: string | undefined
  readonly retryAt?: number | undefined
}

function settleWake(draft: Draft, wake: Wake, end: WakeEnd): void {
  const { currentAttemptId, ...rest } = wake
  const { status, at, failureReason, retryAt } = end
  const why = failureReason === undefined ? {} : { failureReason }
  settleAttempt(draft, currentAttemptId, end)
  putWake(draft, {
    ...rest,
    status,
    updatedAt: at,
    ...why,
    // The same attempt goes on once the person has answered.
    ...(status === 'waiting_permission' && currentAttemptId !== undefined ? { currentAttemptId } : {}),
    ...(retryAt === undefined ? {} : { retryAt }),
  })
  if (isOpenWake(status)) return
  if (draft.live.openWakeId === wake.wakeId) draft.live.openWakeId = undefined
  draft.live.scheduledWakes = draft.live.scheduledWakes.delete(wake.wakeId)
  // Whatever became of this one, the chain of a recurring wake does not break.
  const next = draft.closed ? undefined : nextOccurrence(wake, at)
  if (next !== undefined) addWake(draft, next)
}

function settleAttempt(
  draft: Draft,
  attemptId: string | undefined,
  { status, at, failureReason }: WakeEnd,
): void {
  if (attemptId === undefined) return
  const attempt = held(draft.index.wakeAttempts, attemptId, 'wake attempt')
  const settled = Object.freeze({
    ...attempt,
    status,
    ...(failureReason === undefined ? {} : { failureReason }),
    ...(status === 'waiting_permission' ? {} : { completedAt: at }),
  })
  draft.index.wakeAttempts = draft.index.wakeAttempts.set(attemptId, settled)
}

function putWake(draft: Draft, wake: Wake): void {
  draft.wakes = draft.wakes.set(wake.wakeId, Object.freeze(wake))
}
