/**
 * From a JSON schema of any library to the subset that DSH enforces. What the subset cannot say becomes
 * words in the description, and the result then accepts more than the original: whoever owns the
 * original checks it again. A union never accepts less, although the subset wants exactly one branch to
 * match: branches that may overlap are merged into one.
 */
import type { JsonSchemaNode, JsonSchemaScalar } from '@deepseek-ai/dsh-tools'
import { setOwn } from './copy-json.ts'
import { hintsOf } from './json-schema-hints.ts'
import { unionOf } from './json-schema-union.ts'
import { findLossy } from './lossless.ts'
import type { RawJsonSchema } from './zod-json.ts'

/** The schema cannot be expressed; the message says what is in the way. */
export class InexpressibleError extends Error {}

/** A schema that nothing fits. Harmless as one branch of several. */
class NeverError extends InexpressibleError {}

/** Nodes of one schema; references may multiply them. */
const MOST_NODES = 2000

const SCALAR_TYPES = ['string', 'number', 'integer', 'boolean', 'null'] as const

function isRecord(value: unknown): value is RawJsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A schema that everything fits. */
function isEverything(value: unknown): boolean {
  return value === true || (isRecord(value) && Object.keys(value).length === 0)
}

function isScalar(value: unknown): value is JsonSchemaScalar {
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  return value === null || typeof value === 'string' || typeof value === 'boolean'
}

class Mapper {
  private readonly root: RawJsonSchema
  private readonly open = new Set<string>()
  private count = 0

  constructor(root: RawJsonSchema) {
    this.root = root
  }

  node(raw: unknown): JsonSchemaNode {
    if (raw === true) return {}
    if (raw === false) throw new NeverError('nothing fits it')
    if (!isRecord(raw)) throw new InexpressibleError('a part that is no schema')
    if (++this.count > MOST_NODES) throw new InexpressibleError('it is too large')
    const node = typeof raw['$ref'] === 'string' ? this.referred(raw['$ref']) : this.plain(raw)
    return annotated(node, raw)
  }

  /** Follows a reference within the schema; one that leads back into itself is any JSON. */
  private referred(ref: string): JsonSchemaNode {
    if (this.open.has(ref)) return {}
    if (ref !== '#' && !ref.startsWith('#/')) throw new InexpressibleError(`it refers to ${ref}`)
    let target: unknown = this.root
    for (const part of ref.split('/').slice(1)) {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
      target = isRecord(target) && Object.hasOwn(target, key) ? target[key] : undefined
    }
    this.open.add(ref)
    const node = this.node(target)
    this.open.delete(ref)
    return node
  }

  private plain(raw: RawJsonSchema): JsonSchemaNode {
    if (isEverything(raw['not'])) throw new NeverError('nothing fits it')
    if (Array.isArray(raw['allOf'])) return this.all(raw['allOf'])
    if (Array.isArray(raw['enum'])) return this.values(raw['enum'], raw['type'])
    if ('const' in raw) return this.values([raw['const']], raw['type'])
    const branches = raw['anyOf'] ?? raw['oneOf']
    if (Array.isArray(branches)) return this.any(branches)
    const type = raw['type']
    if (Array.isArray(type))
      return this.any(type.map((one) => ({ ...structural(raw), type: one as unknown })))
    if (type === 'object' || (type === undefined && isRecord(raw['properties']))) return this.object(raw)
    if (type === 'array') return this.array(raw)
    if (type === undefined) return {}
    const scalar = SCALAR_TYPES.find((name) => name === type)
    if (scalar === undefined) throw new InexpressibleError(`type ${JSON.stringify(type)}`)
    return { type: scalar }
  }

  private values(values: readonly unknown[], type: unknown): JsonSchemaNode {
    if (values.length === 0) throw new NeverError('nothing fits it')
    if (!values.every(isScalar)) throw new InexpressibleError('a constant that is no scalar')
    return unionOf(values.map((value) => constant(value, type)))
  }

