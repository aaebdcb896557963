/** Yields, acknowledgements, and the wakes that give the root its turn. */
import { commit, committed, type Decision, requireGraph, requireOpen, unchanged } from './decision.ts'
import { graphEntry, type GraphEntryData } from './entries.ts'
import { GraphControlError, type GraphControlErrorCode } from './errors.ts'
import type { FoldedGraph } from './graph-state.ts'
import type { Wake, Wait } from './types.ts'

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

export function decideWake(
  state: FoldedGraph,
  request: WakeRequest,
  at: number,
): Decision<{ wake: Wake; created: boolean }> {
  requireGraph(state)
  const { wakeId, snapshotVersion, rootSessionId } = request
  const existing = state.wakes.get(wakeId)
  if (existing !== undefined) {
    if (existing.snapshotVersion === snapshotVersion && existing.rootSessionId === rootSessionId) {
      return unchanged({ wake: existing, created: false })
    }
    throw conflict(`wake ${wakeId} is already there for another root or snapshot`)
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
  if (state.live.openWakeId !== undefined) {
    throw conflict(`wake ${state.live.openWakeId} is still open; it will report what changed since`)
  }
  return commit(graphEntry('wake', { at, wakeId, snapshotVersion, rootSessionId }), (after) => ({
    wake: committed(after.wakes, wakeId),
    created: true,
  }))
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
  readonly maxAttempts?: number
}

/** Only the caller that gets `acquired: true` may deliver; a wake out of attempts is exhausted here. */
export function decideWakeAttempt(
  state: FoldedGraph,
  request: AttemptRequest,
  at: number,
): Decision<{ wake: Wake; acquired: boolean }> {
  const { wakeId, attemptId, maxAttempts } = request
  const wake = wakeOf(state, wakeId)
  if (wake.status !== 'pending' && wake.status !== 'retryable_failed') {
    return unchanged({ wake, acquired: false })
  }
  if (state.index.wakeAttempts.has(attemptId)) {
    throw conflict(`wake attempt ${attemptId} was made before; count attempts on from ${wake.attempts}`)
  }
  const acquired = maxAttempts === undefined || wake.attempts < maxAttempts
  const entry = acquired
    ? graphEntry('wake-attempt', { at, wakeId, attemptId })
    : graphEntry('wake-settled', {
        at,
        wakeId,
        status: 'exhausted',
        failureReason: wake.failureReason ?? `not delivered in ${wake.attempts} attempts`,
      })
  return commit(entry, (after) => ({ wake: committed(after.wakes, wakeId), acquired }))
}

interface SettlementRequest {
  readonly wakeId: string
  readonly attemptId: string
  readonly status: 'delivered' | 'superseded' | 'retryable_failed' | 'exhausted'
  readonly failureReason?: string
}

/** Only the current attempt completes a wake; a stale one is refused, whatever it brings. */
export function decideWakeSettlement(
  state: FoldedGraph,
  request: SettlementRequest,
  at: number,
): Decision<Wake> {
  const { wakeId, attemptId, status, failureReason } = request
  const wake = wakeOf(state, wakeId)
  const attempt = state.index.wakeAttempts.get(attemptId)
  if (attempt?.wakeId !== wakeId) {
    throw new GraphControlError('wake-attempt-not-found', `wake ${wakeId} has no attempt ${attemptId}`)
  }
  if (attempt.status === status) return unchanged(wake)
  if (attempt.status !== 'running' || wake.currentAttemptId !== attemptId) {
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
  })
  return commit(entry, (after) => committed(after.wakes, wakeId))
}
