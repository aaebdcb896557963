/**
 * What a work waits for, in words for a person. There is always something: a work that is not over has
 * an owner, a time, or a named thing that has to happen. Pure.
 */
import { COUNTED_PLACES, permitPlace, readyPlace, type GraphState, type Work } from 'dsh-graph-control'
import { durationText, timeText } from './durations.ts'

export interface WaitOptions {
  /** Epoch milliseconds. */
  readonly now: number
  /** Activations at once, where it is known. */
  readonly slots?: number | undefined
  /** What holds up the run of an operator's session that has its slot, where a host can be asked. */
  readonly runWait?: ((sessionId: string) => string | undefined) | undefined
}

const LISTED = 4

/** `undefined` for a work that is over. */
export function waitOf(
  state: GraphState,
  work: Work,
  { now, runWait, slots }: WaitOptions,
): string | undefined {
  if (work.endedAt !== undefined) return undefined
  if (state.phase === 'draft') return 'the draft to be committed'
  const claim = work.claimId === undefined ? undefined : state.claims.get(work.claimId)
  if (claim?.hold !== undefined) {
    const { kind, reason } = claim.hold
    return kind === 'person' ? `a person to confirm: ${reason}` : `the model or a person to retry: ${reason}`
  }
  if (claim?.notBefore !== undefined && claim.notBefore > now)
    return `attempt ${claim.attempt} at ${timeText(claim.notBefore)}, in ${durationText(claim.notBefore - now)}: ${claim.retryReason ?? ''}`
  if (work.status === 'waiting') return waitingText(work)
  if (work.status === 'ready') return slotText(state, work, slots)
  const place = claim === undefined ? undefined : permitPlace(state, claim.claimId)
  if (place !== undefined && slots !== undefined && place > slots) return lineText(slots, place - slots)
  const session = state.operators.get(work.operatorId ?? '')?.targetSessionId
  const wait = session === undefined ? undefined : runWait?.(session)
  if (wait !== undefined) return wait
  const attempt = claim === undefined || claim.attempt <= 1 ? '' : `, attempt ${claim.attempt}`
  return work.status === 'claimed' ? `its operator to begin${attempt}` : `its operator${attempt}`
}

function waitingText({ itemWorkIds, waitingFor }: Work): string {
  if (itemWorkIds !== undefined) return `${waitingFor.length} of ${itemWorkIds.length} items`
  const more = waitingFor.length - LISTED
  return `${waitingFor.slice(0, LISTED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function slotText(state: GraphState, work: Work, slots: number | undefined): string {
  const busy = work.operatorId === undefined ? undefined : state.live.busyOperators.get(work.operatorId)
  const holder = busy === undefined ? undefined : state.claims.get(busy)?.workId
  if (holder !== undefined) return `its operator, which does ${holder}`
  const place = readyPlace(state, work.workId)
  const wanted = slots === undefined ? 'a slot' : `one of ${slots} slots`
  if (place === undefined) return `${wanted}, more than ${COUNTED_PLACES} in line come first`
  if (slots === undefined) return `${wanted}, place ${place} in line`
  return lineText(slots, place + Math.max(0, underWayOf(state) - slots))
}

/** First those that were let go and have no slot yet, then those that are ready. */
function lineText(slots: number, place: number): string {
  return `one of ${slots} slots, place ${place} in line`
}

function underWayOf({ claims, live }: GraphState): number {
  let underWay = 0
  for (const claimId of live.claims.keys()) if (claims.get(claimId)?.hold === undefined) underWay += 1
  return underWay
}

/** What the root of a graph has not been told, and how it will be. `undefined`: nothing is open. */
export function rootWaitOf(state: GraphState, now: number): string | undefined {
  const { changeSeq, live, seenChangeSeq, wakes } = state
  const open = live.openWakeId === undefined ? undefined : wakes.get(live.openWakeId)
  if (open !== undefined) {
    const why = open.failureReason === undefined ? '' : ` (${open.failureReason})`
    switch (open.status) {
      case 'waiting_permission':
        return `the root's turn waits for a permission${why}`
      case 'retryable_failed':
        return `the root is woken again${open.retryAt === undefined ? '' : ` in ${durationText(open.retryAt - now)}`}, after ${open.attempts} attempts${why}`
      case 'running':
        return 'the root is being woken'
      default:
        return 'the root is about to be woken'
    }
  }
  if (changeSeq > seenChangeSeq && isExhausted(state))
    return 'the root was not told what changed: its wake was given up; prompt the session'
  if (changeSeq > seenChangeSeq) return `the root has not seen ${changeSeq - seenChangeSeq} changes`
  if (state.wait !== undefined && !state.closed) return `the root waits until ${state.wait.until} works ended`
  return undefined
}

function isExhausted({ changeSeq, wakes }: GraphState): boolean {
  for (const wake of wakes.values())
    if (wake.status === 'exhausted' && wake.snapshotVersion >= changeSeq) return true
  return false
}
