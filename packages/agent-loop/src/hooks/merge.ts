/**
 * What handlers may answer, and how the answers of several become one. Pure: one table of rules, and
 * the fold that follows it.
 *
 * - `first`: the first handler that says something decides, which is the one of highest priority.
 * - `last`: each handler sees the value of the one before and may replace it.
 * - `join`: texts are put one after the other, a blank line between them.
 * - `sticky`: once true it stays so, and no further handler is asked.
 */
import { isJsonValue } from '@deepseek-ai/dsh-session'
import { z } from 'zod'
import type { HookResults, ModifyingHookName } from './types.ts'

export type MergeRule = 'first' | 'last' | 'join' | 'sticky'

const MAX_TEXT = 1_000_000
const text = z.string().max(MAX_TEXT)
const name = z.string().min(1).max(200)

const modelChoice = { providerOverride: name.optional(), modelOverride: name.optional() }
const promptAddition = {
  systemPrompt: text.optional(),
  prependSystemContext: text.optional(),
  appendSystemContext: text.optional(),
  prependContext: text.optional(),
  appendContext: text.optional(),
}

/** Unknown members are refused: a misspelled `block` must not become an allowed call. */
export const ANSWERS = {
  before_model_resolve: z.strictObject(modelChoice),
  before_prompt_build: z.strictObject(promptAddition),
  before_agent_start: z.strictObject({ ...modelChoice, ...promptAddition }),
  before_tool_call: z.strictObject({
    params: z
      .unknown()
      .optional()
      .refine((value) => value === undefined || isJsonValue(value), 'is no lossless JSON'),
    block: z.boolean().optional(),
    blockReason: z.string().max(10_000).optional(),
    requireApproval: z
      .strictObject({ title: z.string().min(1).max(200), description: z.string().max(10_000).optional() })
      .optional(),
  }),
  message_sending: z.strictObject({ content: text.optional(), cancel: z.boolean().optional() }),
} satisfies Record<ModifyingHookName, z.ZodType>

const MODEL_RULES = { providerOverride: 'first', modelOverride: 'first' } as const
const PROMPT_RULES = {
  systemPrompt: 'first',
  prependSystemContext: 'join',
  appendSystemContext: 'join',
  prependContext: 'join',
  appendContext: 'join',
} as const

export const MERGE_RULES: {
  readonly [N in ModifyingHookName]: Readonly<Record<keyof HookResults[N], MergeRule>>
} = {
  before_model_resolve: MODEL_RULES,
  before_prompt_build: PROMPT_RULES,
  before_agent_start: { ...MODEL_RULES, ...PROMPT_RULES },
  before_tool_call: { params: 'last', block: 'sticky', blockReason: 'first', requireApproval: 'first' },
  message_sending: { content: 'last', cancel: 'sticky' },
}

/** One field that an answer brought into the fold. */
export interface Change {
  readonly plugin: string
  readonly field: string
}

export interface Fold<N extends ModifyingHookName> {
  readonly result: Partial<HookResults[N]>
  readonly changes: readonly Change[]
  /** No further handler is asked. */
  readonly isFinal: boolean
}

export function emptyFold<N extends ModifyingHookName>(): Fold<N> {
  return { result: {}, changes: [], isFinal: false }
}

/**
 * Takes one checked answer into the fold.
 *
 * @throws an Error when the answer would change arguments that another plugin put before a person.
 */
export function mergeAnswer<N extends ModifyingHookName>(
  hook: N,
  fold: Fold<N>,
  answer: Partial<HookResults[N]>,
  plugin: string,
): Fold<N> {
  const rules = MERGE_RULES[hook] as Readonly<Record<string, MergeRule>>
  const result: Record<string, unknown> = { ...fold.result }
  const changes = [...fold.changes]
  let { isFinal } = fold
  for (const [field, value] of Object.entries(answer)) {
    if (value === undefined || isReasonWithoutBlock(answer, field)) continue
    if (field === 'params') assertNotApproved(fold.changes, plugin)
    const rule = rules[field]
    if (rule === 'sticky' && value !== true) continue
    if (rule === 'first' && result[field] !== undefined) continue
    result[field] = rule === 'join' && result[field] !== undefined ? `${result[field]}\n\n${value}` : value
    changes.push({ plugin, field })
    isFinal ||= rule === 'sticky'
  }
  return { result: result as Partial<HookResults[N]>, changes, isFinal }
}

/** A reason counts only beside the block it gives the reason for. */
function isReasonWithoutBlock(answer: object, field: string): boolean {
  return field === 'blockReason' && !('block' in answer && answer.block === true)
}

/** What a person approves is what runs. */
function assertNotApproved(changes: readonly Change[], plugin: string): void {
  const asker = changes.find(({ field }) => field === 'requireApproval')?.plugin
  if (asker === undefined || asker === plugin) return
  throw new Error(`the arguments cannot be changed after plugin "${asker}" put them before a person`)
}
