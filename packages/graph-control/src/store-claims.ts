/** Admitting an activation, and moving its admission: claim, begin, retry, cancel. */
import {
  commit,
  committed,
  type Decision,
  requireGraph,
  requireNoDraft,
  requireOpen,
  requireRevision,
  unchanged,
} from './decision.ts'
import { graphEntry } from './entries.ts'
import { GraphControlError } from './errors.ts'
import type { FoldedGraph } from './graph-state.ts'
import type { AdmissionStatus, AdmissionTransition, Claim, ClaimRequest, Work } from './types.ts'
import { isTerminal } from './work-states.ts'

function conflict(message: string): GraphControlError {
  return new GraphControlError('intent-claim-conflict', message)
}

/** @param expectedRevision absent: whatever the revision is. */
export function decideClaim(
  state: FoldedGraph,
  request: ClaimRequest,
  at: number,
  expectedRevision?: number,
): Decision<{ claim: Claim; created: boolean }> {
  requireGraph(state)
  const existing = existingClaim(state, request)
  if (existing !== undefined) return unchanged({ claim: existing, created: false })
  requireOpen(state)
  requireNoDraft(state)
  if (expectedRevision !== undefined) requireRevision(state, expectedRevision)
  const work = requireClaimable(state, request.workId)
  requireOperator(state, work, request)
  requireFreshIds(state, request)
  return commit(graphEntry('claim', { at, claim: request }), (after) => ({
    claim: committed(after.claims, request.claimId),
    created: true,
  }))
}

/** The claim of a retry. Its turn and run ids are the persisted ones, whatever the retry proposes. */
function existingClaim(state: FoldedGraph, request: ClaimRequest): Claim | undefined {
  const claimId = state.index.intents.get(request.intentId)
  const existing = state.claims.get(claimId ?? request.claimId)
  if (existing === undefined) return undefined
  const fixed = [
    'claimId',
    'intentId',
    'workId',
    'intentFingerprint',
    'readinessContextFingerprint',
    'targetOperatorId',
    'targetSessionId',
  ] as const
  const differs = fixed.find((key) => existing[key] !== request[key])
  if (differs === undefined) return existing
  throw conflict(
    `intent ${request.intentId} is already claimed as ${existing.claimId} with another ${differs}: ` +
      `${existing[differs] ?? 'none'}, not ${request[differs] ?? 'none'}`,
  )
}

function requireClaimable(state: FoldedGraph, workId: string): Work {
  const work = state.works.get(workId)
  if (work === undefined) throw new GraphControlError('work-conflict', `no work ${workId} in this graph`)
  if (work.status === 'claimed' || work.status === 'running') {
    throw conflict(`work ${workId} has a live claim, ${work.claimId ?? ''}`)
  }
  if (work.status === 'waiting') {
    throw new GraphControlError(
      'work-conflict',
      `work ${workId} still waits for ${work.waitingFor.join(', ')}`,
    )
  }
  if (isTerminal(work.status)) {
    throw new GraphControlError('work-conflict', `work ${workId} is ${work.status}; nothing of it may run`)
  }
  return work
}

function requireOperator(state: FoldedGraph, work: Work, request: ClaimRequest): void {
  const { targetOperatorId, targetSessionId } = request
  const operator = state.operators.get(targetOperatorId)
  if (operator === undefined || work.operatorId === undefined) {
    throw new GraphControlError(
      'provision-not-found',
      operator === undefined
        ? `operator ${targetOperatorId} is not provisioned in this graph`
        : `work ${work.workId} has no operator yet`,
    )
  }
  if (work.operatorId !== targetOperatorId) {
    throw conflict(`work ${work.workId} belongs to operator ${work.operatorId}, not ${targetOperatorId}`)
  }
  if (operator.targetSessionId !== targetSessionId) {
    throw conflict(
      `operator ${targetOperatorId} is session ${operator.targetSessionId}, not ${targetSessionId}`,
    )
  }
  const busy = state.live.busyOperators.get(targetOperatorId)
  if (busy !== undefined) throw conflict(`operator ${targetOperatorId} is busy with claim ${busy}`)
}

function requireFreshIds(state: FoldedGraph, request: ClaimRequest): void {
  const { workId, targetTurnId, targetRunId } = request
  const turnOwner = state.index.turns.get(targetTurnId)
  const runOwner = state.index.runs.get(targetRunId)
  if ((turnOwner ?? workId) !== workId) throw conflict(`turn ${targetTurnId} is given to another work`)
  if ((runOwner ?? workId) !== workId) throw conflict(`run ${targetRunId} is given to another work`)
  // Only a work that is done once more can meet its own ids again: those its operator came with.
  if (turnOwner === undefined && runOwner === undefined) return
  if ((state.works.get(workId)?.retries ?? 0) === 0) return
  for (const claim of state.claims.values()) {
    if (claim.targetTurnId !== targetTurnId && claim.targetRunId !== targetRunId) continue
    throw conflict(
      `claim ${claim.claimId} already had turn ${claim.targetTurnId} and run ${claim.targetRunId}; ` +
        `work ${workId} is done once more and needs a turn and a run of its own`,
    )
  }
}