  private any(branches: readonly unknown[]): JsonSchemaNode {
    const nodes: JsonSchemaNode[] = []
    for (const branch of branches) {
      try {
        nodes.push(this.node(branch))
      } catch (error) {
        if (!(error instanceof NeverError)) throw error
      }
    }
    if (nodes.length === 0) throw new NeverError('nothing fits it')
    return unionOf(nodes)
  }

  /** Objects together have the keys of all of them; anything else together is beyond the subset. */
  private all(parts: readonly unknown[]): JsonSchemaNode {
    const nodes = parts.map((part) => this.node(part))
    if (nodes.length === 1 && nodes[0] !== undefined) return nodes[0]
    if (!nodes.every((node) => node.type === 'object')) throw new InexpressibleError('an intersection')
    const properties: Record<string, JsonSchemaNode> = {}
    for (const node of nodes) {
      for (const [key, value] of Object.entries(node.properties ?? {})) {
        setOwn(properties, key, Object.hasOwn(properties, key) ? {} : value)
      }
    }
    const required = Array.from(new Set(nodes.flatMap((node) => node.required ?? [])))
    return objectNode(properties, required, true)
  }

  private object(raw: RawJsonSchema): JsonSchemaNode {
    const properties: Record<string, JsonSchemaNode> = {}
    for (const [key, value] of Object.entries(isRecord(raw['properties']) ? raw['properties'] : {})) {
      setOwn(properties, key, this.node(value))
    }
    const listed: readonly unknown[] = Array.isArray(raw['required']) ? raw['required'] : []
    const required = listed.filter((key) => typeof key === 'string' && Object.hasOwn(properties, key))
    return objectNode(properties, required as string[], raw['additionalProperties'] !== false)
  }

  private array(raw: RawJsonSchema): JsonSchemaNode {
    // A tuple: each place has a schema of its own, which the subset does not have.
    if (Array.isArray(raw['prefixItems']) || Array.isArray(raw['items'])) return { type: 'array' }
    const items = raw['items']
    return items === undefined || items === false
      ? { type: 'array' }
      : { type: 'array', items: this.node(items) }
  }
}

/** The schema without what its readers are told, which stays with the whole when it is taken apart. */
function structural(raw: RawJsonSchema): RawJsonSchema {
  const { description: _d, title: _t, default: _f, examples: _e, ...rest } = raw
  return rest
}

function constant(value: JsonSchemaScalar, type: unknown): JsonSchemaNode {
  if (value === null) return { type: 'null' }
  if (typeof value === 'number') {
    return { type: Number.isInteger(value) && type !== 'number' ? 'integer' : 'number', const: value }
  }
  return { type: typeof value === 'string' ? 'string' : 'boolean', const: value }
}

function objectNode(
  properties: Record<string, JsonSchemaNode>,
  required: string[],
  open: boolean,
): JsonSchemaNode {
  return {
    type: 'object',
    properties,
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: open,
  }
}

/** Adds what the original tells its readers, the rules that the subset lacks among it. */
function annotated(node: JsonSchemaNode, raw: RawJsonSchema): JsonSchemaNode {
  const own = typeof raw['description'] === 'string' ? raw['description'] : node.description
  const hints = hintsOf(raw)
  const description = [own, hints.length > 0 ? `(${hints.join('; ')})` : undefined]
    .filter((part) => part !== undefined && part !== '')
    .join(' ')
  return {
    ...node,
    ...(description === '' ? {} : { description }),
    ...(typeof raw['title'] === 'string' ? { title: raw['title'] } : {}),
    ...jsonAnnotation(raw, 'default'),
    ...jsonAnnotation(raw, 'examples'),
  }
}

function jsonAnnotation(raw: RawJsonSchema, key: 'default' | 'examples'): JsonSchemaNode {
  const value = raw[key]
  return value !== undefined && findLossy(value) === undefined ? { [key]: value } : {}
}

/**
 * Maps a JSON schema (drafts 07 to 2020-12, references within it) to the subset.
 *
 * @throws {InexpressibleError} when no schema of the subset accepts all that this one does and says
 *   anything about it.
 */
export function toSchemaSubset(raw: RawJsonSchema): JsonSchemaNode {
  return new Mapper(raw).node(raw)
}
