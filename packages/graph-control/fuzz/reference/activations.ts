/** The reference: operators, worktrees, claims and how activations end. */
import {
  type BindingRequest,
  type ClaimRequest,
  graphRecordId,
  type ProvisionRequest,
  runIdOf,
  type SettleRequest,
} from '../../src/index.ts'
import { claimOf, isLive, letGo, type RefClaim, type RefGraph, statusOf, workOf } from './graph.ts'
import { done, kept, refused, Rules, type Verdict } from './verdict.ts'
import { end, settle as settleWorks } from './works.ts'

export function provision(graph: RefGraph, request: ProvisionRequest, at: number): Verdict {
  const existing = graph.operators.find((operator) => operator.provisionId === request.provisionId)
  if (existing !== undefined) {
    const isSame =
      existing.provisionFingerprint === request.provisionFingerprint && existing.workId === request.workId
    return isSame ? kept({ created: false }) : refused('provision-conflict')
  }
  const work = workOf(graph, request.workId)
  const { expectedScheduleRevision, graphId: _, ...operator } = request
  const turns = [
    ...graph.operators.map((o) => o.initialTurnId),
    ...graph.claims.map((c) => c.request.targetTurnId),
  ]
  const runs = [
    ...graph.operators.map((o) => o.initialRunId),
    ...graph.claims.map((c) => c.request.targetRunId),
  ]
  return new Rules()
    .keep(graph.finish === undefined, 'schedule-closed')
    .keep(!graph.isDraft, 'draft-conflict')
    .keep(graph.updates.length === expectedScheduleRevision, 'schedule-revision-conflict')
    .keep(work !== undefined && work.over === undefined, 'work-conflict')
    .keep(work?.operatorId === undefined, 'provision-conflict')
    .keep(!graph.operators.some((o) => o.operatorId === operator.operatorId), 'provision-conflict')
    .keep(workOf(graph, operator.operatorId) === undefined, 'provision-conflict')
    .keep(operator.operatorId !== graph.graphId, 'provision-conflict')
    .keep(operator.targetSessionId !== graph.root, 'provision-conflict')
    .keep(!graph.operators.some((o) => o.targetSessionId === operator.targetSessionId), 'provision-conflict')
    .keep(!turns.includes(operator.initialTurnId), 'provision-conflict')
    .keep(!runs.includes(operator.initialRunId), 'provision-conflict')
    .allow(() => {
      graph.operators.push({ ...operator, provisionedAt: at })
      if (work !== undefined) work.operatorId = operator.operatorId
      graph.seq += 1
      return done({ created: true })
    })
}

export function bind(graph: RefGraph, request: BindingRequest, at: number): Verdict {
  const existing = graph.bindings.find((binding) => binding.provisionId === request.provisionId)
  if (existing !== undefined) {
    const isSame = (['leaseKey', 'path', 'branch'] as const).every((key) => existing[key] === request[key])
    return isSame ? kept({ created: false }) : refused('binding-conflict')
  }
  const operator = graph.operators.find((known) => known.provisionId === request.provisionId)
  if (operator === undefined) return refused('provision-not-found')
  const { graphId: _, ...bound } = request
  const { operatorId, workId } = operator
  graph.bindings.push({ ...bound, operatorId, workId, boundAt: at })
  graph.seq += 1
  return done({ created: true })
}

