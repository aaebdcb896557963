/**
 * Reads what callers ask for: the strict checks of each public request, the session and the run id it
 * resolves to, and the fingerprint that tells two run requests apart. Pure; nothing here looks at the
 * state of a session.
 */
import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { AgentLoopError } from './errors.ts'
import { queueModeOf, type QueueMode } from './queue-types.ts'
import {
  abortRequestSchema,
  defaultsSchema,
  runRequestSchema,
  sessionIdSchema,
  waitRequestSchema,
  type DefaultsChange,
  type StoredRequest,
} from './request-schemas.ts'

/** What of a request is stored with the run; mode and lane are settled at its acceptance. */
export type AskedRun = Omit<StoredRequest, 'mode' | 'lane'>

/** A run request with its session and run id settled, and the digest of all it asks. */
export interface CheckedRunRequest {
  readonly sessionId: string
  /** The key that named the session, if one did. */
  readonly sessionKey: string | undefined
  readonly idempotencyKey: string
  readonly runId: string
  readonly mode: QueueMode | undefined
  readonly lane: string | undefined
  readonly asked: AskedRun
  /** SHA-256 over the canonical JSON of the request, 64 hexadecimal digits. */
  readonly fingerprint: string
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** JSON with sorted keys and without undefined members: equal values give equal texts. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`)
  return `{${members.join(',')}}`
}

/** The run id of a request that names none: the same session and key always give the same one. */
export function defaultRunId(sessionId: string, idempotencyKey: string): string {
  return `run_${sha256(JSON.stringify([sessionId, idempotencyKey])).slice(0, 32)}`
}

/** The session that a caller's key means. */
export function sessionIdOfKey(sessionKey: string): string {
  return `key_${sha256(sessionKey).slice(0, 32)}`
}

function refuse(operation: string, error: z.ZodError): AgentLoopError {
  const problems = error.issues.map((issue) => {
    const where = issue.path.join('.')
    return where === '' ? issue.message : `${where}: ${issue.message}`
  })
  return new AgentLoopError('invalid', `${operation} refused: ${problems.join('; ')}`)
}

/** @throws `invalid`, naming every problem; unknown fields are one. */
export function checkRunRequest(input: unknown): CheckedRunRequest {
  const parsed = runRequestSchema.safeParse(input)
  if (!parsed.success) throw refuse('accept', parsed.error)
  const { sessionKey, idempotencyKey, runId: named, queueMode, lane, provenance, ...rest } = parsed.data
  const sessionId = parsed.data.sessionId ?? sessionIdOfKey(sessionKey ?? '')
  const runId = named ?? defaultRunId(sessionId, idempotencyKey)
  const { sessionId: _named, ...others } = rest
  const asked: AskedRun = { ...defined(others), provenance: provenance ?? { kind: 'user' as const } }
  const mode = queueMode === undefined ? undefined : queueModeOf(queueMode)
  const digested = { ...asked, sessionId, sessionKey, idempotencyKey, runId, queueMode: mode, lane }
  const fingerprint = sha256(canonicalJson(digested))
  return { sessionId, sessionKey, idempotencyKey, runId, mode, lane, asked, fingerprint }
}

/** Without members that are there but undefined: what is stored is lossless JSON. */
function defined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T
}

/** @throws `invalid`, naming every problem. */
export function checkWaitRequest(input: unknown): {
  runId: string
  timeoutMs?: number | undefined
  signal?: AbortSignal | undefined
} {
  const parsed = waitRequestSchema.safeParse(input)
  if (!parsed.success) throw refuse('wait', parsed.error)
  return parsed.data
}

/** @throws `invalid`, naming every problem. */
export function checkAbortRequest(input: unknown): {
  runId?: string | undefined
  sessionId?: string | undefined
  cause?: string | undefined
} {
  const parsed = abortRequestSchema.safeParse(input)
  if (!parsed.success) throw refuse('abort', parsed.error)
  return parsed.data
}

/** @throws `invalid`, naming every problem. */
export function checkDefaults(input: unknown): DefaultsChange {
  const parsed = defaultsSchema.safeParse(input)
  if (!parsed.success) throw refuse('configure', parsed.error)
  return parsed.data
}

/** @throws `invalid`. */
export function checkSessionId(operation: string, sessionId: unknown): string {
  const parsed = sessionIdSchema.safeParse(sessionId)
  if (!parsed.success) throw refuse(operation, parsed.error)
  return parsed.data
}
