/**
 * Reads the schema of a graph's input off the graph: the keys, the author's own schema of each, and
 * which of them must be there. Known by shape are zod 3 and 4 objects and LangGraph's `StateSchema`, of
 * any copy of either; what a graph was made from otherwise (`Annotation`, channels) has no types left.
 * Nothing is compiled, and what cannot be read is simply no schema.
 */
import { zodKindOf, zodShape, type ZodKind } from './zod-shape.ts'

/** One key of the input. */
export interface InputField {
  readonly name: string
  /** The author's schema: a Standard Schema, or a zod schema of a version before that standard. */
  readonly schema: object
  /** Whether a call must give the key. */
  readonly required: boolean
  /** What the author added for readers of the JSON schema, LangGraph's own marks among it. */
  readonly extra: Readonly<Record<string, unknown>>
}

export interface InputSchema {
  readonly fields: readonly InputField[]
  /** Whether keys besides the fields are refused. */
  readonly closed: boolean
  /** Schema of the values under all other keys, if the author gave one. */
  readonly rest?: object
}

const STATE_SCHEMA = Symbol.for('langgraph.state.state_schema')
const REDUCED_VALUES = ['reduced_value', 'delta_value'].map((name) => Symbol.for(`langgraph.state.${name}`))
const UNTRACKED_VALUE = Symbol.for('langgraph.state.untracked_value')

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function objectAt(holder: object, key: PropertyKey): object | undefined {
  const value: unknown = Reflect.get(holder, key)
  return isObject(value) ? value : undefined
}

function isMarked(value: object, mark: symbol): boolean {
  return Reflect.get(value, mark) === true
}

/** Whether the schema accepts that its key is absent. Runs the schema only where nothing else tells. */
function acceptsAbsence(schema: object): boolean {
  const kind = zodKindOf(schema)
  if (kind !== undefined && kind.version === 4) return kind.optional
  try {
    const isOptional: unknown = Reflect.get(schema, 'isOptional')
    if (kind !== undefined && typeof isOptional === 'function') return isOptional.call(schema) === true
    const standard = objectAt(schema, '~standard') as { validate(value: unknown): unknown } | undefined
    const verdict = standard?.validate(undefined)
    return isObject(verdict) && !('then' in verdict) && Reflect.get(verdict, 'issues') === undefined
  } catch {
    return false
  }
}

interface ZodMeta {
  readonly reducer?: { readonly schema?: unknown }
  readonly jsonSchemaExtra?: unknown
}

/** What LangGraph was told about one key of a zod state: writes to a reduced key have a schema of their own. */
function zodField(builder: object, name: string, schema: object, partial: boolean): InputField {
  const registry = objectAt(builder, '_metaRegistry') as
    | { get?(key: object): ZodMeta | undefined }
    | undefined
  const meta = registry?.get?.(schema)
  const reduced = meta?.reducer?.schema ?? Reflect.get(schema, 'lg_reducer_schema')
  const written = isObject(reduced) ? reduced : schema
  return {
    name,
    schema: written,
    required: !partial && !acceptsAbsence(written),
    extra: isObject(meta?.jsonSchemaExtra) ? { ...meta.jsonSchemaExtra } : {},
  }
}

function zodInput(builder: object, schema: object, kind: ZodKind, partial: boolean): InputSchema {
  const { shape, closed: strict, rest } = zodShape(schema, kind)
  // LangGraph strips unknown keys of a version 3 object even if it is strict.
  const closed = strict && kind.version === 4
  const fields = Object.entries(shape).map(([name, field]) => zodField(builder, name, field, partial))
  return rest === undefined ? { fields, closed } : { fields, closed, rest }
}

function stateField(name: string, value: object, partial: boolean): InputField | undefined {
  const extra = objectAt(value, 'jsonSchemaExtra')
  const reduced = REDUCED_VALUES.some((mark) => isMarked(value, mark))
  const untracked = UNTRACKED_VALUE in value
  const schema = reduced ? objectAt(value, 'inputSchema') : untracked ? objectAt(value, 'schema') : value
  // A value that is neither tracked nor described holds things of the process, not input.
  if (schema === undefined) return undefined
  const whole = reduced ? objectAt(value, 'valueSchema') : schema
  const required = !partial && whole !== undefined && !acceptsAbsence(whole)
  return { name, schema, required, extra: extra === undefined ? {} : { ...extra } }
}

function stateSchemaInput(schema: object, partial: boolean): InputSchema {
  const fields = Object.entries(objectAt(schema, 'fields') ?? {}).flatMap(([name, value]) => {
    const field = isObject(value) ? stateField(name, value, partial) : undefined
    return field ?? []
  })
  return { fields, closed: false }
}

function schemaOf(builder: object, schema: object, partial: boolean): InputSchema | undefined {
  if (isMarked(schema, STATE_SCHEMA)) return stateSchemaInput(schema, partial)
  const kind = zodKindOf(schema)
  return kind?.type === 'object' ? zodInput(builder, schema, kind, partial) : undefined
}

/** A state schema stands for the input too, but the input may have been given fewer keys. */
function onlyInputKeys(builder: object, schema: InputSchema): InputSchema {
  const channels = objectAt(builder, '_inputDefinition')
  if (channels === undefined) return schema
  return { ...schema, fields: schema.fields.filter((field) => Object.hasOwn(channels, field.name)) }
}

/**
 * The input schema of a builder or a compiled graph, `undefined` where it does not show one.
 *
 * An explicit input says which keys are required; a state does not, since LangGraph takes any part of
 * a state as input.
 */
export function inputSchemaOf(graph: object): InputSchema | undefined {
  try {
    const builder = objectAt(graph, 'builder') ?? graph
    const input = objectAt(builder, '_inputRuntimeDefinition')
    if (input !== undefined) return schemaOf(builder, input, false)
    const state = objectAt(builder, '_schemaRuntimeDefinition')
    const schema = state === undefined ? undefined : schemaOf(builder, state, true)
    return schema === undefined ? undefined : onlyInputKeys(builder, schema)
  } catch {
    return undefined
  }
}
