/**
 * The durable entries of a session's run stream, `run/<sessionId>`: their shapes, version 1, and the
 * strict reading of what a medium holds. What an entry means for a run is `run-fold.ts`.
 */
import type { Entry, JsonValue, StoredEntry } from 'dsh-durable-log'
import { z } from 'zod'
import { AgentLoopError } from './errors.ts'
import { provenanceSchema } from './request.ts'

export const RUN_STREAM_PREFIX = 'run/'

const id = z.string().min(1)
const time = z.int().min(0)

const acceptedSchema = z.strictObject({
  v: z.literal(1),
  runId: id,
  key: id,
  fingerprint: z.string().regex(/^[0-9a-f]{64}$/),
  /** The id of the one user message this run puts into the session. */
  messageId: id,
  acceptedAt: time,
  request: z.strictObject({
    message: id,
    provenance: provenanceSchema,
    timeoutMs: z.int().min(1).optional(),
  }),
})

const startedSchema = z.strictObject({
  v: z.literal(1),
  runId: id,
  /** Counts how often the message was handed to an agent, from 1. */
  attempt: z.int().min(1),
  startedAt: time,
})

const settledSchema = z.strictObject({
  v: z.literal(1),
  runId: id,
  state: z.enum(['ok', 'error', 'aborted', 'timed-out', 'interrupted']),
  endedAt: time,
  turn: z.int().min(1).optional(),
  reply: z.string().optional(),
  usage: z.strictObject({ inputTokens: z.number().min(0), outputTokens: z.number().min(0) }).optional(),
  error: z.strictObject({ code: id, message: z.string() }).optional(),
})

export type AcceptedData = z.infer<typeof acceptedSchema>
export type StartedData = z.infer<typeof startedSchema>
export type SettledData = z.infer<typeof settledSchema>

export type RunEntry =
  | { readonly type: 'run/accepted'; readonly data: AcceptedData }
  | { readonly type: 'run/started'; readonly data: StartedData }
  | { readonly type: 'run/settled'; readonly data: SettledData }

/** The entry as the log takes it. */
export function toLogEntry(entry: RunEntry): Entry {
  // Every member of the schemas is lossless JSON; absent optional members are not there at all.
  return { type: entry.type, data: entry.data as unknown as JsonValue }
}

/** @throws `quarantined` for an entry of another kind, version or shape. */
export function parseRunEntry(stored: Pick<StoredEntry, 'type' | 'data' | 'seq'>): RunEntry {
  const parsed = parseData(stored)
  if (parsed === undefined) {
    throw new AgentLoopError('quarantined', `entry ${stored.seq} is of the unknown kind "${stored.type}"`)
  }
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
    throw new AgentLoopError(
      'quarantined',
      `entry ${stored.seq} (${stored.type}) is not readable: ${problems.join('; ')}`,
    )
  }
  return { type: stored.type, data: parsed.data } as RunEntry
}

function parseData(stored: Pick<StoredEntry, 'type' | 'data'>) {
  switch (stored.type) {
    case 'run/accepted':
      return acceptedSchema.safeParse(stored.data)
    case 'run/started':
      return startedSchema.safeParse(stored.data)
    case 'run/settled':
      return settledSchema.safeParse(stored.data)
    default:
      return undefined
  }
}