export function claim(graph: RefGraph, request: ClaimRequest, at: number, revision?: number): Verdict {
  const ofIntent = graph.claims.find((known) => known.request.intentId === request.intentId)
  const existing = ofIntent ?? claimOf(graph, request.claimId)
  if (existing !== undefined) {
    const { targetTurnId: _t, targetRunId: _r, ...asked } = request
    const isSame = Object.entries(asked).every(
      ([key, value]) => (existing.request as unknown as Record<string, unknown>)[key] === value,
    )
    return isSame
      ? kept({ created: false, runId: existing.request.targetRunId })
      : refused('intent-claim-conflict')
  }
  const work = workOf(graph, request.workId)
  const status = work === undefined ? undefined : statusOf(graph, work)
  const operator = graph.operators.find((known) => known.operatorId === request.targetOperatorId)
  const isBusy = graph.claims.some(
    (c) => isLive(c) && c.request.targetOperatorId === request.targetOperatorId,
  )
  const isLiveWork = status === 'claimed' || status === 'running'
  return new Rules()
    .keep(graph.finish === undefined, 'schedule-closed')
    .keep(!graph.isDraft, 'draft-conflict')
    .keep(revision === undefined || revision === graph.updates.length, 'schedule-revision-conflict')
    .keep(!isLiveWork, 'intent-claim-conflict')
    .keep(isLiveWork || status === 'ready', 'work-conflict')
    .keep(operator !== undefined && work?.operatorId !== undefined, 'provision-not-found')
    .keep(work?.operatorId === request.targetOperatorId, 'intent-claim-conflict')
    .keep(operator?.targetSessionId === request.targetSessionId, 'intent-claim-conflict')
    .keep(!isBusy, 'intent-claim-conflict')
    .keep(isFree(graph, request, 'Turn'), 'intent-claim-conflict')
    .keep(isFree(graph, request, 'Run'), 'intent-claim-conflict')
    .allow(() => {
      graph.claims.push({ request, claimedAt: at, status: 'claimed', attempt: 0, holds: 0, left: [] })
      if (work !== undefined) work.claimId = request.claimId
      graph.seq += 1
      return done({ created: true, runId: request.targetRunId })
    })
}

/** A turn or run is one activation's, reserved at most by the operator of the same work. */
function isFree(graph: RefGraph, request: ClaimRequest, kind: 'Turn' | 'Run'): boolean {
  const id = request[`target${kind}Id`]
  const isReserved = graph.operators.some((o) => o[`initial${kind}Id`] === id && o.workId !== request.workId)
  return !isReserved && !graph.claims.some((known) => known.request[`target${kind}Id`] === id)
}

function ofIntent(graph: RefGraph, intentId: string): RefClaim | undefined {
  return graph.claims.find((known) => known.request.intentId === intentId)
}

const CLAIM_STATE = (previousState: string, state = previousState) => ({
  state,
  previousState,
  changed: state !== previousState,
})

export function begin(graph: RefGraph, intentId: string, revision: number, at: number): Verdict {
  const held = ofIntent(graph, intentId)
  if (held === undefined) return refused('intent-not-found')
  if (held.status !== 'claimed') return kept(CLAIM_STATE(held.status))
  if (revision !== graph.updates.length) return refused('schedule-revision-conflict')
  held.status = 'executing'
  held.attempt += 1
  delete held.notBefore
  const work = workOf(graph, held.request.workId)
  if (work !== undefined) work.startedAt ??= at
  graph.seq += 1
  return done(CLAIM_STATE('claimed', 'executing'))
}

export function rearm(graph: RefGraph, intentId: string): Verdict {
  const held = ofIntent(graph, intentId)
  if (held === undefined) return refused('intent-not-found')
  const isOver = workOf(graph, held.request.workId)?.over !== undefined
  if (held.status !== 'executing' || isOver) return kept(CLAIM_STATE(held.status))
  held.status = 'claimed'
  letGo(graph, held)
  graph.seq += 1
  return done(CLAIM_STATE('executing', 'claimed'))
}

export function cancel(graph: RefGraph, intentId: string, reason: string, at: number): Verdict {
  const held = ofIntent(graph, intentId)
  if (held === undefined) return refused('intent-not-found')
  const before = held.status
  if (!isLive(held)) return kept(CLAIM_STATE(before))
  held.status = 'cancelled'
  held.cancellationReason = reason
  delete held.hold
  endWork(graph, held, { status: 'cancelled', reason, at })
  graph.seq += 1
  return done(CLAIM_STATE(before, 'cancelled'))
}

function endWork(graph: RefGraph, held: RefClaim, over: Parameters<typeof end>[2]): void {
  const work = workOf(graph, held.request.workId)
  if (work !== undefined) end(graph, work, over)
  settleWorks(graph, over.at)
}

