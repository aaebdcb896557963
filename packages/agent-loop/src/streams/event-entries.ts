/**
 * The durable form of a run's events, version 1: the stream `run-events/<runId>` holds the finals, each
 * with the range of events that it stands for. Deltas and updates are not kept: a final says it again.
 */
import type { Entry, JsonValue, StoredEntry } from 'dsh-durable-log'
import { z } from 'zod'
import type { RunEvent } from './types.ts'

export const EVENT_STREAM_PREFIX = 'run-events/'

const ENTRY_TYPE = 'run/event'

const count = z.int().min(0)
const optionalTime = count.optional()
const usage = z.strictObject({ inputTokens: z.number().min(0), outputTokens: z.number().min(0) })
/** The texts and images of an event. */
export const contentSchema = z.array(
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('text'), text: z.string() }),
    z.strictObject({ type: z.literal('image'), id: z.string(), mediaType: z.string(), bytes: z.number() }),
    z.strictObject({ type: z.literal('other'), kind: z.string() }),
  ]),
)
const receipt = z.strictObject({
  message: count,
  target: z.string().optional(),
  text: z.string().optional(),
  media: z.array(z.string()).optional(),
  isAnswer: z.boolean().optional(),
})

const lifecycle = z.discriminatedUnion('phase', [
  z.strictObject({ phase: z.literal('start'), attempt: count, startedAt: count }),
  z.strictObject({
    phase: z.literal('end'),
    state: z.string(),
    startedAt: optionalTime,
    endedAt: count,
    usage: usage.optional(),
  }),
  z.strictObject({
    phase: z.literal('error'),
    state: z.string(),
    startedAt: optionalTime,
    endedAt: count,
    error: z.strictObject({ code: z.string(), message: z.string() }),
  }),
])

const assistant = z.discriminatedUnion('phase', [
  z.strictObject({
    phase: z.literal('message-end'),
    message: count,
    text: z.string(),
    images: contentSchema,
    toolCalls: count,
    interrupted: z.literal(true).optional(),
    usage: usage.optional(),
  }),
  z.strictObject({
    phase: z.literal('reset'),
    message: count,
    reason: z.enum(['request-retry', 'compaction-retry']),
  }),
])

const thinking = z.strictObject({ phase: z.literal('end'), message: count, block: count, text: z.string() })

const tool = z.discriminatedUnion('phase', [
  z.strictObject({
    phase: z.literal('start'),
    message: count,
    callId: z.string(),
    name: z.string(),
    args: z.json(),
  }),
  z.strictObject({
    phase: z.literal('end'),
    message: count,
    callId: z.string(),
    name: z.string(),
    isError: z.boolean(),
    content: contentSchema,
    code: z.string().optional(),
    receipt: receipt.optional(),
  }),
])

const compaction = z.discriminatedUnion('phase', [
  z.strictObject({ phase: z.literal('start'), compactionId: z.string() }),
  z.strictObject({
    phase: z.literal('end'),
    compactionId: z.string(),
    willRetry: z.boolean(),
    error: z.string().optional(),
  }),
])

const place = { v: z.literal(1), seq: count, firstSeq: count, ts: count }

const entrySchema = z.discriminatedUnion('stream', [
  z.strictObject({ ...place, stream: z.literal('lifecycle'), data: lifecycle }),
  z.strictObject({ ...place, stream: z.literal('assistant'), data: assistant }),
  z.strictObject({ ...place, stream: z.literal('thinking'), data: thinking }),
  z.strictObject({ ...place, stream: z.literal('tool'), data: tool }),
  z.strictObject({ ...place, stream: z.literal('compaction'), data: compaction }),
])

/** Whether the log keeps the event; every other one is said again by a later one that it keeps. */
export function isDurable({ data }: RunEvent): boolean {
  return data.phase !== 'delta' && data.phase !== 'text-end' && data.phase !== 'update'
}

/** @param firstSeq where the range begins that the event stands for. */
export function toEventEntry({ seq, ts, stream, data }: RunEvent, firstSeq: number): Entry {
  // Every member of the data is lossless JSON; absent optional members are not there at all.
  return { type: ENTRY_TYPE, data: { v: 1, seq, firstSeq, ts, stream, data } as unknown as JsonValue }
}

/** The event of an entry, or nothing for one that this version cannot read: what it says is a gap. */
export function parseEventEntry(
  stored: Pick<StoredEntry, 'type' | 'data'>,
  { runId, sessionId }: { readonly runId: string; readonly sessionId: string },
): RunEvent | undefined {
  if (stored.type !== ENTRY_TYPE) return undefined
  const parsed = entrySchema.safeParse(stored.data)
  if (!parsed.success || parsed.data.firstSeq > parsed.data.seq) return undefined
  const { seq, firstSeq, ts, stream, data } = parsed.data
  const range = firstSeq === seq ? {} : { firstSeq }
  return { runId, sessionId, seq, ...range, ts, stream, data } as RunEvent
}
