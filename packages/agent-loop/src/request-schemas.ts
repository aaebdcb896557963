/**
 * The strict shapes of what callers may ask for, and of the parts of a request that are stored. Pure;
 * how a request is read and told apart from another one is `request.ts`.
 */
import { isAbsolute } from 'node:path'
import { z } from 'zod'
import { MAX_DELAY_MS } from './clock.ts'
import { observedSessionOf } from './run-listeners.ts'

const MAX_MESSAGE_CHARACTERS = 1_000_000
const MAX_EXTRA_PROMPT_CHARACTERS = 100_000
const MAX_ATTACHMENTS = 20
const MAX_ATTACHMENT_CHARACTERS = 2_800_000
/** One entry of the durable log holds at most 4 MiB of JSON; the message leaves room for the rest. */
const MAX_MESSAGE_JSON_BYTES = 3_900_000

/** A name that ends up in stream names and logs: no control characters, no half characters. */
export function identifier(maxLength: number) {
  return z
    .string()
    .min(1)
    .max(maxLength)
    .regex(/^[^\p{Cc}]*$/u, 'holds a control character')
    .refine((value) => value.isWellFormed(), 'holds half a surrogate pair')
}

export const delay = (min: number) => z.int().min(min).max(MAX_DELAY_MS)
export const moment = z.int().min(0).max(8.64e15)

const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

export const provenanceSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('user') }),
  z.strictObject({
    kind: z.literal('plugin'),
    plugin: z.string().min(1).max(200),
    summary: z.string().min(1).max(1000),
  }),
])

export const attachmentSchema = z.strictObject({
  kind: z.literal('image'),
  mediaType: z.enum(['image/png', 'image/jpeg', 'image/webp', 'image/gif']),
  data: z.base64().min(1).max(MAX_ATTACHMENT_CHARACTERS),
  name: z.string().min(1).max(200).optional(),
})

export const modelSchema = z.strictObject({
  provider: z.string().min(1).max(200),
  model: z.string().min(1).max(200),
})

export const effortSchema = z.string().min(1).max(100)
export const thinkingSchema = z.enum(['off', 'minimal', 'low', 'medium', 'high'])
export const verboseSchema = z.enum(['off', 'on', 'full'])
export const modeSchema = z.enum(['followup', 'collect', 'steer', 'steer-backlog', 'interrupt'])
export const prioritySchema = z.enum(['foreground', 'default', 'background'])
export const keySchema = z.string().min(1).max(256)
export const extraPromptSchema = z.string().min(1).max(MAX_EXTRA_PROMPT_CHARACTERS)
export const laneSchema = identifier(100)
// A stream name takes 512 characters, `run/` among them.
export const sessionIdSchema = identifier(508)

export const cwdSchema = z.string().min(1).max(4096).refine(isAbsolute, 'is not an absolute path')

/** Fields that are stored with a run as they were asked for. */
const stored = {
  provenance: provenanceSchema,
  attachments: z.array(attachmentSchema).min(1).max(MAX_ATTACHMENTS).optional(),
  messageId: identifier(256).optional(),
  priority: prioritySchema.optional(),
  placement: z.literal('front').optional(),
  supersedeKey: keySchema.optional(),
  expiresAt: moment.optional(),
  timeoutMs: delay(1).optional(),
  idleTimeoutMs: delay(1).optional(),
  model: modelSchema.optional(),
  effort: effortSchema.optional(),
  thinking: thinkingSchema.optional(),
  verbose: verboseSchema.optional(),
  extraSystemPrompt: extraPromptSchema.optional(),
  cwd: cwdSchema.optional(),
}

export const runRequestSchema = z
  .strictObject({
    sessionId: sessionIdSchema.optional(),
    sessionKey: keySchema.optional(),
    message: z
      .string()
      .min(1)
      .max(MAX_MESSAGE_CHARACTERS)
      .refine((text) => text.length === 0 || text.trim() !== '', 'is blank')
      .refine(
        (text) => text.length > MAX_MESSAGE_CHARACTERS || jsonBytes(text) <= MAX_MESSAGE_JSON_BYTES,
        `exceeds ${MAX_MESSAGE_JSON_BYTES} bytes as JSON`,
      ),
    idempotencyKey: z.string().min(1).max(256),
    runId: identifier(256)
      .refine((runId) => observedSessionOf(runId) === undefined, {
        message: 'names a turn that DSH started; choose another id',
      })
      .optional(),
    queueMode: z.union([modeSchema, z.literal('queue')]).optional(),
    lane: laneSchema.optional(),
    ...stored,
    provenance: provenanceSchema.optional(),
  })
  .refine((request) => (request.sessionId === undefined) !== (request.sessionKey === undefined), {
    message: 'names both sessionId and sessionKey, or neither',
    path: ['sessionId'],
  })
  .refine((request) => request.placement === undefined || request.provenance?.kind === 'plugin', {
    message: 'is for plugins only',
    path: ['placement'],
  })
  .refine(
    ({ message, attachments, extraSystemPrompt }) =>
      attachments === undefined ||
      jsonBytes([message, attachments, extraSystemPrompt]) <= MAX_MESSAGE_JSON_BYTES,
    { message: `exceed ${MAX_MESSAGE_JSON_BYTES} bytes as JSON with the message`, path: ['attachments'] },
  )

/** A run's request as its entry keeps it. */
export const storedRequestSchema = z.strictObject({
  message: z.string().min(1),
  ...stored,
  /** Absent in entries of format 1, where every run was one. */
  mode: modeSchema.default('followup'),
  lane: laneSchema.default('main'),
})

export type StoredRequest = z.infer<typeof storedRequestSchema>

export const waitRequestSchema = z.strictObject({
  runId: z.string().min(1),
  timeoutMs: z.int().min(0).optional(),
  signal: z.instanceof(AbortSignal).optional(),
})

export const abortRequestSchema = z
  .strictObject({
    runId: z.string().min(1).optional(),
    sessionId: z.string().min(1).optional(),
    cause: z.string().min(1).max(1000).optional(),
  })
  .refine((request) => request.runId !== undefined || request.sessionId !== undefined, {
    message: 'names neither runId nor sessionId',
  })

const nullable = <T extends z.ZodType>(schema: T) => schema.nullable().optional()

/** Changes of a session's defaults; null takes one back. */
export const defaultsSchema = z.strictObject({
  queue: z
    .strictObject({
      mode: nullable(modeSchema),
      debounceMs: nullable(delay(0)),
      maxDebounceMs: nullable(delay(0)),
      cap: nullable(z.int().min(1).max(10_000)),
      drop: nullable(z.enum(['summarize', 'old', 'new'])),
    })
    .optional(),
  model: nullable(modelSchema),
  effort: nullable(effortSchema),
  thinking: nullable(thinkingSchema),
  verbose: nullable(verboseSchema),
})

export type DefaultsChange = z.infer<typeof defaultsSchema>