interface Again {
  readonly claimId: string
  readonly lostAttempt: number
  readonly reason: string
  readonly notBefore?: number
}

export function again(graph: RefGraph, { claimId, lostAttempt, reason, notBefore }: Again): Verdict {
  const held = claimOf(graph, claimId)
  if (held === undefined) return refused('intent-not-found')
  const rules = executing(graph, held)
  if (rules.broken.length === 0 && held.attempt === lostAttempt + 1) return kept({ attempt: held.attempt })
  return rules.keep(held.attempt === lostAttempt, 'attempt-conflict').allow(() => {
    held.attempt += 1
    held.retryReason = reason
    letGo(graph, held)
    delete held.notBefore
    if (notBefore !== undefined) held.notBefore = notBefore
    graph.seq += 1
    return done({ attempt: held.attempt })
  })
}

function executing(graph: RefGraph, held: RefClaim): Rules {
  return new Rules()
    .keep(held.status === 'executing', 'attempt-conflict')
    .keep(
      held.status !== 'executing' || workOf(graph, held.request.workId)?.over === undefined,
      'work-conflict',
    )
}

interface Hold {
  readonly claimId: string
  readonly attempt: number
  readonly kind: 'person' | 'model'
  readonly reason: string
}

export function hold(graph: RefGraph, { claimId, attempt, kind, reason }: Hold, at: number): Verdict {
  const held = claimOf(graph, claimId)
  if (held === undefined) return refused('intent-not-found')
  const rules = executing(graph, held).keep(held.attempt === attempt, 'attempt-conflict')
  if (rules.broken.length === 0 && held.hold !== undefined) return kept({ attempt })
  return rules.allow(() => {
    held.hold = { kind, reason, heldAt: at }
    held.holds += 1
    graph.seq += 1
    return done({ attempt })
  })
}

const ENDS = {
  completed: 'completed',
  failed: 'failed',
  aborted: 'cancelled',
  cancelled: 'cancelled',
} as const

export function settle(graph: RefGraph, request: SettleRequest, at: number): Verdict {
  const held = claimOf(graph, request.claimId)
  if (held === undefined) return refused('intent-not-found')
  const { attempt, outcome, usage, conclusion = '', artifacts = [] } = request
  if (held.status === 'settled' && held.attempt === attempt) {
    return kept({ created: false, recordId: held.conclusionId })
  }
  return new Rules()
    .keep(isLive(held) && held.attempt === attempt, 'attempt-conflict')
    .keep(held.status !== 'claimed' || attempt === 0, 'attempt-conflict')
    .keep(attempt > 0 || outcome !== 'completed', 'attempt-conflict')
    .allow(() => {
      held.status = 'settled'
      held.outcome = outcome
      delete held.hold
      if (usage !== undefined) held.usage = usage
      if (conclusion !== '' || outcome === 'completed') {
        held.conclusionId = leave(graph, held, { kind: 'conclusion' }, conclusion, at)
      }
      for (const { name, text } of artifacts) leave(graph, held, { kind: 'artifact', name }, text, at)
      const reason = outcome === 'completed' ? {} : { reason: request.reason ?? 'no reason given' }
      endWork(graph, held, { status: ENDS[outcome], ...reason, at })
      graph.seq += 1
      return done({ created: true, recordId: held.conclusionId })
    })
}

type Named = { readonly kind: 'conclusion' } | { readonly kind: 'artifact'; readonly name: string }

function leave(graph: RefGraph, held: RefClaim, named: Named, text: string, at: number): string {
  const { workId, targetOperatorId: operatorId } = held.request
  const origin = { workId, operatorId, activationId: runIdOf(held.request, held.attempt), ...named }
  const recordId = graphRecordId({ graphId: graph.graphId, ...origin })
  const bytes = Buffer.byteLength(text)
  const summary = text.slice(0, 512)
  const summaryTruncated = summary.length < text.length
  const told = { summary, summaryTruncated, bytes, digest: '', textTruncated: false, committedAt: at }
  graph.records.push({ recordId, ...origin, ...told })
  graph.texts[recordId] = text
  held.left.push(recordId)
  return recordId
}
