/**
 * What a well-formed request is: key sets, kinds, bounds. Whether a request fits the graph it is
 * for is decided elsewhere, against the folded state.
 */
import { GraphControlError } from './errors.ts'
import {
  account,
  type Check,
  distinct,
  integer,
  line,
  list,
  object,
  oneOf,
  ShapeError,
  text,
} from './shape.ts'
import {
  type ClaimRequest,
  LIMITS,
  type ProvisionRequest,
  type ScheduleUpdateRequest,
  type SettleRequest,
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

const work = object(
  {
    workId: id,
    target: object({ kind: oneOf('agent', 'preset', 'operator', 'graph'), id }),
    instruction: text(LIMITS.instructionChars),
    inputIds: distinct(list(id, LIMITS.inputIds), (inputId) => inputId),
  },
  {
    selectedResultInputs: distinct(
      list(object({ sourceGraphId: id, resultId: id }), LIMITS.selectedResults),
      (selected) => `${selected.sourceGraphId} ${selected.resultId}`,
    ),
    replay: oneOf('safe', 'confirm'),
    replaces: id,
    title: line(LIMITS.titleChars),
  },
)

export const scheduleUpdate: Check<ScheduleUpdateRequest> = object(
  {
    schemaVersion: oneOf(1),
    updateId: id,
    updateFingerprint: id,
    graphId: id,
    source: object({ sessionId: id, runId: id, turnId: id, toolCallId: id }),
    addWork: distinct(list(work, LIMITS.addWork), (added) => added.workId),
    stop: distinct(list(object({ targetId: id, reason }), LIMITS.stop), (stop) => stop.targetId),
  },
  {
    finish: object({
      resultIds: distinct(list(id, LIMITS.finishResults), (resultId) => resultId),
      reason,
    }),
  },
)

export const provisioned: Check<Omit<ProvisionRequest, 'expectedScheduleRevision'>> = object({
  provisionId: id,
  provisionFingerprint: id,
  graphId: id,
  workId: id,
  operatorId: id,
  targetSessionId: id,
  initialTurnId: id,
  initialRunId: runId,
})

export const provision: Check<ProvisionRequest> = (value) => {
  if (typeof value !== 'object' || value === null) throw new ShapeError('must be an object')
  const { expectedScheduleRevision, ...rest } = value as Record<string, unknown>
  return Object.freeze({
    ...provisioned(rest),
    ...object({ expectedScheduleRevision: position })({ expectedScheduleRevision }),
  })
}

export const claim: Check<ClaimRequest> = object({
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
})

/** A conclusion is taken as it is; what is too long for the medium is cut, not refused. */
const conclusion: Check<string> = (value) => {
  if (typeof value !== 'string') throw new ShapeError('must be a string')
  return value.toWellFormed()
}

export const settle: Check<SettleRequest> = object(
  {
    graphId: id,
    claimId: id,
    attempt: position,
    outcome: oneOf('completed', 'failed', 'aborted', 'cancelled'),
  },
  { conclusion, reason: failure },
)

export const retry = object({ graphId: id, claimId: id, lostAttempt: integer(1), reason: failure })

export const cancellation = object({ graphId: id, intentId: id, reason })

export const begin = object({ graphId: id, intentId: id, expectedRevision: position })

export const wait = object({ graphId: id, waitId: id, until: oneOf('any', 'all') }, { reason })

export const seen = object({ graphId: id, changeSeq: position })

export const wake = object({ graphId: id, wakeId: id, snapshotVersion: position, rootSessionId: id })

export const wakeAttempt = object({ graphId: id, wakeId: id, attemptId: id }, { maxAttempts: integer(1) })

export const wakeSettlement = object(
  {
    graphId: id,
    wakeId: id,
    attemptId: id,
    status: oneOf('delivered', 'superseded', 'retryable_failed', 'exhausted'),
  },
  { failureReason: failure },
)

export const advance = object({ rootSessionId: id, expectedEpoch: position })

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
