/** Yields, acknowledgements, and the wakes that give the root its turn. */
import { commit, committed, type Decision, requireGraph, requireOpen, unchanged } from './decision.ts'
import { graphEntry, type GraphEntryData } from './entries.ts'
import { GraphControlError, type GraphControlErrorCode } from './errors.ts'
import type { FoldedGraph } from './graph-state.ts'
import { isOpenWake } from './fold-wakes.ts'
import type { Wake, WakeAttempt, Wait, WakeStatus } from './types.ts'

function conflict(message: string): GraphControlError {
  return new GraphControlError('wake-conflict', message)
}

type WaitRequest = Omit<GraphEntryData<'wait'>, 'v' | 'at'>

export function decideWait(state: FoldedGraph, request: WaitRequest, at: number): Decision<Wait> {
  requireGraph(state)
  requireOpen(state)
  const { waitId, until, reason } = request
  const current = state.wait
  if (current?.waitId === waitId) {
    if (current.until === until && current.reason === reason) return unchanged(current)
    throw conflict(`wait ${waitId} is already registered until ${current.until}`)
  }
  const entry = graphEntry('wait', { at, waitId, until, ...(reason === undefined ? {} : { reason }) })
  return commit(entry, (after) => after.wait ?? { waitId, until, registeredAt: at })
}

export function decideSeen(state: FoldedGraph, changeSeq: number, at: number): Decision<void> {
  requireGraph(state)
  if (changeSeq > state.changeSeq) {
    throw new GraphControlError(
      'invalid',
      `change ${changeSeq} cannot have been seen: the graph is at change ${state.changeSeq}`,
    )
  }
  if (changeSeq <= state.seenChangeSeq) return unchanged(undefined)
  return commit(graphEntry('seen', { at, changeSeq }), () => undefined)
}

type WakeRequest = Omit<GraphEntryData<'wake'>, 'v' | 'at'>

/** Scheduled and recurring wakes of one graph that are to come. */
const MAX_SCHEDULED = 64

export function decideWake(
  state: FoldedGraph,
  request: WakeRequest,
  at: number,
): Decision<{ wake: Wake; created: boolean }> {
  requireGraph(state)
  const { wakeId, snapshotVersion, rootSessionId, dueAt, recurMs } = request
  const existing = state.wakes.get(wakeId)
  if (existing !== undefined) {
    const asked = {
      snapshotVersion: reportedVersion(existing, snapshotVersion),
      rootSessionId,
      dueAt,
      recurMs,
    }
    const differs = (['snapshotVersion', 'rootSessionId', 'dueAt', 'recurMs'] as const).find(
      (key) => existing[key] !== asked[key],
    )
    if (differs === undefined) return unchanged({ wake: existing, created: false })
    throw conflict(`wake ${wakeId} is already there with another ${differs}`)
  }
  requireOpen(state)
  if (rootSessionId !== (state.rootSessionId ?? rootSessionId)) {
    throw conflict(
      `graph ${state.graphId} belongs to root ${state.rootSessionId ?? ''}, not ${rootSessionId}`,
    )
  }
  if (snapshotVersion > state.changeSeq) {
    throw conflict(`change ${snapshotVersion} has not happened: the graph is at ${state.changeSeq}`)
  }
  if (dueAt === undefined) requireNoOpenWake(state)
  else if (state.live.scheduledWakes.size >= MAX_SCHEDULED) {
    throw conflict(
      `graph ${state.graphId} has ${MAX_SCHEDULED} scheduled wakes already; let some of them pass`,
    )
  }
  const schedule = {
    ...(dueAt === undefined ? {} : { dueAt }),
    ...(recurMs === undefined ? {} : { recurMs }),
  }
  return commit(graphEntry('wake', { at, wakeId, snapshotVersion, rootSessionId, ...schedule }), (after) => ({
    wake: committed(after.wakes, wakeId),
    created: true,
  }))
}

/** A scheduled wake that was begun reports more than it was asked to; its request is the same. */
function reportedVersion(existing: Wake, asked: number): number {
  return existing.dueAt !== undefined && asked <= existing.snapshotVersion ? existing.snapshotVersion : asked
}

function requireNoOpenWake(state: FoldedGraph): void {
  if (state.live.openWakeId === undefined) return
  throw conflict(`wake ${state.live.openWakeId} is still open; it will report what changed since`)
}

function wakeOf(state: FoldedGraph, wakeId: string): Wake {
  requireGraph(state)
  const wake = state.wakes.get(wakeId)
  if (wake === undefined) throw new GraphControlError('wake-not-found', `no wake ${wakeId} in this graph`)
  return wake
}

interface AttemptRequest {
  readonly wakeId: string
  readonly attemptId: string
  readonly turnId?: string
  readonly maxAttempts?: number
}

/**
 * Only the caller that gets `acquired: true` may deliver; a wake out of attempts is exhausted here. An
 * attempt that was parked goes on under its own id.
 */
