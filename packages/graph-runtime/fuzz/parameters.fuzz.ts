/**
 * Derived parameters against zod: whatever a random schema accepts, its form in DSH's subset accepts as
 * well, since the author's schema judges afterwards anyway; and zod's own JSON schema and ours lead to
 * the same verdicts. One run is one schema with a handful of values.
 */
import { inspect } from 'node:util'
import {
  assertSupportedJsonSchema,
  validateJsonSchemaValue,
  type JsonSchemaNode,
} from '@deepseek-ai/dsh-tools'
import { toSchemaSubset } from '../src/json-schema-subset.ts'
import { zodToJsonSchema, type RawJsonSchema } from '../src/zod-json.ts'
import { z, z3, type Schema, type Zod } from '../tests/zod.ts'
import { campaign, pick, randomOf, type FuzzSummary, type Random } from './random.ts'

const VALUES = 12
const KEYS = ['a', 'b', 'kind', 'x y']
const SCALARS = ['', 'a', 'circle', 0, 1, -3, 1.5, true, false, null] as const

interface Parsing {
  safeParse(value: unknown): { readonly success: boolean }
}

class Generator {
  private readonly random: Random
  private readonly zod: Zod

  constructor(random: Random, zod: Zod) {
    this.random = random
    this.zod = zod
  }

  private times<T>(most: number, make: () => T): T[] {
    return Array.from({ length: 1 + Math.floor(this.random() * most) }, make)
  }

  schema(depth = 0): Schema {
    const { random, zod } = this
    const deeper = (): Schema => this.schema(depth + 1)
    const leaves: (() => Schema)[] = [
      () => zod.string(),
      () => zod.string().min(1),
      () => zod.number().max(1),
      () => zod.number().int(),
      () => zod.boolean(),
      () => zod.null(),
      () => zod.any(),
      () => zod.enum(['a', 'circle']),
      () => zod.literal(pick(random, SCALARS)),
    ]
    if (depth > 3 || random() < 0.35) return pick(random, leaves)()
    return pick<() => Schema>(random, [
      () => this.object(deeper),
      () => this.object(deeper),
      () => zod.array(deeper()),
      () => zod.tuple(this.times(2, deeper)),
      () => zod.record(zod.string(), deeper()),
      () => zod.union([deeper(), deeper(), ...this.times(1, deeper)]),
      () => deeper().nullable(),
      () => zod.intersection(this.object(deeper), this.object(deeper)),
      () => this.discriminated(deeper),
    ])()
  }

  private object(deeper: () => Schema): Schema {
    const shape: Record<string, Schema> = {}
    for (const key of this.times(3, () => pick(this.random, KEYS))) {
      const field = this.random() < 0.3 ? deeper().optional() : deeper()
      Object.defineProperty(shape, key, { value: field, enumerable: true, configurable: true })
    }
    const object = this.zod.object(shape)
    return this.random() < 0.2 ? object.strict() : object
  }

  private discriminated(deeper: () => Schema): Schema {
    const branch = (kind: string): Schema => this.zod.object({ kind: this.zod.literal(kind), a: deeper() })
    return this.zod.discriminatedUnion('kind', [branch('circle'), branch('a')])
  }

  value(depth = 0): unknown {
    const { random } = this
    if (depth > 3 || random() < 0.45) return pick(random, SCALARS)
    if (random() < 0.4) return this.times(2, () => this.value(depth + 1))
    const object: Record<string, unknown> = {}
    for (const key of this.times(3, () => pick(random, KEYS))) {
      Object.defineProperty(object, key, {
        value: this.value(depth + 1),
        enumerable: true,
        configurable: true,
      })
    }
    return object
  }
}

function standard(schema: Schema): RawJsonSchema | undefined {
  const source = (
    Reflect.get(schema, '~standard') as { jsonSchema?: { input(options: object): RawJsonSchema } }
  ).jsonSchema
  return source?.input({ target: 'draft-2020-12' })
}

/** The schema in the subset; `undefined` where it cannot be expressed, which is an answer too. */
function subset(make: () => RawJsonSchema | undefined): JsonSchemaNode | undefined {
  try {
    const raw = make()
    const node = raw && toSchemaSubset(raw)
    if (node !== undefined) assertSupportedJsonSchema(node)
    return node
  } catch (error) {
    if (error instanceof Error && error.name === 'JsonSchemaError') throw error
    return undefined
  }
}

function fault(seed: number): string | undefined {
  const random = randomOf(seed)
  const zod = random() < 0.5 ? z : z3
  const generator = new Generator(random, zod)
  const schema = generator.schema()
  const forms = { walked: subset(() => zodToJsonSchema(schema)), own: subset(() => standard(schema)) }
  for (let i = 0; i < VALUES; i++) {
    const value = generator.value()
    if (!(schema as unknown as Parsing).safeParse(value).success) continue
    for (const [form, node] of Object.entries(forms)) {
      const violations = node === undefined ? [] : validateJsonSchemaValue(node, value, 'value')
      if (violations.length === 0) continue
      return `${form} refuses ${inspect(value, { depth: 9 })}: ${violations.join('; ')} of ${JSON.stringify(node)}`
    }
  }
  return undefined
}

export async function run(options: { runs: number; seed: number }): Promise<FuzzSummary> {
  return campaign('parameters', options, fault)
}
