/**
 * What a graph's tool takes: the model-facing schema, the check, and the way from arguments to the
 * graph input. Declared parameters are the input as a whole; without a declaration there is one
 * required `input`, whose value is the input.
 */
import {
  ToolArgsError,
  parameterSchemaSpecToJsonSchema,
  validateJsonSchemaValue,
  type JsonSchemaNode,
  type ParameterJsonSchema,
  type ParameterSchemaSpec,
} from '@deepseek-ai/dsh-tools'
import { copyJson, setOwn } from './copy-json.ts'
import { describeInput } from './describe.ts'
import { plainSchema } from './plain-spec.ts'
import { quickFit } from './quick-fit.ts'
import type { GraphShape } from './types.ts'

export interface GraphParameters {
  /** The schema the model sees; its root is an object with `properties`. Frozen, but for annotations. */
  readonly schema: ParameterJsonSchema
  /** Graph input out of checked, copied arguments. */
  readonly toInput: (args: Record<string, unknown>) => unknown
  /** Name of the one argument that is the input; absent where all arguments together are. */
  readonly inputAt?: string
}

/**
 * Finishes a schema that is nobody's but ours: objects get `properties`, since some providers refuse one
 * without, and nothing of it can be changed any more, since calls are held against it. Annotations stay
 * the author's.
 */
export function sealed(root: ParameterJsonSchema): ParameterJsonSchema {
  const open: JsonSchemaNode[] = [root]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.type === 'object') node.properties ??= {}
    open.push(...Object.values(node.properties ?? {}), ...(node.oneOf ?? []))
    if (node.items !== undefined) open.push(node.items)
    for (const part of [node.properties, node.required, node.oneOf, node.enum]) if (part) Object.freeze(part)
    Object.freeze(node)
  }
  return root
}

/**
 * Parameters as the author declared them.
 *
 * @throws {JsonSchemaError} a declaration outside DSH's subset.
 */
export function declaredParameters(spec: ParameterSchemaSpec): GraphParameters {
  return { schema: schemaOf(spec), toInput: (args) => args }
}

function schemaOf(spec: ParameterSchemaSpec): ParameterJsonSchema {
  return sealed(plainSchema(spec) ?? parameterSchemaSpecToJsonSchema(spec))
}

/** The single parameter of a graph without a declaration. */
export function inputParameter(shape: GraphShape | undefined): GraphParameters {
  const description = describeInput(shape)
  return {
    schema: schemaOf({ input: { type: 'json', required: true, description } }),
    toInput: (args) => args['input'],
    inputAt: 'input',
  }
}

/**
 * The mark of an object that LangGraph reads as "replace the state instead of adding to it", wherever it
 * comes from; `undefined` for any other object.
 */
function reservedMark(record: Readonly<Record<string, unknown>>): string | undefined {
  if (Object.hasOwn(record, '__overwrite__')) return '__overwrite__'
  const { type, role, id } = record
  if (type === '__overwrite__' && Object.hasOwn(record, 'value')) return '__overwrite__'
  // A message that empties the list of messages.
  return id === '__remove_all__' && (type === 'remove' || role === 'remove') ? '__remove_all__' : undefined
}

function schemaViolations(schema: ParameterJsonSchema, args: unknown): string[] {
  return quickFit(schema, args) ? [] : validateJsonSchemaValue(schema, args, '')
}

/** Violations of the schema, each with its path; empty means that the arguments are JSON and fit. */
export function violationsOf(parameters: GraphParameters, args: unknown): readonly string[] {
  const violations = schemaViolations(parameters.schema, args)
  if (violations.length === 0) copyArguments(args, violations)
  return violations
}

function copyArguments(args: unknown, violations: string[]): unknown {
  return copyJson(args, {
    onObject: (record, path) => {
      const mark = reservedMark(record)
      if (mark === undefined) return
      violations.push(`"${path() || 'arguments'}" must not be an "${mark}" object, which is reserved`)
    },
  })
}

/**
 * Checks and detaches the arguments of one call.
 *
 * @returns the graph input, free to be written to.
 * @throws {ToolArgsError} all violations together.
 */
export function graphInput(parameters: GraphParameters, args: unknown, applyDefaults: boolean): unknown {
  const violations = schemaViolations(parameters.schema, args)
  const copy = violations.length === 0 ? copyArguments(args, violations) : undefined
  if (violations.length > 0) throw new ToolArgsError(violations)
  if (applyDefaults) fillDefaults(parameters.schema, copy)
  return parameters.toInput(copy as Record<string, unknown>)
}

/** Declared defaults that their own schema refuses, each with its path; a call would be given them unchecked. */
export function unfitDefaults(schema: JsonSchemaNode, path = ''): readonly string[] {
  const found = Object.hasOwn(schema, 'default') ? validateJsonSchemaValue(schema, schema.default, path) : []
  const inside = (key: string): string => (path === '' ? key : `${path}.${key}`)
  const below = Object.entries(schema.properties ?? {}).flatMap(([key, node]) =>
    unfitDefaults(node, inside(key)),
  )
  return [...found, ...below, ...(schema.items === undefined ? [] : unfitDefaults(schema.items, `${path}[]`))]
}

/** Puts declared defaults where a property is absent. A `oneOf` is left alone: its branch is not known. */
function fillDefaults(schema: JsonSchemaNode, value: unknown): void {
  if (Array.isArray(value)) {
    if (schema.items !== undefined) for (const item of value) fillDefaults(schema.items, item)
    return
  }
  if (typeof value !== 'object' || value === null) return
  for (const [key, node] of Object.entries(schema.properties ?? {})) {
    if (!Object.hasOwn(value, key)) {
      if (Object.hasOwn(node, 'default')) setOwn(value, key, copyJson(node.default))
    } else fillDefaults(node, Reflect.get(value, key))
  }
}
