/**
 * What a driver should do next, from the state alone. Pure; the cost is that of what is live.
 *
 * Called after every commit and once at start, it needs no memory of its own: what it asked for and
 * what was done shows in the next state.
 */
import { GraphControlError } from './errors.ts'
import type { GraphAction, GraphState } from './types.ts'
import { isTerminal } from './work-states.ts'

export interface ReconcileOptions {
  /** Activations that may be live at one time; a whole number, 0 admits none. */
  readonly maxNewActivations: number
}

/**
 * The next actions, in order: cancels, what is claimed, what is admitted now, the wake.
 *
 * - `cancel`: a claim whose work was stopped or superseded still runs.
 * - `start` or `observe`: a live claim has not begun, or has.
 * - `provision`: a ready work needs an operator. Every kind but `operator` gets one of its own.
 * - `claim`: a ready work has its operator, and the operator is free.
 * - `wake`: a work ended that the root has not seen, no wake reported it, and the root's wait (if it
 *   waits for all) is over.
 *
 * A finished graph gets cancels only.
 */
export function reconcile(state: GraphState, options: ReconcileOptions): readonly GraphAction[] {
  const { maxNewActivations } = options
  if (!Number.isSafeInteger(maxNewActivations) || maxNewActivations < 0) {
    throw new GraphControlError('invalid', 'maxNewActivations must be a whole number of at least 0')
  }
  const { cancels, running } = liveActions(state)
  if (state.closed) return cancels
  const permits = maxNewActivations - state.live.claims.size
  return [...cancels, ...running, ...admissions(state, permits), ...wakes(state)]
}

function liveActions(state: GraphState): { cancels: GraphAction[]; running: GraphAction[] } {
  const cancels: GraphAction[] = []
  const running: GraphAction[] = []
  for (const claimId of state.live.claims.keys()) {
    const claim = state.claims.get(claimId)
    const work = claim === undefined ? undefined : state.works.get(claim.workId)
    if (claim === undefined || work === undefined) continue
    if (isTerminal(work.status)) {
      cancels.push({
        kind: 'cancel',
        claimId,
        reason: work.reason ?? `work ${work.workId} is ${work.status}`,
      })
    } else if (claim.admissionStatus === 'claimed') {
      running.push({ kind: 'start', claimId, attempt: 1 })
    } else {
      running.push({ kind: 'observe', claimId, attempt: claim.attempt })
    }
  }
  return { cancels, running }
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

function wakes(state: GraphState): readonly GraphAction[] {
  const { changeSeq, live, wait } = state
  const untold = changeSeq > state.seenChangeSeq && changeSeq > live.wokenChangeSeq
  if (!untold || live.openWakeId !== undefined) return []
  if (wait?.until === 'all' && live.pending.size > 0) return []
  return [{ kind: 'wake', snapshotVersion: changeSeq }]
}
