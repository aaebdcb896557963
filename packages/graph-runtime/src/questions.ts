/**
 * From what a graph asks to what a person sees, and from what the person answered to the value that the
 * graph resumes with. A graph that gave a schema of the answer gets a value that fits it; what does not
 * fit is told, so that the person can be asked again. Pure.
 */
import { validateJsonSchemaValue, type JsonSchemaNode, type JsonValue } from '@deepseek-ai/dsh-tools'
import { payloadChoices, schemaChoices, type Choice } from './choices.ts'
import type { GraphInterrupt } from './errors.ts'
import { toSchemaSubset } from './json-schema-subset.ts'
import type { Answers, Question, QuestionOption } from './person.ts'
import { prettyJson } from './pretty-json.ts'
import type { RawJsonSchema } from './zod-json.ts'

/** The value to resume with, or why there is none. */
export type Reading =
  | { readonly kind: 'value'; readonly value: unknown }
  /** The person left it out. */
  | { readonly kind: 'skipped' }
  /** It does not fit; a person may correct it. */
  | { readonly kind: 'unfit'; readonly reason: string }

/** A question with the way back from its answer. */
export interface TypedQuestion {
  readonly item: Question
  read(answers: Answers): Reading
}

/** Longest text of a payload that a person sees. */
const SHOWN_CHARS = 4000

/** Keys of a payload that hold the question itself. */
const TEXT_KEYS = ['question', 'message', 'prompt', 'description'] as const

function clipped(text: string): string {
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}

/** The answer's schema in DSH's subset; without one, or with one that cannot be said, anything goes. */
function answerSchema(raw: unknown): JsonSchemaNode | undefined {
  if (!isRecord(raw)) return undefined
  try {
    return toSchemaSubset(raw as RawJsonSchema)
  } catch {
    return undefined
  }
}

function optionOf({ label, description }: Choice): QuestionOption {
  return description === undefined ? { label } : { label, description }
}

interface Wording {
  readonly question: string
  readonly detail?: string
}

function wordingOf(value: unknown): Wording {
  if (typeof value === 'string')
    return { question: isText(value) ? clipped(value) : 'The graph asks for an answer.' }
  const key = isRecord(value) ? TEXT_KEYS.find((name) => isText(value[name])) : undefined
  if (!isRecord(value) || key === undefined) return { question: clipped(prettyJson(value as JsonValue)) }
  const { [key]: text, options: _o, choices: _c, ...rest } = value
  const question = clipped(text as string)
  if (Object.keys(rest).length === 0) return { question }
  return { question, detail: clipped(prettyJson(rest as JsonValue)) }
}

/** A typed answer, out of free text. */
function typed(text: string, schema: JsonSchemaNode | undefined): Reading {
  if (schema === undefined || accepts(schema, text)) return { kind: 'value', value: text }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { kind: 'unfit', reason: `it must be ${kindText(schema)}` }
  }
  const violations = validateJsonSchemaValue(schema, value, 'answer')
  return violations.length === 0 ? { kind: 'value', value } : { kind: 'unfit', reason: violations.join('; ') }
}

function accepts(schema: JsonSchemaNode, value: unknown): boolean {
  return validateJsonSchemaValue(schema, value, 'answer').length === 0
}

function kindText(schema: JsonSchemaNode): string {
  if (schema.type === 'object' || schema.type === 'array' || schema.type === undefined)
    return 'JSON that fits'
  return schema.type === 'integer' ? 'a whole number' : `a ${schema.type}`
}

/** What a person must know about the form of the answer; nothing where there are options, or any text does. */
function formText(schema: JsonSchemaNode | undefined): string | undefined {
  if (schema === undefined) return undefined
  if (schema.type === 'string') return schema.description
  if (schema.type === 'number' || schema.type === 'integer') {
    return [`Answer with ${kindText(schema)}.`, schema.description].filter(isText).join(' ')
  }
  return clipped(`Answer with JSON that fits this schema:\n${JSON.stringify(schema, null, 2)}`)
}

/**
 * Turns one interrupt into a question.
 *
 * @param header short label of who asks.
 * @param id of the question in this round.
 * @param complaint why the last answer to it did not do.
 */
export function questionOf(
  interrupt: GraphInterrupt,
  {
    header,
    id,
    complaint,
  }: { readonly header: string; readonly id: string; readonly complaint?: string | undefined },
): TypedQuestion {
  const schema = answerSchema(interrupt.responseSchema)
  const several = schema?.type === 'array' ? schemaChoices(schema.items) : undefined
  const choices =
    several ?? schemaChoices(schema) ?? (schema === undefined ? payloadChoices(interrupt.value) : undefined)
  const { question, detail } = wordingOf(interrupt.value)
  const form = choices === undefined ? formText(schema) : undefined
  const note = complaint === undefined ? undefined : `The last answer was refused: ${complaint}`
  const details = [note, detail, form].filter(isText).join('\n\n')
  return {
    item: {
      id,
      header,
      question,
      ...(details === '' ? {} : { detail: details }),
      ...(choices === undefined ? {} : { options: choices.map(optionOf) }),
      ...(several === undefined ? {} : { multiSelect: true }),
    },
    read: (answers) => reading(answers, id, { schema, choices, many: several !== undefined }),
  }
}

interface Expected {
  readonly schema: JsonSchemaNode | undefined
  readonly choices: readonly Choice[] | undefined
  readonly many: boolean
}

function reading(answers: Answers, id: string, { schema, choices, many }: Expected): Reading {
  const listed: readonly unknown[] = Array.isArray(answers?.answers) ? answers.answers : []
  const answer = listed.filter(isRecord).find((one) => one['id'] === id) ?? {}
  const custom = isText(answer['custom']) ? answer['custom'].trim() : undefined
  const selected: readonly unknown[] = Array.isArray(answer['selected']) ? answer['selected'] : []
  const labels = selected.filter(isText)
  const chosen = labels.map((label) => choices?.find((choice) => choice.label === label))
  if (labels.length > 0 && chosen.every((choice) => choice !== undefined) && (many || custom === undefined)) {
    const values = chosen.map((choice) => choice?.value)
    const extra = many && custom !== undefined ? [custom] : []
    return fitting(many ? [...values, ...extra] : values[0], schema)
  }
  const text = custom ?? labels[0]
  if (text === undefined) return { kind: 'skipped' }
  return typed(text, schema)
}

function fitting(value: unknown, schema: JsonSchemaNode | undefined): Reading {
  const violations = schema === undefined ? [] : validateJsonSchemaValue(schema, value, 'answer')
  return violations.length === 0 ? { kind: 'value', value } : { kind: 'unfit', reason: violations.join('; ') }
}