function claimOfIntent(state: FoldedGraph, intentId: string): Claim {
  requireGraph(state)
  const claim = state.claims.get(state.index.intents.get(intentId) ?? '')
  if (claim !== undefined) return claim
  throw new GraphControlError('intent-not-found', `nobody has claimed intent ${intentId}`)
}

/** @throws GraphControlError `intent-not-found`. */
export function claimOf(state: FoldedGraph, claimId: string): Claim {
  requireGraph(state)
  const claim = state.claims.get(claimId)
  if (claim !== undefined) return claim
  throw new GraphControlError('intent-not-found', `no claim ${claimId} in this graph`)
}

function transition(
  previousState: AdmissionStatus,
  state: AdmissionStatus = previousState,
): AdmissionTransition {
  return { state, previousState, changed: state !== previousState }
}

export function decideBegin(
  state: FoldedGraph,
  request: { readonly intentId: string; readonly expectedRevision: number },
  at: number,
): Decision<AdmissionTransition> {
  const claim = claimOfIntent(state, request.intentId)
  if (claim.admissionStatus !== 'claimed') return unchanged(transition(claim.admissionStatus))
  requireRevision(state, request.expectedRevision)
  return commit(graphEntry('begin', { at, claimId: claim.claimId }), () => transition('claimed', 'executing'))
}

export function decideCancel(
  state: FoldedGraph,
  request: { readonly intentId: string; readonly reason: string },
  at: number,
): Decision<AdmissionTransition> {
  const claim = claimOfIntent(state, request.intentId)
  if (!state.live.claims.has(claim.claimId)) return unchanged(transition(claim.admissionStatus))
  const { claimId, admissionStatus } = claim
  return commit(graphEntry('cancel', { at, claimId, reason: request.reason }), () =>
    transition(admissionStatus, 'cancelled'),
  )
}

/** executing → claimed: whether the lost attempt is followed by another is for the next begin. */
export function decideRearm(
  state: FoldedGraph,
  request: { readonly intentId: string },
  at: number,
): Decision<AdmissionTransition> {
  const { claimId, admissionStatus, workId } = claimOfIntent(state, request.intentId)
  const isOver = isTerminal(committed(state.works, workId).status)
  if (admissionStatus !== 'executing' || isOver) return unchanged(transition(admissionStatus))
  return commit(graphEntry('rearm', { at, claimId }), () => transition('executing', 'claimed'))
}

interface RetryRequest {
  readonly claimId: string
  readonly lostAttempt: number
  readonly reason: string
  readonly notBefore?: number
}

export function decideRetry(state: FoldedGraph, request: RetryRequest, at: number): Decision<Claim> {
  const { claimId, lostAttempt, reason, notBefore } = request
  const claim = requireExecuting(state, claimId)
  // The same loss reported twice begins one attempt.
  if (claim.attempt === lostAttempt + 1) return unchanged(claim)
  if (claim.attempt !== lostAttempt) {
    throw new GraphControlError(
      'attempt-conflict',
      `attempt ${lostAttempt} of claim ${claimId} cannot be lost: the live one is ${claim.attempt}`,
    )
  }
  const later = notBefore === undefined ? {} : { notBefore }
  return commit(graphEntry('retry', { at, claimId, attempt: claim.attempt + 1, reason, ...later }), (after) =>
    committed(after.claims, claimId),
  )
}

interface HoldRequest {
  readonly claimId: string
  readonly attempt: number
  readonly kind: 'person' | 'model'
  readonly reason: string
}

export function decideHold(state: FoldedGraph, request: HoldRequest, at: number): Decision<Claim> {
  const { claimId, attempt, kind, reason } = request
  const claim = requireExecuting(state, claimId)
  if (claim.attempt !== attempt) {
    throw new GraphControlError(
      'attempt-conflict',
      `attempt ${attempt} of claim ${claimId} cannot be held: the live one is ${claim.attempt}`,
    )
  }
  if (claim.hold !== undefined) return unchanged(claim)
  return commit(graphEntry('hold', { at, claimId, attempt, kind, reason }), (after) =>
    committed(after.claims, claimId),
  )
}

/** @throws GraphControlError `attempt-conflict`, `work-conflict`. */
function requireExecuting(state: FoldedGraph, claimId: string): Claim {
  const claim = claimOf(state, claimId)
  if (claim.admissionStatus !== 'executing') {
    throw new GraphControlError(
      'attempt-conflict',
      `claim ${claimId} is ${claim.admissionStatus}; there is no attempt of it to repeat or to hold`,
    )
  }
  const work = committed(state.works, claim.workId)
  if (isTerminal(work.status)) {
    throw new GraphControlError('work-conflict', `work ${work.workId} is ${work.status}; it is not run again`)
  }
  return claim
}
