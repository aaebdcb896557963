import { parameterSchemaSpecToJsonSchema, type ParameterSchemaSpec } from '@deepseek-ai/dsh-tools'
import { describe, expect, it } from 'vitest'
import { pick, randomOf, type Random } from '../fuzz/random.ts'
import { plainSchema } from '../src/plain-spec.ts'

const FIELDS: Readonly<Record<string, readonly unknown[]>> = {
  type: ['string', 'number', 'integer', 'boolean', 'json', 'null', 'array', 'object', 'text', undefined],
  required: [true, true, true, false, 1, undefined],
  description: ['', 'What about.', 7, undefined],
  title: ['Title', null],
  default: ['x', 0, -0, 1.5, Number.NaN, true, null, undefined, [1], new Date(0)],
  examples: [['a']],
  enum: [['a', 'b']],
  const: ['a'],
  surplus: [1],
}

const ODD: readonly (() => unknown)[] = [
  () => 'string',
  () => null,
  () => [],
  () => Object.create({ type: 'string' }) as unknown,
  () => Object.assign(Object.create(null) as object, { type: 'string' }),
  () => ({ type: 'string', [Symbol('s')]: 1 }),
  () => Object.defineProperty({ type: 'string' }, 'title', { value: 'hidden' }),
  () => Object.defineProperty({}, 'type', { enumerable: true, get: () => 'string' }),
]

/** Mostly sound parameters; one field in eight comes from the whole list of what it may wrongly hold. */
function parameter(random: Random): unknown {
  if (random() < 0.05) return pick(random, ODD)()
  const made: Record<string, unknown> = {}
  for (const [field, values] of Object.entries(FIELDS).toSorted(() => random() - 0.5)) {
    const likely =
      field === 'type' ? 0.97 : ['examples', 'enum', 'const', 'surplus'].includes(field) ? 0.03 : 0.4
    if (random() < likely) made[field] = pick(random, random() < 0.12 ? values : values.slice(0, 3))
  }
  return made
}

function spec(random: Random): ParameterSchemaSpec {
  const made: Record<string, unknown> = {}
  const size = Math.floor(random() * 4)
  for (let at = 0; at < size; at++) made[pick(random, ['a', 'b', '0', 'constructor'])] = parameter(random)
  if (random() < 0.02)
    Object.defineProperty(made, '__proto__', { enumerable: true, value: { type: 'string' } })
  if (random() < 0.02) Object.assign(made, { [Symbol('s')]: { type: 'string' } })
  return made as ParameterSchemaSpec
}

/** What DSH makes of it, as text that shows the order of keys. */
function byDsh(given: ParameterSchemaSpec): string | undefined {
  try {
    return JSON.stringify(parameterSchemaSpecToJsonSchema(given))
  } catch {
    return undefined
  }
}

describe('a spec of plain parameters', () => {
  it('becomes what DSH compiles it to, and nothing that DSH refuses becomes anything', () => {
    const random = randomOf(7)
    const counts = { same: 0, refused: 0 }
    for (let round = 0; round < 20_000; round++) {
      const given = spec(random)
      const [own, theirs] = [plainSchema(given), byDsh(given)]
      if (theirs === undefined) counts.refused++
      if (own === undefined) continue
      counts.same++
      expect(JSON.stringify(own)).toBe(theirs)
    }
    expect(counts.same).toBeGreaterThan(2000)
    expect(counts.refused).toBeGreaterThan(2000)
  })

  it('is left to DSH where a value needs judging', () => {
    for (const [key, value] of [
      ['enum', ['a']],
      ['const', 'a'],
      ['examples', ['a']],
      ['default', { a: 1 }],
    ] as const) {
      expect(plainSchema({ a: { type: 'string', [key]: value } } as ParameterSchemaSpec)).toBeUndefined()
    }
  })
})
