/** What provisioning, claims and their ends do to a graph. */
import type { GraphEntryData } from './entries.ts'
import { type Draft, FoldError, held } from './graph-state.ts'
import { runIdOf } from './ids.ts'
import type { ActivationOutcome, Claim, GraphRecord, Work } from './types.ts'
import { endWork, isTerminal, noteOperatorWork, putClaim, putWork, type Ending } from './work-states.ts'

export function foldProvision(draft: Draft, { at, provision }: GraphEntryData<'provision'>): void {
  const { graphId, ...operator } = provision
  const { operatorId, workId } = operator
  const { index } = draft
  if (graphId !== draft.graphId) throw new FoldError(`belongs to graph ${graphId}`)
  const work = held(draft.works, workId, 'work')
  if (draft.operators.has(operatorId)) throw new FoldError(`provisions operator ${operatorId} a second time`)
  if (work.operatorId !== undefined) throw new FoldError(`gives work ${workId} a second operator`)
  draft.operators = draft.operators.set(operatorId, Object.freeze({ ...operator, provisionedAt: at }))
  index.provisions = index.provisions.set(operator.provisionId, operatorId)
  index.sessions = index.sessions.set(operator.targetSessionId, operatorId)
  index.turns = index.turns.set(operator.initialTurnId, workId)
  index.runs = index.runs.set(operator.initialRunId, workId)
  noteOperatorWork(draft, operatorId, workId)
  putWork(draft, { ...work, operatorId })
}

export function foldClaim(draft: Draft, { at, claim }: GraphEntryData<'claim'>): void {
  const { index } = draft
  if (claim.graphId !== draft.graphId) throw new FoldError(`belongs to graph ${claim.graphId}`)
  const work = held(draft.works, claim.workId, 'work')
  if (work.status !== 'ready') throw new FoldError(`claims work ${work.workId}, which is ${work.status}`)
  if (draft.claims.has(claim.claimId)) throw new FoldError(`repeats claim ${claim.claimId}`)
  if (index.intents.has(claim.intentId)) throw new FoldError(`claims intent ${claim.intentId} a second time`)
  if (draft.live.busyOperators.has(claim.targetOperatorId)) {
    throw new FoldError(`claims operator ${claim.targetOperatorId}, which has a live claim`)
  }
  index.intents = index.intents.set(claim.intentId, claim.claimId)
  index.turns = index.turns.set(claim.targetTurnId, claim.workId)
  index.runs = index.runs.set(claim.targetRunId, claim.workId)
  putClaim(draft, { ...claim, claimedAt: at, admissionStatus: 'claimed', attempt: 0 })
  putWork(draft, { ...work, status: 'claimed', claimId: claim.claimId, operatorId: claim.targetOperatorId })
}

export function foldBegin(draft: Draft, { at, claimId }: GraphEntryData<'begin'>): void {
  const claim = liveClaim(draft, claimId, 'claimed')
  const work = held(draft.works, claim.workId, 'work')
  putClaim(draft, { ...claim, admissionStatus: 'executing', attempt: 1 })
  putWork(draft, { ...work, status: 'running', startedAt: at })
}

export function foldRetry(draft: Draft, { claimId, attempt, reason }: GraphEntryData<'retry'>): void {
  const claim = liveClaim(draft, claimId, 'executing')
  if (attempt !== claim.attempt + 1) throw new FoldError(`begins attempt ${attempt} after ${claim.attempt}`)
  putClaim(draft, { ...claim, attempt, retryReason: reason })
}

export function foldCancel(draft: Draft, { at, claimId, reason }: GraphEntryData<'cancel'>): void {
  const claim = liveClaim(draft, claimId)
  putClaim(draft, { ...claim, admissionStatus: 'cancelled', cancellationReason: reason })
  endWork(draft, claim.workId, { status: 'cancelled', reason, at })
}

const ENDS: Readonly<Record<ActivationOutcome, Ending['status']>> = {
  completed: 'completed',
  failed: 'failed',
  aborted: 'cancelled',
  cancelled: 'cancelled',
}

export function foldSettle(draft: Draft, data: GraphEntryData<'settle'>): void {
  const { at, attempt, outcome, reason, record } = data
  const claim = liveClaim(draft, data.claimId)
  if (attempt !== claim.attempt) throw new FoldError(`settles attempt ${attempt}, live is ${claim.attempt}`)
  putClaim(draft, {
    ...claim,
    admissionStatus: 'settled',
    outcome,
    ...(record === undefined ? {} : { recordId: record.recordId }),
  })
  // The record is there before the work ends: those who wait for the work find it.
  if (record !== undefined) leaveRecord(draft, claim, { ...record, ...originOf(claim), committedAt: at })
  endWork(draft, claim.workId, { status: ENDS[outcome], reason, at })
}

function originOf(claim: Claim): Pick<GraphRecord, 'workId' | 'operatorId' | 'activationId'> {
  const { workId, targetOperatorId: operatorId } = claim
  return { workId, operatorId, activationId: runIdOf(claim, claim.attempt) }
}

function leaveRecord(draft: Draft, claim: Claim, record: GraphRecord): void {
  if (draft.records.has(record.recordId)) throw new FoldError(`repeats record ${record.recordId}`)
  const work: Work = held(draft.works, claim.workId, 'work')
  draft.records = draft.records.set(record.recordId, Object.freeze(record))
  putWork(draft, { ...work, recordIds: Object.freeze([...work.recordIds, record.recordId]) })
}

function liveClaim(draft: Draft, claimId: string, status?: Claim['admissionStatus']): Claim {
  const claim = held(draft.claims, claimId, 'claim')
  const fits = status === undefined ? draft.live.claims.has(claimId) : claim.admissionStatus === status
  if (!fits) throw new FoldError(`moves claim ${claimId}, which is ${claim.admissionStatus}`)
  const work = held(draft.works, claim.workId, 'work')
  if (status !== undefined && isTerminal(work.status)) {
    throw new FoldError(`moves claim ${claimId} of work ${work.workId}, which is ${work.status}`)
  }
  return claim
}
