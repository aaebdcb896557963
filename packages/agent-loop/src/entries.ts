/**
 * The durable entries of a session's run stream, `run/<sessionId>`: their shapes and the strict reading
 * of what a medium holds. What an entry means is `run-fold.ts`.
 *
 * | entry | format | says |
 * |---|---|---|
 * | `run/accepted` | 1, 2 | a run is there, where in the queue, and what it puts out of it |
 * | `run/started` | 1, 2 | its message was handed to an agent, as a turn or as a steer, alone or with others |
 * | `run/deferred` | 1 | its message could not be handed over and is tried again |
 * | `run/settled` | 1, 2, 3 | how it ended |
 * | `queue/moved` | 1 | a queued run has another place |
 * | `queue/echoed` | 1 | a copy of a queued run's message went into an open turn |
 * | `session/configured` | 1 | defaults of the session |
 * | `session/hosted` | 1 | the host that runs it from here on, where lanes are shared by several |
 * | `session/described` | 1 | the key that names the session, and where it works |
 *
 * Entries of an older format are read as what they would be in the newest, which alone is written.
 */
import type { Entry, JsonValue, StoredEntry } from 'dsh-durable-log'
import { z } from 'zod'
import { AgentLoopError } from './errors.ts'
import {
  cwdSchema,
  defaultsSchema,
  keySchema,
  modelSchema,
  moment,
  storedRequestSchema,
} from './request-schemas.ts'
import { contentSchema } from './streams/event-entries.ts'

export const RUN_STREAM_PREFIX = 'run/'

const id = z.string().min(1)
const version = z.literal(2)
const count = z.int().min(0)

const acceptedSchema = z.strictObject({
  v: version,
  runId: id,
  key: id,
  fingerprint: z.string().regex(/^[0-9a-f]{64}$/),
  /** The id of the one user message this run puts into the session. */
  messageId: id,
  acceptedAt: moment,
  request: storedRequestSchema,
  /** A queued run whose place this one takes; it is settled in the same append. */
  takesPlaceOf: id.optional(),
})

const startedSchema = z.strictObject({
  v: version,
  runId: id,
  /** Counts how often the message was handed to an agent, from 1. */
  attempt: z.int().min(1),
  startedAt: moment,
  via: z.enum(['turn', 'steer']),
  /** Of the lease it runs under; an older one may not write any more. */
  epoch: count.optional(),
  /** Queued runs whose messages are told in the same turn. */
  members: z.array(id).min(1).optional(),
})

const promptSchema = z.strictObject({
  model: modelSchema.optional(),
  effort: z.string().optional(),
  systemPrompt: count,
  tools: count,
  history: count,
  joined: count,
  message: count,
  attachments: count,
  extraSystemPrompt: count,
  collected: count,
  digested: count,
})

const payloadSchema = z.strictObject({
  kind: z.enum(['error', 'tool', 'reasoning', 'answer']),
  text: z.string(),
  images: contentSchema.optional(),
})

const settledSchema = z.strictObject({
  v: z.literal(3),
  runId: id,
  state: z.enum(['ok', 'error', 'aborted', 'timed-out', 'interrupted', 'superseded']),
  endedAt: moment,
  turn: z.int().min(1).optional(),
  reply: z.string().optional(),
  /** What there is to show, where it is not just the error and the reply. */
  payloads: z.array(payloadSchema).optional(),
  usage: z.strictObject({ inputTokens: z.number().min(0), outputTokens: z.number().min(0) }).optional(),
  error: z.strictObject({ code: id, message: z.string() }).optional(),
  stopReason: z.string().optional(),
  prompt: promptSchema.optional(),
  /** What a dropped message was about, for the turn that tells of it. */
  preview: z.string().optional(),
})

const deferredSchema = z.strictObject({
  v: z.literal(1),
  runId: id,
  retryAt: moment,
  error: z.strictObject({ code: id, message: z.string() }),
})

