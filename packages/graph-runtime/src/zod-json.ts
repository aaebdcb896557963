/**
 * JSON schema of a zod schema, for versions that cannot make one themselves: all of zod 3, and zod 4
 * before its Standard JSON Schema. It describes what goes in, before transforms. Checks that JSON schema
 * cannot express are left out; a type that JSON cannot carry is an error.
 */
import { zodChecks, zodKindOf, zodShape, type ZodCheck, type ZodKind } from './zod-shape.ts'

/** A JSON schema as other libraries write it; which keywords it uses is for its reader to find out. */
export type RawJsonSchema = Readonly<Record<string, unknown>>

/** Types that have no JSON form, and parts of the state that hold no data. */
export class UnrepresentableError extends Error {}

type Convert = (schema: unknown) => RawJsonSchema
type Build = (kind: ZodKind, convert: Convert, schema: object) => RawJsonSchema

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Values of an enum. A TypeScript enum of numbers also lists its names, backwards. */
function enumValues(values: unknown): readonly unknown[] {
  if (Array.isArray(values)) return values
  const record = (values ?? {}) as Record<string, unknown>
  return Object.keys(record)
    .filter((key) => typeof record[String(record[key])] !== 'number')
    .map((key) => record[key])
}

const wrapped: Build = ({ def }, convert) => convert(def['innerType'] ?? def['type'])

const withDefault: Build = (kind, convert, schema) => {
  const given: unknown = kind.def['defaultValue']
  const value: unknown = typeof given === 'function' ? given() : given
  return { ...wrapped(kind, convert, schema), default: value }
}

const union: Build = ({ def }, convert) => {
  const options: unknown = def['options']
  const branches = options instanceof Map ? Array.from(options.values()) : list(options)
  return { anyOf: branches.map((branch) => convert(branch)) }
}

const array: Build = (kind, convert) => {
  const { def, version } = kind
  const items = convert(version === 4 ? def['element'] : def['type'])
  const bounds: Record<string, unknown> = {}
  for (const [key, keyword] of [
    ['minLength', 'minItems'],
    ['maxLength', 'maxItems'],
  ] as const) {
    const bound = (def[key] ?? def['exactLength']) as { value?: unknown } | null | undefined
    if (typeof bound?.value === 'number') bounds[keyword] = bound.value
  }
  return { type: 'array', items, ...bounds, ...constraints(kind, 'Items') }
}

const object: Build = (kind, convert, schema) => {
  const { shape, closed, rest } = zodShape(schema, kind)
  const properties: Record<string, RawJsonSchema> = {}
  const required: string[] = []
  for (const [key, field] of Object.entries(shape)) {
    Object.defineProperty(properties, key, { value: convert(field), enumerable: true })
    if (!isOptional(field)) required.push(key)
  }
  const additional = closed
    ? { additionalProperties: false }
    : rest
      ? { additionalProperties: convert(rest) }
      : {}
  return { type: 'object', properties, ...(required.length > 0 ? { required } : {}), ...additional }
}

function isOptional(schema: object): boolean {
  const kind = zodKindOf(schema)
  if (kind?.version === 4) return kind.optional
  const method: unknown = Reflect.get(schema, 'isOptional')
  return typeof method === 'function' && method.call(schema) === true
}

/** Where the value comes in: a transform in front of a schema changes what it gets, not what it is for. */
const piped: Build = ({ def }, convert) => {
  const first = def['in'] ?? def['schema']
  return convert(zodKindOf(first)?.type === 'transform' ? def['out'] : first)
}

