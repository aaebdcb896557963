/**
 * What a person can choose from when a graph asks: the values that the answer's schema lists, or the
 * options that the question itself carries. Each label stands for one value.
 */
import type { JsonSchemaNode, JsonSchemaScalar } from '@deepseek-ai/dsh-tools'

export interface Choice {
  readonly label: string
  readonly value: unknown
  readonly description?: string
}

function scalarChoice(value: JsonSchemaScalar): Choice {
  if (typeof value === 'boolean') return { label: value ? 'Yes' : 'No', value }
  return { label: value === null ? 'None' : String(value), value }
}

/** The values that fit the schema, where it lists all of them. */
export function schemaChoices(schema: JsonSchemaNode | undefined): readonly Choice[] | undefined {
  const choices = listedChoices(schema)
  const labels = new Set(choices?.map(({ label }) => label))
  // Two values of one label, 1 and "1", cannot be told apart.
  return choices !== undefined && labels.size === choices.length ? choices : undefined
}

function listedChoices(schema: JsonSchemaNode | undefined): readonly Choice[] | undefined {
  if (schema === undefined) return undefined
  if (Object.hasOwn(schema, 'const')) return [scalarChoice(schema.const as JsonSchemaScalar)]
  if (schema.enum !== undefined) return schema.enum.map(scalarChoice)
  if (schema.type === 'boolean') return [scalarChoice(true), scalarChoice(false)]
  if (schema.type === 'null') return [scalarChoice(null)]
  const branches = schema.oneOf?.map(listedChoices)
  return branches?.every((branch) => branch !== undefined) === true
    ? branches.flatMap((branch) => branch ?? [])
    : undefined
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}

function payloadChoice(option: unknown): Choice | undefined {
  if (isText(option)) return { label: option, value: option }
  if (!isRecord(option) || !isText(option['label'])) return undefined
  const { label, description } = option
  const value = Object.hasOwn(option, 'value') ? option['value'] : label
  return isText(description)
    ? { label: label as string, value, description }
    : { label: label as string, value }
}

/** Choices that a question lists as `options` or `choices`: texts, or `{ label, description, value }`. */
export function payloadChoices(value: unknown): readonly Choice[] | undefined {
  const options: unknown = isRecord(value) ? (value['options'] ?? value['choices']) : undefined
  if (!Array.isArray(options) || options.length === 0) return undefined
  const choices = options.flatMap((option: unknown) => payloadChoice(option) ?? [])
  const labels = new Set(choices.map(({ label }) => label))
  return choices.length === options.length && labels.size === choices.length ? choices : undefined
}