export function decideWakeAttempt(
  state: FoldedGraph,
  request: AttemptRequest,
  at: number,
): Decision<{ wake: Wake; attempt?: WakeAttempt; acquired: boolean }> {
  const { wakeId, attemptId, turnId, maxAttempts } = request
  const wake = wakeOf(state, wakeId)
  const isIdle = wake.status === 'pending' || wake.status === 'retryable_failed'
  const isScheduled = state.live.scheduledWakes.has(wakeId)
  const mustWait = isScheduled && (at < (wake.dueAt ?? 0) || state.live.openWakeId !== undefined)
  if (wake.status === 'waiting_permission' && wake.currentAttemptId === attemptId) {
    const entry = graphEntry('wake-attempt', { at, wakeId, attemptId })
    return commit(entry, (after) => attemptAnswer(after, { wakeId, attemptId, acquired: true }))
  }
  if (!isIdle || mustWait) return unchanged({ wake, acquired: false })
  if (state.index.wakeAttempts.has(attemptId)) {
    throw conflict(`wake attempt ${attemptId} was made before; count attempts on from ${wake.attempts}`)
  }
  const acquired = maxAttempts === undefined || wake.attempts < maxAttempts
  const entry = acquired
    ? graphEntry('wake-attempt', { at, wakeId, attemptId, ...(turnId === undefined ? {} : { turnId }) })
    : graphEntry('wake-settled', {
        at,
        wakeId,
        status: 'exhausted',
        failureReason: wake.failureReason ?? `not delivered in ${wake.attempts} attempts`,
      })
  return commit(entry, (after) => attemptAnswer(after, { wakeId, attemptId, acquired }))
}

function attemptAnswer(
  { index, wakes }: FoldedGraph,
  { wakeId, attemptId, acquired }: { wakeId: string; attemptId: string; acquired: boolean },
): { wake: Wake; attempt?: WakeAttempt; acquired: boolean } {
  const attempt = index.wakeAttempts.get(attemptId)
  return { wake: committed(wakes, wakeId), ...(attempt === undefined ? {} : { attempt }), acquired }
}

interface SettlementRequest {
  readonly wakeId: string
  readonly attemptId: string
  readonly status: Exclude<WakeStatus, 'pending' | 'running'>
  readonly failureReason?: string
  readonly retryAt?: number
}

/** Only the current attempt completes a wake; a stale one is refused, whatever it brings. */
export function decideWakeSettlement(
  state: FoldedGraph,
  request: SettlementRequest,
  at: number,
): Decision<Wake> {
  const { wakeId, attemptId, status, failureReason, retryAt } = request
  const wake = wakeOf(state, wakeId)
  const attempt = state.index.wakeAttempts.get(attemptId)
  if (attempt?.wakeId !== wakeId) {
    throw new GraphControlError('wake-attempt-not-found', `wake ${wakeId} has no attempt ${attemptId}`)
  }
  if (attempt.status === status) return unchanged(wake)
  const isLive = attempt.status === 'running' || attempt.status === 'waiting_permission'
  if (!isLive || wake.currentAttemptId !== attemptId) {
    const code: GraphControlErrorCode =
      wake.status === 'delivered' ? 'wake-already-delivered' : 'wake-conflict'
    throw new GraphControlError(
      code,
      `wake attempt ${attemptId} is over (${attempt.status}) and decides nothing; the wake is ${wake.status}`,
    )
  }
  const entry = graphEntry('wake-settled', {
    at,
    wakeId,
    attemptId,
    status,
    ...(failureReason === undefined ? {} : { failureReason }),
    ...(retryAt === undefined ? {} : { retryAt }),
  })
  return commit(entry, (after) => committed(after.wakes, wakeId))
}

/** Only a wake that failed is given up; one under way ends by its own attempt. */
export function decideExhaustion(
  state: FoldedGraph,
  { wakeId, reason }: { readonly wakeId: string; readonly reason: string },
  at: number,
): Decision<Wake> {
  const wake = wakeOf(state, wakeId)
  if (wake.status === 'exhausted') return unchanged(wake)
  if (wake.status !== 'retryable_failed') {
    throw conflict(`wake ${wakeId} is ${wake.status}; only one whose delivery failed can be given up`)
  }
  const entry = graphEntry('wake-settled', { at, wakeId, status: 'exhausted', failureReason: reason })
  return commit(entry, (after) => committed(after.wakes, wakeId))
}

/** @returns how many wakes it ended. */
export function decideSupersession(
  state: FoldedGraph,
  { reason }: { readonly reason: string },
  at: number,
): Decision<number> {
  requireGraph(state)
  const count = state.live.scheduledWakes.size + (state.live.openWakeId === undefined ? 0 : 1)
  if (count === 0) return unchanged(0)
  return commit(graphEntry('wakes-superseded', { at, reason }), () => count)
}

/** A delivery that was under way when its process died failed; it is tried again. */
export function decideWakeRecovery(state: FoldedGraph, at: number): Decision<number> {
  const wake = state.live.openWakeId === undefined ? undefined : state.wakes.get(state.live.openWakeId)
  if (wake?.status !== 'running' || wake.currentAttemptId === undefined) return unchanged(0)
  const { wakeId, currentAttemptId: attemptId } = wake
  const entry = graphEntry('wake-settled', {
    at,
    wakeId,
    attemptId,
    status: 'retryable_failed',
    failureReason: 'host_restart',
  })
  return commit(entry, () => 1)
}

/** Wakes that are not over, scheduled ones included, oldest first. */
export function unsettledWakes(state: FoldedGraph): readonly Wake[] {
  const ids = [
    ...(state.live.openWakeId === undefined ? [] : [state.live.openWakeId]),
    ...state.live.scheduledWakes.keys(),
  ]
  return ids.flatMap((id) => state.wakes.get(id) ?? []).filter((wake) => isOpenWake(wake.status))
}