const BUILDERS: Readonly<Record<string, Build>> = {
  string: (kind) => ({ type: 'string', ...constraints(kind, 'Length') }),
  number: (kind) => ({ type: isInteger(kind) ? 'integer' : 'number', ...constraints(kind, 'Length') }),
  boolean: () => ({ type: 'boolean' }),
  null: () => ({ type: 'null' }),
  any: () => ({}),
  unknown: () => ({}),
  never: () => ({ not: {} }),
  template_literal: () => ({ type: 'string' }),
  literal: ({ def }) => ({ enum: 'values' in def ? list(def['values']) : [def['value']] }),
  enum: ({ def }) => ({ enum: enumValues(def['entries'] ?? def['values']) }),
  object,
  array,
  tuple: ({ def }, convert) => ({
    type: 'array',
    prefixItems: list(def['items']).map((item) => convert(item)),
    items: def['rest'] ? convert(def['rest']) : false,
  }),
  record: ({ def }, convert) => ({ type: 'object', additionalProperties: convert(def['valueType']) }),
  union,
  intersection: ({ def }, convert) => ({ allOf: [convert(def['left']), convert(def['right'])] }),
  nullable: (kind, convert, schema) => ({ anyOf: [wrapped(kind, convert, schema), { type: 'null' }] }),
  optional: wrapped,
  nonoptional: wrapped,
  readonly: wrapped,
  catch: wrapped,
  default: withDefault,
  prefault: withDefault,
  pipe: piped,
  lazy: ({ def }, convert) => convert((def['getter'] as () => unknown)()),
}

function isInteger(kind: ZodKind): boolean {
  return zodChecks(kind).some(
    ({ check, def }) => check === 'int' || (check === 'number_format' && /int/.test(String(def['format']))),
  )
}

/** Keywords of the checks, `size` telling whether lengths count characters or items. */
function constraints(kind: ZodKind, size: 'Length' | 'Items'): RawJsonSchema {
  const found: Record<string, unknown> = {}
  for (const check of zodChecks(kind)) Object.assign(found, constraint(check, size, kind.type))
  return found
}

function constraint({ check, def }: ZodCheck, size: 'Length' | 'Items', type: string): RawJsonSchema {
  const inclusive = def['inclusive'] !== false
  const value = def['value']
  switch (check) {
    case 'min_length':
      return { [`min${size}`]: def['minimum'] }
    case 'max_length':
      return { [`max${size}`]: def['maximum'] }
    case 'length_equals':
    case 'length':
      return { [`min${size}`]: def['length'] ?? value, [`max${size}`]: def['length'] ?? value }
    case 'greater_than':
    case 'min':
      return type === 'string'
        ? { minLength: value }
        : { [inclusive ? 'minimum' : 'exclusiveMinimum']: value }
    case 'less_than':
    case 'max':
      return type === 'string'
        ? { maxLength: value }
        : { [inclusive ? 'maximum' : 'exclusiveMaximum']: value }
    case 'multiple_of':
    case 'multipleOf':
      return { multipleOf: value }
    case 'regex':
      return { pattern: sourceOf(def['regex']) }
    case 'string_format':
      return def['format'] === 'regex' ? { pattern: sourceOf(def['pattern']) } : { format: def['format'] }
    default:
      return type === 'string' &&
        /^(email|url|uuid|cuid|cuid2|ulid|ip|datetime|date|time|duration)$/.test(check)
        ? { format: check }
        : {}
  }
}

function sourceOf(pattern: unknown): unknown {
  return pattern instanceof RegExp ? pattern.source : undefined
}

/** What the author wrote about the schema itself. */
function annotations(schema: object): RawJsonSchema {
  const meta: unknown = Reflect.get(schema, 'meta')
  const given = typeof meta === 'function' ? (meta.call(schema) as RawJsonSchema | undefined) : undefined
  const description: unknown = given?.['description'] ?? Reflect.get(schema, 'description')
  return {
    ...(typeof description === 'string' ? { description } : {}),
    ...(typeof given?.['title'] === 'string' ? { title: given['title'] } : {}),
    ...(Array.isArray(given?.['examples']) ? { examples: given['examples'] } : {}),
  }
}

/**
 * Converts a zod schema.
 *
 * @throws {UnrepresentableError} a type that JSON cannot carry, wherever in the schema it is.
 */
export function zodToJsonSchema(root: object): RawJsonSchema {
  const open = new Set<object>()
  const convert: Convert = (schema) => {
    const kind = zodKindOf(schema)
    if (kind === undefined) throw new UnrepresentableError('a schema that is not of zod')
    const build = Object.hasOwn(BUILDERS, kind.type) ? BUILDERS[kind.type] : undefined
    if (build === undefined) throw new UnrepresentableError(`${kind.type} has no JSON form`)
    const holder = schema as object
    // A schema inside itself: any JSON at the cut.
    if (open.has(holder)) return {}
    open.add(holder)
    const json = { ...build(kind, convert, holder), ...annotations(holder) }
    open.delete(holder)
    return json
  }
  return convert(root)
}
