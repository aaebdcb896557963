import { validateJsonSchemaValue, type ParameterJsonSchema } from '@deepseek-ai/dsh-tools'
import { expect, it } from 'vitest'
import { pick, randomOf, type Random } from '../fuzz/random.ts'
import { quickFit } from '../src/quick-fit.ts'

const NODES = [
  ...(['string', 'number', 'integer', 'boolean', 'null'] as const).map((type) => ({ type })),
  { type: 'string', description: 'd', default: 'x' },
  {},
  { title: 'any', examples: [1] },
  { type: 'string', enum: ['a', ''] },
  { type: 'array', items: { type: 'string' } },
  { oneOf: [{ type: 'string' }, { type: 'null' }] },
] as const

const VALUES: readonly (() => unknown)[] = [
  ...['', 'a', 0, -0, 1, 1.5, 1e300, Number.NaN, Infinity, true, false, null].map((value) => () => value),
  () => undefined,
  () => 1n,
  () => [],
  () => ({ a: 1 }),
  () => new Date(0),
  () => Object(1) as unknown,
  () => Symbol('s'),
]

const MARKS: readonly ((args: object) => unknown)[] = [
  (args) => Object.assign(args, { [Symbol('mark')]: 1 }),
  (args) => Object.defineProperty(args, 'a', { value: 'a', configurable: true }),
  (args) => Object.defineProperty(args, 'a', { enumerable: true, configurable: true, get: () => 'a' }),
  (args) => Object.defineProperty(args, '__proto__', { enumerable: true, value: 1 }),
  (args) => Object.setPrototypeOf(args, { a: 'a' }) as unknown,
  (args) => Object.setPrototypeOf(args, null) as unknown,
]

const NAMES = ['a', 'b', 'toString', '0'] as const

function schema(random: Random): ParameterJsonSchema {
  const properties: Record<string, (typeof NODES)[number]> = {}
  const nodes = random() < 0.2 ? NODES : NODES.slice(0, 8)
  for (const name of NAMES) if (random() < 0.5) properties[name] = pick(random, nodes)
  const required = Object.keys(properties).filter(() => random() < 0.4)
  return {
    type: 'object',
    properties,
    ...(required.length === 0 ? {} : { required }),
    ...(random() < 0.1 ? { additionalProperties: random() < 0.5 } : {}),
  } as unknown as ParameterJsonSchema
}

function args(random: Random): unknown {
  if (random() < 0.02) return pick(random, VALUES)()
  const made: Record<string, unknown> = {}
  const values = random() < 0.5 ? VALUES : VALUES.slice(0, 3)
  for (const name of NAMES) if (random() < 0.6) made[name] = pick(random, values)()
  if (random() < 0.05) pick(random, MARKS)(made)
  return random() < 0.5 ? Object.freeze(made) : made
}

it('a quick yes is never more than DSH’s validator allows, and the common case gets one', () => {
  const random = randomOf(11)
  const counts = { quick: 0, fit: 0, faulty: 0 }
  for (let round = 0; round < 30_000; round++) {
    const [declared, given] = [schema(random), args(random)]
    const faults = validateJsonSchemaValue(declared, given, '')
    if (faults.length > 0) counts.faulty++
    else counts.fit++
    if (!quickFit(declared, given)) continue
    counts.quick++
    expect(faults).toEqual([])
  }
  expect(counts.faulty).toBeGreaterThan(5000)
  expect(counts.quick).toBeGreaterThan(counts.fit / 2)
})
