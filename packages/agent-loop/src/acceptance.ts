/**
 * The decision about a run request, against the stream it would be written to: the run it is already, a
 * refusal, or the entries that make it durable together with what it does to the queue. Pure.
 */
import type { Companion } from './engines/lane-engine.ts'
import type { RunEntry } from './entries.ts'
import { AgentLoopError } from './errors.ts'
import { queueModeOf, type SessionSettings } from './queue-types.ts'
import { decideArrival } from './queue-policy.ts'
import type { StoredRequest } from './request-schemas.ts'
import type { CheckedRunRequest } from './request.ts'
import type { RunFold } from './run-fold.ts'
import { messageIdOf } from './run-message.ts'
import type { RunRecord } from './run-record.ts'
import type { Decision } from './run-stream.ts'

export interface AcceptanceRules {
  readonly now: number
  readonly settings: SessionSettings
  readonly lane: string
  readonly maxQueuedPerSession: number
  /** After how many milliseconds to ask again, when the lane has no room. */
  readonly laneFull: number | undefined
  readonly retryAfterMs: number
  readonly draining: boolean
  /** Of the lease under which the run may begin at once, when nothing is in its way. */
  readonly startEpoch: number | undefined
  /** What tells other hosts, when the session had nothing to run until now. */
  readonly summons?: (() => Companion | undefined) | undefined
}

export interface Acceptance {
  readonly runId: string
  /** The request made it; otherwise it was there already. */
  readonly isNew: boolean
  /** It was marked as started in the append that accepted it. */
  readonly isStarted: boolean
  /** Its session waits for a turn since this acceptance, as it says itself. */
  readonly isSummoned: boolean
}

/** @throws `conflict`, `draining` or `busy`; then nothing is stored. */
export function decideAcceptance(
  fold: RunFold,
  request: CheckedRunRequest,
  rules: AcceptanceRules,
): Decision<Acceptance> {
  const known = knownRun(fold, request)
  if (known !== undefined)
    return { result: { runId: known.runId, isNew: false, isStarted: false, isSummoned: false } }
  if (rules.draining) {
    throw new AgentLoopError('draining', 'the agent-loop host is about to restart; ask again after its start')
  }
  if (rules.laneFull !== undefined) throw busy(`lane "${rules.lane}"`, rules.laneFull)
  const mode = queueModeOf(request.mode ?? rules.settings.queue.mode)
  const { runId, asked, sessionId } = request
  const arriving = decideArrival(
    fold,
    { runId, mode, asked },
    rules.settings.queue,
    rules.maxQueuedPerSession,
  )
  if (arriving.kind === 'full') {
    throw busy(`the queue of session ${JSON.stringify(sessionId)}`, rules.retryAfterMs)
  }
  const { takesPlaceOf, victims } = arriving
  const entries: readonly RunEntry[] = [
    ...described(fold, request),
    {
      type: 'run/accepted',
      data: {
        v: 2,
        runId,
        key: request.idempotencyKey,
        fingerprint: request.fingerprint,
        messageId: messageIdOf(runId),
        acceptedAt: rules.now,
        request: storedRequest(request, mode, rules),
        ...(takesPlaceOf === undefined ? {} : { takesPlaceOf }),
      },
    },
    ...victims.map(({ run, settlement }): RunEntry => ({
      type: 'run/settled',
      data: { v: 3, runId: run.runId, ...settlement, endedAt: rules.now },
    })),
  ]
  const start = startOf(fold, request, rules)
  const companion = fold.openCount === 0 ? rules.summons?.() : undefined
  const isSummoned = companion !== undefined
  return {
    entries: [...entries, ...start],
    companion,
    result: { runId, isNew: true, isStarted: start.length > 0, isSummoned },
  }
}

/** A run that begins at once is accepted and started in one append: one write less before its turn. */
function startOf(
  fold: RunFold,
  { runId, asked }: CheckedRunRequest,
  { startEpoch, now }: AcceptanceRules,
): readonly RunEntry[] {
  const isAlone = fold.openCount === 0 && (asked.expiresAt ?? Number.POSITIVE_INFINITY) > now
  if (startEpoch === undefined || !isAlone || fold.epoch > startEpoch) return []
  const data = { v: 2 as const, runId, attempt: 1, startedAt: now, via: 'turn' as const, epoch: startEpoch }
  return [{ type: 'run/started', data }]
}

function knownRun(fold: RunFold, request: CheckedRunRequest): RunRecord | undefined {
  const { idempotencyKey: key, fingerprint, runId, asked } = request
  const known = fold.withKey(key)
  if (known?.fingerprint === fingerprint) return known
  if (known !== undefined) throw taken('idempotency key', key, known)
  // A message that was delivered twice where it came from.
  const sameMessage = asked.messageId === undefined ? undefined : fold.withMessage(asked.messageId)
  if (sameMessage !== undefined) return sameMessage
  const namesake = fold.get(runId)
  if (namesake !== undefined) throw taken('run id', runId, namesake)
  return undefined
}

function storedRequest(
  { asked }: CheckedRunRequest,
  mode: StoredRequest['mode'],
  { lane, settings }: AcceptanceRules,
): StoredRequest {
  const { queue: _queue, ...defaults } = settings
  // A model asked for by itself does not come with the effort that another one was to have.
  const { effort: _effort, ...withoutEffort } = defaults
  return { ...(asked.model === undefined ? defaults : withoutEffort), ...asked, mode, lane }
}

function described(fold: RunFold, { sessionKey, asked }: CheckedRunRequest): readonly RunEntry[] {
  if (sessionKey === undefined || fold.described !== undefined) return []
  const { cwd, model } = asked
  const data = {
    v: 1 as const,
    key: sessionKey,
    ...(cwd === undefined ? {} : { cwd }),
    ...(model === undefined ? {} : { model }),
  }
  return [{ type: 'session/described', data }]
}

function busy(what: string, retryAfterMs: number): AgentLoopError {
  return new AgentLoopError('busy', `${what} is full; ask again in ${retryAfterMs} ms`, { retryAfterMs })
}

function taken(what: string, name: string, run: RunRecord): AgentLoopError {
  return new AgentLoopError(
    'conflict',
    `${what} ${JSON.stringify(name)} of session ${JSON.stringify(run.sessionId)} belongs to another ` +
      `request (run ${run.runId}); repeat that request unchanged or choose another ${what}`,
  )
}
