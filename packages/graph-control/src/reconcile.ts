/**
 * What a driver should do next, from the state alone. Pure; the cost is that of what is live.
 *
 * Called after every commit and once at start, it needs no memory of its own: what it asked for and
 * what was done shows in the next state.
 */
import { GraphControlError } from './errors.ts'
import type { Claim, GraphAction, GraphState } from './types.ts'
import { isTerminal } from './work-states.ts'

export interface ReconcileOptions {
  /** Activations that may be live at one time; a whole number, 0 admits none. */
  readonly maxNewActivations: number
  /** Epoch milliseconds; default: whatever has a time is due. */
  readonly now?: number
}

/**
 * The next actions, in order: cancels, what is claimed, what is admitted now, wakes.
 *
 * - `cancel`: a claim whose work was stopped or superseded still runs.
 * - `start` or `observe`: a live claim has not begun, or has. Not while it is held, and once it is let go
 *   not before it has a permit again.
 * - `provision`: a ready work needs an operator. Every kind but `operator` gets one of its own.
 * - `claim`: a ready work has its operator, and the operator is free.
 * - `wake`: something changed that the root has not seen, no wake reported it, and the root's wait
 *   (if it waits for all) is over.
 * - `deliver`: a wake is open, or a scheduled one is due and none is open.
 * - `look-again`: nothing else happens before that time by itself.
 *
 * A draft gets none, a finished graph cancels and the wake under way.
 */
export function reconcile(state: GraphState, options: ReconcileOptions): readonly GraphAction[] {
  const { maxNewActivations, now = Number.POSITIVE_INFINITY } = options
  if (!Number.isSafeInteger(maxNewActivations) || maxNewActivations < 0) {
    throw new GraphControlError('invalid', 'maxNewActivations must be a whole number of at least 0')
  }
  const { cancels, running, held, nextAt } = liveActions(state, { maxNewActivations, now })
  const wake = wakes(state, now)
  if (state.closed) return [...cancels, ...wake.actions]
  if (state.phase === 'draft') return cancels
  const permits = maxNewActivations - (state.live.claims.size - held)
  const at = Math.min(nextAt, wake.nextAt)
  return [
    ...cancels,
    ...running,
    ...admissions(state, permits),
    ...wake.actions,
    ...(Number.isFinite(at) ? [{ kind: 'look-again' as const, at }] : []),
  ]
}

function liveActions(state: GraphState, { maxNewActivations, now }: Required<ReconcileOptions>) {
  const cancels: GraphAction[] = []
  const running: GraphAction[] = []
  let held = 0
  let place = 0
  let nextAt = Number.POSITIVE_INFINITY
  for (const claimId of state.live.claims.keys()) {
    const claim = state.claims.get(claimId)
    const work = claim === undefined ? undefined : state.works.get(claim.workId)
    if (claim === undefined || work === undefined) continue
    if (claim.hold === undefined) place += 1
    if (isTerminal(work.status)) {
      const reason = work.reason ?? `work ${work.workId} is ${work.status}`
      cancels.push({ kind: 'cancel', claimId, reason })
    } else if (claim.hold !== undefined) held += 1
    else if (place > maxNewActivations) continue
    else if ((claim.notBefore ?? 0) > now) nextAt = Math.min(nextAt, claim.notBefore ?? 0)
    else running.push(runOf(claim))
  }
  return { cancels, running, held, nextAt }
}

/**
 * The place of a live claim among those that have a permit or wait for one, from 1: with `n` permits the
 * first `n` have one. `undefined` for a claim that is held, or over.
 */
export function permitPlace({ claims, live }: GraphState, claimId: string): number | undefined {
  let place = 0
  for (const id of live.claims.keys()) {
    const isHeld = claims.get(id)?.hold !== undefined
    if (!isHeld) place += 1
    if (id === claimId) return isHeld ? undefined : place
  }
  return undefined
}

/** Places in line further back are not counted: an answer must not cost what the graph holds. */
export const COUNTED_PLACES = 100

/**
 * The place of a ready work among those that could begin, from 1. `undefined` for one that more than
 * {@link COUNTED_PLACES} come before, and for one that is not ready.
 */
export function readyPlace({ live }: GraphState, workId: string): number | undefined {
  let before = 0
  for (const id of live.ready.keys()) {
    if (id === workId) return before + 1
    before += 1
    if (before > COUNTED_PLACES) return undefined
  }
  return undefined
}

function runOf({ claimId, admissionStatus, attempt }: Claim): GraphAction {
  return admissionStatus === 'claimed'
    ? { kind: 'start', claimId, attempt: attempt + 1 }
    : { kind: 'observe', claimId, attempt }
}

function admissions(state: GraphState, permits: number): readonly GraphAction[] {
  const actions: GraphAction[] = []
  const taken = new Set<string>()
  for (const workId of state.live.ready.keys()) {
    if (actions.length >= permits) break
    const operatorId = state.works.get(workId)?.operatorId
    if (operatorId === undefined) {
      actions.push({ kind: 'provision', workId })
    } else if (!taken.has(operatorId) && !state.live.busyOperators.has(operatorId)) {
      taken.add(operatorId)
      actions.push({ kind: 'claim', workId, operatorId })
    }
  }
  return actions
}

function wakes(state: GraphState, now: number): { actions: readonly GraphAction[]; nextAt: number } {
  const { changeSeq, live, wait } = state
  const never = Number.POSITIVE_INFINITY
  if (live.openWakeId !== undefined) {
    return { actions: [{ kind: 'deliver', wakeId: live.openWakeId }], nextAt: never }
  }
  const isUntold = changeSeq > state.seenChangeSeq && changeSeq > live.wokenChangeSeq
  const isAwaited = wait?.until !== 'all' || live.pending.size === 0 || hasHold(state)
  if (isUntold && isAwaited && !state.closed) {
    return { actions: [{ kind: 'wake', snapshotVersion: changeSeq }], nextAt: never }
  }
  let nextAt = never
  for (const wakeId of live.scheduledWakes.keys()) {
    const dueAt = state.wakes.get(wakeId)?.dueAt ?? 0
    if (dueAt <= now) return { actions: [{ kind: 'deliver', wakeId }], nextAt: never }
    nextAt = Math.min(nextAt, dueAt)
  }
  return { actions: [], nextAt }
}

/** Something that waits for a person or the model is told to a root that waits for all, too. */
function hasHold(state: GraphState): boolean {
  for (const claimId of state.live.claims.keys())
    if (state.claims.get(claimId)?.hold !== undefined) return true
  return false
}
