/**
 * Every id of an agent graph is derived: whoever repeats a step after a crash arrives at the same
 * id, and the store answers with what is already there.
 *
 * Forms: a prefix and 32 hex digits of SHA-256 over canonical JSON; fingerprints are `sha256:` and
 * all 64 digits.
 */
import { canonicalJson, sha256Hex } from './canonical.ts'
import type { Claim, GraphRecord } from './types.ts'

/** A fingerprint of any JSON value: `sha256:` and 64 hex digits, independent of key order. */
export function stableHash(value: unknown): string {
  return `sha256:${sha256Hex(canonicalJson(value))}`
}

function derivedId(prefix: string, inputs: unknown): string {
  return `${prefix}_${sha256Hex(canonicalJson(inputs)).slice(0, 32)}`
}

/** What names an update: the tool call, or the caller's own key in place of run, turn and call. */
export interface UpdateIdentity {
  readonly graphId: string
  readonly sessionId: string
  readonly runId: string
  readonly turnId: string
  readonly toolCallId: string
  /** A retry with the same key in any later turn is the same update. */
  readonly idempotencyKey?: string | undefined
}

export function graphUpdateId(identity: UpdateIdentity): string {
  const { graphId, sessionId, runId, turnId, toolCallId, idempotencyKey } = identity
  const source =
    idempotencyKey === undefined ? { sessionId, runId, turnId, toolCallId } : { sessionId, idempotencyKey }
  return derivedId('graph_update', { schemaVersion: 1, graphId, source })
}

/** The work at `index` of an update's `addWork`. */
export function graphWorkId(updateId: string, index: number): string {
  return derivedId('graph_work', { schemaVersion: 1, updateId, index })
}

/** @param retries how often the work was retried: each retry is admitted anew. */
export function graphIntentId(graphId: string, workId: string, retries = 0): string {
  const again = retries === 0 ? {} : { retries }
  return derivedId('graph_intent', { schemaVersion: 1, graphId, workId, ...again })
}

export function graphClaimId(graphId: string, intentId: string): string {
  return derivedId('graph_claim', { schemaVersion: 1, graphId, intentId })
}

export function graphProvisionId(graphId: string, workId: string): string {
  return derivedId('graph_provision', { schemaVersion: 1, graphId, workId })
}

/** The operator that is provisioned for a work. */
export function graphOperatorId(graphId: string, workId: string): string {
  return derivedId('graph_operator', { schemaVersion: 1, kind: 'dynamic_operator', graphId, workId })
}

/** The child session of an operator. */
export function graphOperatorSessionId(graphId: string, operatorId: string): string {
  return derivedId('graph_session', { schemaVersion: 1, kind: 'operator_session', graphId, operatorId })
}

/** @param record with the name of an artifact. */
export function graphRecordId(
  record: Pick<GraphRecord, 'operatorId' | 'activationId' | 'kind' | 'name'> & { readonly graphId: string },
): string {
  const { graphId, operatorId, activationId, kind, name } = record
  const named = name === undefined ? {} : { name }
  return derivedId('graph_record', { schemaVersion: 1, graphId, operatorId, activationId, kind, ...named })
}

export function graphWakeId(graphId: string, snapshotVersion: number): string {
  return derivedId('graph_wake', { schemaVersion: 1, graphId, snapshotVersion })
}

/** @param index from 1. */
export function graphWakeAttemptId(wakeId: string, index: number): string {
  return derivedId('graph_wake_attempt', { schemaVersion: 1, wakeId, index })
}

/** @param epoch from 1. */
export function epochGraphId(rootSessionId: string, epoch: number): string {
  return derivedId(
    'agent_graph',
    epoch === 1 ? { schemaVersion: 1, rootSessionId } : { schemaVersion: 2, rootSessionId, epoch },
  )
}

/** Whether a name has the form of {@link epochGraphId}. */
export function isEpochGraphId(graphId: string): boolean {
  return /^agent_graph_[0-9a-f]{32}$/u.test(graphId)
}

/** The run of one attempt, which is also its activation id: `<targetRunId>`, then `<targetRunId>#2`, … */
export function runIdOf(claim: Pick<Claim, 'targetRunId'>, attempt: number): string {
  return attempt <= 1 ? claim.targetRunId : `${claim.targetRunId}#${attempt}`
}
