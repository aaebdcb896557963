/** What provisioning, claims and their ends do to a graph. */
import type { GraphEntryData } from './entries.ts'
import { type Draft, FoldError, held } from './graph-state.ts'
import { runIdOf } from './ids.ts'
import type { ActivationOutcome, Claim, GraphRecord, TokenUsage } from './types.ts'
import { endWork, isTerminal, noteOperatorWork, putClaim, putWork, type Ending } from './work-states.ts'

export function foldProvision(draft: Draft, { at, provision }: GraphEntryData<'provision'>): void {
  const { graphId, ...operator } = provision
  const { operatorId, workId } = operator
  const { index } = draft
  if (graphId !== draft.graphId) throw new FoldError(`belongs to graph ${graphId}`)
  const work = held(draft.works, workId, 'work')
  if (draft.operators.has(operatorId)) throw new FoldError(`provisions operator ${operatorId} a second time`)
  if (work.operatorId !== undefined) throw new FoldError(`gives work ${workId} a second operator`)
  // Its work's own string: each would keep a copy otherwise.
  const provisioned = Object.freeze({ ...operator, workId: work.workId, provisionedAt: at })
  draft.operators = draft.operators.set(operatorId, provisioned)
  index.provisions = index.provisions.set(operator.provisionId, operatorId)
  index.sessions = index.sessions.set(operator.targetSessionId, operatorId)
  index.turns = index.turns.set(operator.initialTurnId, work.workId)
  index.runs = index.runs.set(operator.initialRunId, work.workId)
  noteOperatorWork(draft, operatorId, work.workId)
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
  const { notBefore: _, ...claim } = liveClaim(draft, claimId, 'claimed')
  const work = held(draft.works, claim.workId, 'work')
  if (claim.hold !== undefined) throw new FoldError(`begins claim ${claimId}, which is held`)
  putClaim(draft, { ...claim, admissionStatus: 'executing', attempt: claim.attempt + 1 })
  putWork(draft, { ...work, status: 'running', startedAt: work.startedAt ?? at })
}

export function foldRetry(
  draft: Draft,
  { claimId, attempt, reason, notBefore }: GraphEntryData<'retry'>,
): void {
  const { hold: _h, notBefore: _n, ...claim } = liveClaim(draft, claimId, 'executing')
  if (attempt !== claim.attempt + 1) throw new FoldError(`begins attempt ${attempt} after ${claim.attempt}`)
  putClaim(draft, {
    ...claim,
    attempt,
    retryReason: reason,
    ...(notBefore === undefined ? {} : { notBefore }),
  })
  // The work is at another attempt: who asks what changed hears of it.
  putWork(draft, { ...held(draft.works, claim.workId, 'work') })
}

export function foldRearm(draft: Draft, { claimId }: GraphEntryData<'rearm'>): void {
  const { hold: _, ...claim } = liveClaim(draft, claimId, 'executing')
  putClaim(draft, { ...claim, admissionStatus: 'claimed' })
  putWork(draft, { ...held(draft.works, claim.workId, 'work'), status: 'claimed' })
}

/** A held claim is something the root should hear of, as is an end. */
export function foldHold(draft: Draft, { at, claimId, attempt, kind, reason }: GraphEntryData<'hold'>): void {
  const claim = liveClaim(draft, claimId, 'executing')
  if (attempt !== claim.attempt) throw new FoldError(`holds attempt ${attempt}, live is ${claim.attempt}`)
  if (claim.hold !== undefined) throw new FoldError(`holds claim ${claimId} a second time`)
  draft.changeSeq += 1
  putClaim(draft, { ...claim, hold: Object.freeze({ kind, reason, heldAt: at }) })
  putWork(draft, { ...held(draft.works, claim.workId, 'work') })
}

export function foldBind(draft: Draft, { at, binding }: GraphEntryData<'bind'>): void {
  const { graphId, ...bound } = binding
  if (graphId !== draft.graphId) throw new FoldError(`belongs to graph ${graphId}`)
  const operatorId = draft.index.provisions.get(bound.provisionId)
  if (operatorId === undefined)
    throw new FoldError(`binds provision ${bound.provisionId}, which is not there`)
  if (draft.bindings.has(bound.provisionId)) throw new FoldError(`binds provision ${bound.provisionId} again`)
  const { workId } = held(draft.operators, operatorId, 'operator')
  const binding_ = Object.freeze({ ...bound, operatorId, workId, boundAt: at })
  draft.bindings = draft.bindings.set(bound.provisionId, binding_)
}

export function foldCancel(draft: Draft, { at, claimId, reason }: GraphEntryData<'cancel'>): void {
  const { hold: _, ...claim } = liveClaim(draft, claimId)
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
  const { at, attempt, outcome, reason, record, artifacts = [], usage } = data
  const { hold: _, ...claim } = liveClaim(draft, data.claimId)
  if (attempt !== claim.attempt) throw new FoldError(`settles attempt ${attempt}, live is ${claim.attempt}`)
  putClaim(draft, {
    ...claim,
    admissionStatus: 'settled',
    outcome,
    ...(record === undefined ? {} : { recordId: record.recordId }),
  })
  // The records are there before the work ends: those who wait for the work find them.
  const left = record === undefined ? artifacts : [record, ...artifacts]
  const origin = originOf(claim)
  for (const stored of left) leaveRecord(draft, { ...stored, ...origin, committedAt: at })
  const work = held(draft.works, claim.workId, 'work')
  if (left.length > 0 || usage !== undefined) {
    const recordIds = Object.freeze([...work.recordIds, ...left.map((stored) => stored.recordId)])
    const spent = usage === undefined ? {} : { usage: sum(work.usage, usage) }
    putWork(draft, { ...work, recordIds, ...spent })
  }
  if (usage !== undefined) draft.usage = sum(draft.usage, usage)
  endWork(draft, claim.workId, { status: ENDS[outcome], reason, at })
}

function sum(before: TokenUsage | undefined, more: TokenUsage): TokenUsage {
  return Object.freeze({
    inputTokens: (before?.inputTokens ?? 0) + more.inputTokens,
    outputTokens: (before?.outputTokens ?? 0) + more.outputTokens,
  })
}

function originOf(claim: Claim): Pick<GraphRecord, 'workId' | 'operatorId' | 'activationId'> {
  const { workId, targetOperatorId: operatorId } = claim
  return { workId, operatorId, activationId: runIdOf(claim, claim.attempt) }
}

function leaveRecord(draft: Draft, record: GraphRecord): void {
  if (draft.records.has(record.recordId)) throw new FoldError(`repeats record ${record.recordId}`)
  draft.records = draft.records.set(record.recordId, Object.freeze(record))
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