const movedSchema = z.strictObject({ v: z.literal(1), runId: id, before: id.optional() })
const echoedSchema = z.strictObject({ v: z.literal(1), runId: id, messageId: id })
const configuredSchema = z.strictObject({ v: z.literal(1), changes: defaultsSchema })
const hostedSchema = z.strictObject({ v: z.literal(1), host: id })
const describedSchema = z.strictObject({
  v: z.literal(1),
  key: keySchema.optional(),
  cwd: cwdSchema.optional(),
  model: modelSchema.optional(),
})

const schemas = {
  'run/accepted': acceptedSchema,
  'run/started': startedSchema,
  'run/deferred': deferredSchema,
  'run/settled': settledSchema,
  'queue/moved': movedSchema,
  'queue/echoed': echoedSchema,
  'session/configured': configuredSchema,
  'session/described': describedSchema,
  'session/hosted': hostedSchema,
} as const

type Schemas = typeof schemas
export type AcceptedData = z.infer<typeof acceptedSchema>
export type StartedData = z.infer<typeof startedSchema>
export type DeferredData = z.infer<typeof deferredSchema>
export type SettledData = z.infer<typeof settledSchema>
export type DescribedData = z.infer<typeof describedSchema>
export type RunEntry = {
  [K in keyof Schemas]: { readonly type: K; readonly data: z.infer<Schemas[K]> }
}[keyof Schemas]

/** The entry as the log takes it. */
export function toLogEntry(entry: RunEntry): Entry {
  // Every member of the schemas is lossless JSON; absent optional members are not there at all.
  return { type: entry.type, data: entry.data as unknown as JsonValue }
}

/** @throws `quarantined` for an entry of another kind, version or shape. */
export function parseRunEntry(stored: Pick<StoredEntry, 'type' | 'data' | 'seq'>): RunEntry {
  const { type, seq } = stored
  if (!Object.hasOwn(schemas, type)) {
    throw new AgentLoopError('quarantined', `entry ${seq} is of the unknown kind "${type}"`)
  }
  const parsed = schemas[type as keyof Schemas].safeParse(upgraded(stored))
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
    throw new AgentLoopError('quarantined', `entry ${seq} (${type}) is not readable: ${problems.join('; ')}`)
  }
  return { type, data: parsed.data } as RunEntry
}

/** Members that format 2 brought; an entry of format 1 with one of them is no entry of format 1. */
const NEW_IN_2: Readonly<Record<string, readonly string[]>> = {
  'run/accepted': ['takesPlaceOf'],
  'run/started': ['via', 'epoch', 'members'],
  'run/settled': ['stopReason', 'prompt', 'preview'],
}
/** Members that format 3 brought. */
const NEW_IN_3: Readonly<Record<string, readonly string[]>> = { 'run/settled': ['payloads'] }
const REQUEST_OF_1: ReadonlySet<string> = new Set(['message', 'provenance', 'timeoutMs'])

/** What an entry of an older format says in the newest; anything else unchanged. */
function upgraded({ type, data }: Pick<StoredEntry, 'type' | 'data'>): unknown {
  const second = fromFirst(type, data)
  const news = NEW_IN_3[type]
  if (news === undefined || !isObject(second) || second['v'] !== 2) return second
  return news.some((member) => member in second) ? second : { ...second, v: 3 }
}

function fromFirst(type: string, data: JsonValue): unknown {
  const news = NEW_IN_2[type]
  if (news === undefined || !isObject(data) || data['v'] !== 1) return data
  const { request } = data
  const isStrange =
    news.some((member) => member in data) ||
    data['state'] === 'superseded' ||
    (isObject(request) && Object.keys(request).some((member) => !REQUEST_OF_1.has(member)))
  if (isStrange) return data
  return { ...data, v: 2, ...(type === 'run/started' ? { via: 'turn' } : {}) }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
