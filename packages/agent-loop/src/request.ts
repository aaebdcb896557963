/**
 * What a caller may ask for: the strict checks of each public request, and the fingerprint that tells
 * two run requests apart. Pure; nothing here looks at the state of a session.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { MAX_DELAY_MS } from './clock.ts'
import { AgentLoopError } from './errors.ts'
import type { RunProvenance } from './types.ts'

const MAX_MESSAGE_CHARACTERS = 1_000_000
/** One entry of the durable log holds at most 4 MiB of JSON; the message leaves room for the rest. */
const MAX_MESSAGE_JSON_BYTES = 3_900_000

/** A name that ends up in stream names and logs: no control characters, no half characters. */
function identifier(maxLength: number) {
  return z
    .string()
    .min(1)
    .max(maxLength)
    .regex(/^[^\p{Cc}]*$/u, 'holds a control character')
    .refine((value) => value.isWellFormed(), 'holds half a surrogate pair')
}

const delay = (min: number) => z.int().min(min).max(MAX_DELAY_MS)

export const provenanceSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('user') }),
  z.strictObject({
    kind: z.literal('plugin'),
    plugin: z.string().min(1).max(200),
    summary: z.string().min(1).max(1000),
  }),
])

const runRequestSchema = z.strictObject({
  // A stream name takes 512 characters, `run/` among them.
  sessionId: identifier(508),
  message: z
    .string()
    .min(1)
    .max(MAX_MESSAGE_CHARACTERS)
    .refine((text) => text.length === 0 || text.trim() !== '', 'is blank')
    .refine(
      (text) =>
        text.length > MAX_MESSAGE_CHARACTERS ||
        Buffer.byteLength(JSON.stringify(text)) <= MAX_MESSAGE_JSON_BYTES,
      `exceeds ${MAX_MESSAGE_JSON_BYTES} bytes as JSON`,
    ),
  idempotencyKey: z.string().min(1).max(256),
  runId: identifier(256).optional(),
  provenance: provenanceSchema.optional(),
  timeoutMs: delay(1).optional(),
})

const waitRequestSchema = z.strictObject({
  runId: z.string().min(1),
  timeoutMs: z.int().min(0).optional(),
  signal: z.instanceof(AbortSignal).optional(),
})

const abortRequestSchema = z
  .strictObject({
    runId: z.string().min(1).optional(),
    sessionId: z.string().min(1).optional(),
    cause: z.string().min(1).max(1000).optional(),
  })
  .refine((request) => request.runId !== undefined || request.sessionId !== undefined, {
    message: 'names neither runId nor sessionId',
  })

/** A run request with its run id settled, and the digest of all it asks. */
export interface CheckedRunRequest {
  readonly sessionId: string
  readonly message: string
  readonly idempotencyKey: string
  readonly runId: string
  readonly provenance: RunProvenance
  readonly timeoutMs?: number
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
  const { sessionId, message, idempotencyKey, timeoutMs } = parsed.data
  const asked = {
    sessionId,
    message,
    idempotencyKey,
    runId: parsed.data.runId ?? defaultRunId(sessionId, idempotencyKey),
    provenance: parsed.data.provenance ?? { kind: 'user' as const },
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  }
  return { ...asked, fingerprint: sha256(canonicalJson(asked)) }
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
