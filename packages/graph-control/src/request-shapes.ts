/**
 * What a well-formed request is: key sets, kinds, bounds. Whether a request fits the graph it is
 * for is decided elsewhere, against the folded state.
 */
import { GraphControlError } from './errors.ts'
import {
  account,
  type Check,
  distinct,
  flag,
  integer,
  json,
  line,
  list,
  object,
  oneOf,
  ShapeError,
  text,
} from './shape.ts'
import {
  type BindingRequest,
  type ClaimRequest,
  LIMITS,
  type ProvisionRequest,
  type ScheduleUpdateRequest,
  type SettleRequest,
  type TokenUsage,
} from './types.ts'

export const id = line(LIMITS.idChars)
export const reason = text(LIMITS.reasonChars)
/** Why something failed, in whatever words it failed with. */
export const failure = account(LIMITS.reasonChars)
/** A sequence number, revision or count. */
export const position = integer(0)

/** A run id of a first attempt; `#2` and up are the store's own way to name later ones. */
const runId: Check<string> = (value) => {
  const checked = id(value)
  if (/#\d+$/.test(checked)) throw new ShapeError('ends like the run of a later attempt (#n)')
  return checked
}

/** `#` marks the works of items; no caller may name a work so. */
const workId: Check<string> = (value) => {
  const checked = id(value)
  if (/#\d+$/.test(checked)) throw new ShapeError('ends like the work of an item (#n)')
  return checked
}

const model = line(LIMITS.idChars)

const work = object(
  {
    workId,
    target: object({ kind: oneOf('agent', 'preset', 'operator', 'graph'), id }),
    instruction: text(LIMITS.instructionChars),
    inputIds: distinct(list(id, LIMITS.inputIds), (inputId) => inputId),
  },
  {
    selectedResultInputs: distinct(
      list(object({ sourceGraphId: id, resultId: id }), LIMITS.selectedResults),
      (selected) => `${selected.sourceGraphId} ${selected.resultId}`,
    ),
    when: oneOf('all', 'any', 'always'),
    forEach: id,
    replay: oneOf('safe', 'confirm', 'model'),
    replaces: id,
    replacementMode: oneOf('none', 'replace'),
    title: line(LIMITS.titleChars),
    model,
    effort: model,
    args: json(LIMITS.argsBytes),
  },
)

export const scheduleUpdate: Check<ScheduleUpdateRequest> = object(
  {
    schemaVersion: oneOf(1),
    updateId: id,
    updateFingerprint: id,
    graphId: id,
    source: object({ sessionId: id, runId: id, turnId: id, toolCallId: id }, { orchestrationMode: id }),
    addWork: distinct(list(work, LIMITS.addWork), (added) => added.workId),
    stop: distinct(
      list(object({ targetId: id, reason }, { cascadeDownstream: flag }), LIMITS.stop),
      (stop) => stop.targetId,
    ),
  },
  {
    retry: distinct(list(object({ workId: id, reason }), LIMITS.retry), (retry) => retry.workId),
    draft: oneOf('open', 'commit'),
    finish: object({
      resultIds: distinct(list(id, LIMITS.finishResults), (resultId) => resultId),
      reason,
    }),
  },
)

const edges = distinct(
  list(object({ edgeId: id, fromOperatorId: id, toOperatorId: id }), LIMITS.edges),
  (edge) => edge.edgeId,
)

export const provisioned: Check<Omit<ProvisionRequest, 'expectedScheduleRevision'>> = object(
  {
    provisionId: id,
    provisionFingerprint: id,
    graphId: id,
    workId: id,
    operatorId: id,
    targetSessionId: id,
    initialTurnId: id,
    initialRunId: runId,
  },
  { edges },
)

const path = line(4_096)

export const binding: Check<BindingRequest> = object(
  { graphId: id, provisionId: id, leaseKey: id, path, branch: id },
  { baseCommit: id },
)

export const provision: Check<ProvisionRequest> = (value) => {
  if (typeof value !== 'object' || value === null) throw new ShapeError('must be an object')
  const { expectedScheduleRevision, ...rest } = value as Record<string, unknown>
  return Object.freeze({
    ...provisioned(rest),
    ...object({ expectedScheduleRevision: position })({ expectedScheduleRevision }),
  })
}

export const claim: Check<ClaimRequest> = object(
  {
    schemaVersion: oneOf(1),
    claimId: id,
    graphId: id,
    intentId: id,
    workId: id,
    intentFingerprint: id,
    targetOperatorId: id,
    targetSessionId: id,
    targetTurnId: id,
    targetRunId: runId,
  },
  { readinessContextFingerprint: id },
)

/** A conclusion is taken as it is; what is too long for the medium is cut, not refused. */
const conclusion: Check<string> = (value) => {
  if (typeof value !== 'string') throw new ShapeError('must be a string')
  return value.toWellFormed()
}

export const tokenUsage: Check<TokenUsage> = object({ inputTokens: position, outputTokens: position })

export const artifactName = line(LIMITS.titleChars)

const artifacts = distinct(
  list(object({ name: artifactName, text: conclusion }), LIMITS.artifacts),
  (artifact) => artifact.name,
)

export const settle: Check<SettleRequest> = object(
  {
    graphId: id,
    claimId: id,
    attempt: position,
    outcome: oneOf('completed', 'failed', 'aborted', 'cancelled'),
  },
  { conclusion, reason: failure, usage: tokenUsage, artifacts },
)

export const retry = object(
  { graphId: id, claimId: id, lostAttempt: integer(1), reason: failure },
  { notBefore: position },
)

export const later = object({}, { notBefore: position })

export const hold = object({
  graphId: id,
  claimId: id,
  attempt: integer(1),
  kind: oneOf('person', 'model'),
  reason: failure,
})

export const intent = object({ graphId: id, intentId: id })

export const cancellation = object({ graphId: id, intentId: id, reason })

export const begin = object({ graphId: id, intentId: id, expectedRevision: position })

export const wait = object({ graphId: id, waitId: id, until: oneOf('any', 'all') }, { reason })

export const seen = object({ graphId: id, changeSeq: position })

/** Room for the mark that a recurring wake appends to its id, `#occurrence-n`. */
const OCCURRENCE_CHARS = 24

/** Later times of a recurring wake are named by the store; no caller may name a wake so. */
const wakeId: Check<string> = (value) => {
  const checked = id(value)
  if (/#occurrence-\d+$/u.test(checked)) throw new ShapeError('ends like a later time of a recurring wake')
  return checked
}

const scheduledWakeId: Check<string> = (value) => {
  const checked = wakeId(value)
  const longest = LIMITS.idChars - OCCURRENCE_CHARS
  if (checked.length <= longest) return checked
  throw new ShapeError(
    `has ${checked.length} characters; at most ${longest} are allowed for a scheduled wake`,
  )
}

export const wake = object({ graphId: id, wakeId, snapshotVersion: position, rootSessionId: id })

export const scheduledWake = object(
  {
    graphId: id,
    wakeId: scheduledWakeId,
    snapshotVersion: position,
    rootSessionId: id,
    dueAt: position,
  },
  { recurMs: integer(1) },
)

export const wakeAttempt = object(
  { graphId: id, wakeId: id, attemptId: id },
  { maxAttempts: integer(1), turnId: id },
)

export const exhaustion = object({ graphId: id, wakeId: id, reason })

export const supersession = object({ graphId: id, reason })

export const wakeSettlement = object(
  {
    graphId: id,
    wakeId: id,
    attemptId: id,
    status: oneOf('waiting_permission', 'delivered', 'superseded', 'retryable_failed', 'exhausted'),
  },
  { failureReason: failure, retryAt: position },
)

export const advance = object({ rootSessionId: id, expectedEpoch: position })

export const registration = object({ graphId: id, rootSessionId: id })

export const listing = object({}, { rootSessionId: id, cursor: id, limit: integer(1, 200) })

export const timeline = object(
  { graphId: id },
  { afterSeq: position, beforeSeq: position, limit: integer(1, 256) },
)

export const page = object({}, { offset: position, limit: integer(1) })

/** The text of an id list in an error: enough to act on, never the whole of a long list. */
export function named(ids: readonly string[]): string {
  const shown = ids.slice(0, 8).join(', ')
  return ids.length > 8 ? `${shown} and ${ids.length - 8} more` : shown
}

/**
 * Checks a request, or refuses it by name.
 *
 * @throws GraphControlError `invalid`, before anything was read or written.
 */
export function requireShape<T>(operation: string, check: Check<T>, value: unknown): T {
  try {
    return check(value)
  } catch (error) {
    const detail = error instanceof ShapeError ? error.describe() : 'the request cannot be read'
    throw new GraphControlError('invalid', `${operation} refused: ${detail}`, { cause: error })
  }
}
