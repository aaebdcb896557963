/** Ending an activation: fenced by its attempt, and its record committed in the same entry. */
import { commit, committed, type Decision, unchanged } from './decision.ts'
import { graphEntry, type StoredArtifact, type StoredRecord } from './entries.ts'
import { GraphControlError } from './errors.ts'
import type { FoldedGraph } from './graph-state.ts'
import { graphRecordId, runIdOf } from './ids.ts'
import type { ResultTexts } from './results.ts'
import { claimOf } from './store-claims.ts'
import type { Claim, GraphRecord, SettleRequest, Work } from './types.ts'

interface Settled {
  readonly work: Work
  readonly record: GraphRecord | undefined
  readonly created: boolean
}

/**
 * Checks first, then stores the text, then decides on the entry: a text without its entry is
 * harmless and is taken up by the retry, an entry without its text cannot exist.
 */
export async function decideSettle(
  state: FoldedGraph,
  request: SettleRequest,
  context: { readonly at: number; readonly results: ResultTexts },
): Promise<Decision<Settled>> {
  const claim = claimOf(state, request.claimId)
  if (claim.admissionStatus === 'settled' && claim.attempt === request.attempt) {
    return unchanged(settledOf(state, claim, false))
  }
  requireLiveAttempt(claim, request)
  const { at, results } = context
  const { claimId, attempt, outcome, usage } = request
  const record = await storeRecord(state, claim, request, results)
  const artifacts = await storeArtifacts(state, claim, request, results)
  const entry = graphEntry('settle', {
    at,
    claimId,
    attempt,
    outcome,
    ...(outcome === 'completed' ? {} : { reason: request.reason ?? 'no reason given' }),
    ...(record === undefined ? {} : { record }),
    ...(artifacts.length === 0 ? {} : { artifacts }),
    ...(usage === undefined ? {} : { usage }),
  })
  return commit(entry, (after) => settledOf(after, committed(after.claims, claimId), true))
}

function settledOf(state: FoldedGraph, claim: Claim, created: boolean): Settled {
  const record = claim.recordId === undefined ? undefined : state.records.get(claim.recordId)
  return { work: committed(state.works, claim.workId), record, created }
}

function requireLiveAttempt(claim: Claim, { attempt, outcome }: SettleRequest): void {
  const { claimId, admissionStatus } = claim
  const refused = (why: string) =>
    new GraphControlError('attempt-conflict', `attempt ${attempt} of claim ${claimId} is refused: ${why}`)
  if (admissionStatus === 'cancelled' || admissionStatus === 'settled') {
    throw refused(`the claim is ${admissionStatus}`)
  }
  if (attempt !== claim.attempt) throw refused(`the live attempt is ${claim.attempt}`)
  if (admissionStatus === 'claimed' && attempt > 0)
    throw refused('it was given up, and the next has not begun')
  if (attempt === 0 && outcome === 'completed') throw refused('it has not begun, so it cannot have completed')
}

/** Every completed activation leaves a record, an empty one if need be; others do if they concluded. */
async function storeRecord(
  state: FoldedGraph,
  claim: Claim,
  request: SettleRequest,
  results: ResultTexts,
): Promise<StoredRecord | undefined> {
  const conclusion = request.conclusion ?? ''
  if (conclusion === '' && request.outcome !== 'completed') return undefined
  const kind = 'conclusion'
  const recordId = graphRecordId({
    graphId: state.graphId,
    operatorId: claim.targetOperatorId,
    activationId: runIdOf(claim, request.attempt),
    kind,
  })
  const stored = await results.write(state.graphId, recordId, conclusion)
  return { recordId, kind, ...stored }
}

/** One after the other: each is a stream of its own, and a retry finds those that are there. */
async function storeArtifacts(
  state: FoldedGraph,
  claim: Claim,
  request: SettleRequest,
  results: ResultTexts,
): Promise<readonly StoredArtifact[]> {
  const kind = 'artifact'
  const { targetOperatorId: operatorId } = claim
  const activationId = runIdOf(claim, request.attempt)
  const stored: StoredArtifact[] = []
  for (const { name, text } of request.artifacts ?? []) {
    const recordId = graphRecordId({ graphId: state.graphId, operatorId, activationId, kind, name })
    stored.push({ recordId, kind, name, ...(await results.write(state.graphId, recordId, text)) })
  }
  return stored
}
