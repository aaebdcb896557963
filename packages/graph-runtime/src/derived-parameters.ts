/**
 * Parameters made from a graph's own input schema, for authors who declared none. Deriving never fails:
 * what cannot be expressed gives a reason instead, and the graph is offered with its one `input`.
 */
import { assertObjectJsonSchema, type JsonSchemaNode, type ParameterJsonSchema } from '@deepseek-ai/dsh-tools'
import { setOwn } from './copy-json.ts'
import { messageOf } from './errors.ts'
import type { InputField, InputSchema } from './input-schema.ts'
import { toSchemaSubset } from './json-schema-subset.ts'
import { sealed, type GraphParameters } from './parameters.ts'
import type { Derivation } from './settings.ts'
import { zodToJsonSchema, type RawJsonSchema } from './zod-json.ts'

/** Parameters, or why there are none. */
export type Derived =
  | { readonly kind: 'parameters'; readonly parameters: GraphParameters }
  /** The graph has no schema to derive from: nothing to tell anybody. */
  | { readonly kind: 'untyped' }
  /** `mistake` when the author asked for something that the schema does not allow. */
  | { readonly kind: 'inexpressible'; readonly reason: string; readonly mistake: boolean }

/** LangGraph takes messages as plain objects too, and its own schema of them says nothing. */
const MESSAGES: JsonSchemaNode = {
  type: 'array',
  items: {
    type: 'object',
    properties: {
      role: { type: 'string', description: 'user, assistant, system or tool' },
      content: { description: 'Text, or a list of content blocks.' },
    },
    required: ['role', 'content'],
    additionalProperties: true,
  },
}

interface JsonSchemaSource {
  input(options: { target: string }): RawJsonSchema
}

/** The schema's own conversion, if it has one; zod has it from version 4.2 on. */
function standardJsonSchema(schema: object): JsonSchemaSource | undefined {
  const standard: unknown = Reflect.get(schema, '~standard')
  const source: unknown =
    typeof standard === 'object' && standard !== null ? Reflect.get(standard, 'jsonSchema') : undefined
  if (typeof source !== 'object' || source === null) return undefined
  return typeof Reflect.get(source, 'input') === 'function' ? (source as JsonSchemaSource) : undefined
}

function jsonSchemaOf(schema: object): RawJsonSchema {
  const source = standardJsonSchema(schema)
  return source === undefined ? zodToJsonSchema(schema) : source.input({ target: 'draft-2020-12' })
}

function nodeOf({ schema, extra }: InputField): JsonSchemaNode {
  const node = extra['langgraph_type'] === 'messages' ? MESSAGES : toSchemaSubset(jsonSchemaOf(schema))
  const { description, title } = extra
  return {
    ...node,
    ...(typeof description === 'string' ? { description } : {}),
    ...(typeof title === 'string' ? { title } : {}),
  }
}

/** Refuses a pick that names what is not there, or leaves out what the graph cannot do without. */
function checkPick(schema: InputSchema, pick: readonly string[]): string | undefined {
  const names = new Set(schema.fields.map((field) => field.name))
  const unknown = pick.find((name) => !names.has(name))
  if (unknown !== undefined) return `parameters.pick names "${unknown}", which is no key of its input`
  const missing = schema.fields.find((field) => field.required && !pick.includes(field.name))
  return missing && `parameters.pick leaves out "${missing.name}", which its input requires`
}

function rootOf(fields: readonly InputField[], closed: boolean): ParameterJsonSchema {
  const properties: Record<string, JsonSchemaNode> = {}
  for (const field of fields) {
    try {
      setOwn(properties, field.name, nodeOf(field))
    } catch (error) {
      throw new Error(`"${field.name}": ${messageOf(error)}`, { cause: error })
    }
  }
  const required = fields.filter((field) => field.required).map((field) => field.name)
  const root: ParameterJsonSchema = {
    type: 'object',
    properties,
    ...(required.length > 0 ? { required } : {}),
    ...(closed ? { additionalProperties: false } : {}),
  }
  assertObjectJsonSchema(root)
  return sealed(root)
}

function only(names: ReadonlySet<string>): GraphParameters['toInput'] {
  return (args) => {
    const kept: Record<string, unknown> = {}
    for (const key of Object.keys(args)) if (names.has(key)) setOwn(kept, key, args[key])
    return kept
  }
}

/**
 * Derives parameters from an input schema.
 *
 * @param derive all of the input's keys, or the named ones; other keys then never reach the graph.
 */
export function deriveParameters(schema: InputSchema | undefined, derive: Derivation): Derived {
  if (derive === 'none') return { kind: 'untyped' }
  const pick = derive === 'all' ? undefined : derive
  if (schema === undefined) {
    const reason = 'parameters.pick needs a zod or StateSchema input, and the graph shows none'
    return pick === undefined ? { kind: 'untyped' } : { kind: 'inexpressible', reason, mistake: true }
  }
  const mistake = pick && checkPick(schema, pick)
  if (mistake !== undefined) return { kind: 'inexpressible', reason: mistake, mistake: true }
  const fields = schema.fields.filter((field) => pick === undefined || pick.includes(field.name))
  try {
    const root = rootOf(fields, schema.closed && pick === undefined)
    const toInput: GraphParameters['toInput'] = pick === undefined ? (args) => args : only(new Set(pick))
    return { kind: 'parameters', parameters: { schema: root, toInput } }
  } catch (error) {
    return { kind: 'inexpressible', reason: messageOf(error), mistake: false }
  }
}
