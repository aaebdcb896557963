/**
 * The schema of a spec whose parameters are scalars, or any JSON, with at most a description, a title,
 * a plain default and `required`: what most graphs declare. DSH's own compiler gives the same at several
 * times the cost of the rest of a mount; it has the last word on everything else, and on whether this is
 * still what it gives.
 */
import {
  parameterSchemaSpecToJsonSchema,
  type JsonSchemaNode,
  type ParameterJsonSchema,
  type ParameterSchemaSpec,
} from '@deepseek-ai/dsh-tools'

const TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'json'])

const SAMPLE = {
  all: { default: 1, title: 'T', description: 'D', required: true, type: 'integer' },
  any: { type: 'json' },
} as const satisfies ParameterSchemaSpec

let agreed: boolean | undefined

/** Whether the DSH of this process gives what is built here, down to the order of keys. */
function agrees(): boolean {
  const own = JSON.stringify(build(SAMPLE))
  return own === JSON.stringify(parameterSchemaSpecToJsonSchema(SAMPLE))
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

function isPlainDefault(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  return typeof value === 'string' || typeof value === 'boolean' || value === null
}

/** Whether one key of a parameter has nothing in it that DSH would have to judge. */
function isPlain(key: unknown, value: unknown): boolean {
  if (key === 'type') return TYPES.has(value)
  if (key === 'required') return value === true
  if (key === 'description' || key === 'title') return typeof value === 'string'
  return key === 'default' && isPlainDefault(value)
}

function nodeOf(parameter: unknown): JsonSchemaNode | undefined {
  if (!isRecord(parameter) || !Object.hasOwn(parameter, 'type')) return undefined
  const keys = Reflect.ownKeys(parameter)
  for (const key of keys) {
    const at = Object.getOwnPropertyDescriptor(parameter, key)
    if (at?.enumerable !== true || !isPlain(key, at.value)) return undefined
  }
  const node: Record<string, unknown> = {}
  if (parameter['type'] !== 'json') node['type'] = parameter['type']
  for (const key of ['description', 'title', 'default']) if (keys.includes(key)) node[key] = parameter[key]
  return node
}

function build(spec: ParameterSchemaSpec): ParameterJsonSchema | undefined {
  if (!isRecord(spec)) return undefined
  const properties: Record<string, JsonSchemaNode> = {}
  const required: string[] = []
  for (const key of Reflect.ownKeys(spec)) {
    const at = Object.getOwnPropertyDescriptor(spec, key)
    const node = at?.enumerable === true ? nodeOf(at.value) : undefined
    if (node === undefined || typeof key === 'symbol' || key === '__proto__') return undefined
    properties[key] = node
    if (Object.hasOwn(at?.value as object, 'required')) required.push(key)
  }
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required }) }
}

/** What DSH compiles the spec to, or `undefined` where only DSH can tell. */
export function plainSchema(spec: ParameterSchemaSpec): ParameterJsonSchema | undefined {
  agreed ??= agrees()
  return agreed ? build(spec) : undefined
}
