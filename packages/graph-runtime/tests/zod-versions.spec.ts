import { ReducedValue, StateSchema } from '@langchain/langgraph'
import { describe, expect, it } from 'vitest'
import * as zodNewest from 'zod'
import * as zodMini from 'zod/mini'
import * as zod3 from 'zod-3'
import * as zod3Old from 'zod-3-23'
import * as zod3Four from 'zod-3/v4'
import * as zod40 from 'zod-4-0'
import * as zod41 from 'zod-4-1'
import { errorOf, valueOf } from './host.ts'
import { offered, person, PERSON } from './offered.ts'
import { graphOver, keeping, type Zod } from './zod.ts'

const loose = (zod: object): Zod => zod as Zod

/** Every zod that an author may bring, whichever one LangGraph itself uses. */
const VERSIONS: readonly (readonly [string, Zod])[] = [
  ['3.23, before Standard Schema', loose(zod3Old)],
  ['3.25', loose(zod3)],
  ['3.25 as zod/v4', loose(zod3Four)],
  ['4.0', loose(zod40)],
  ['4.1', loose(zod41)],
  ['4.6, with its own JSON schema', loose(zodNewest)],
]

describe.each(VERSIONS)('zod %s', (_, zod) => {
  it('gives parameters for an explicit input', async () => {
    const { host, schema } = await offered(() =>
      keeping({ state: zod.object({ kept: zod.any() }), input: person(zod) }),
    )
    expect(schema).toEqual(PERSON)
    expect(host.warnings()).toEqual([])
  })

  it('gives parameters for a state, of which every part may be input', async () => {
    const state = zod.object({ name: zod.string().min(3), count: zod.number().int().default(7) })
    const { schema, call } = await offered(() =>
      graphOver(state)
        .addNode('double', ({ count }) => ({ count: Number(count) * 2 }))
        .addEdge('__start__', 'double'),
    )
    expect(schema).toEqual({
      type: 'object',
      properties: {
        name: { type: 'string', description: '(at least 3 characters)' },
        count: { type: 'integer', default: 7 },
      },
    })
    expect(valueOf(await call({ count: 7 }))).toEqual({ count: 14 })
  })

  it('makes a violated bound a fault of the arguments, with its path, before the graph runs', async () => {
    const input = zod.object({
      name: zod.string().min(3),
      deep: zod.object({ ages: zod.array(zod.number().min(18)) }).optional(),
    })
    let runs = 0
    const { call } = await offered(() =>
      graphOver({ state: zod.object({ name: zod.any(), deep: zod.any() }), input })
        .addNode('count', () => ((runs += 1), {}))
        .addEdge('__start__', 'count'),
    )
    const refused = async (args: unknown) => {
      const { code, message } = errorOf(await call(args))
      expect(code).toBe('INVALID_ARGS')
      return message
    }
    expect(await refused({ name: 'x' })).toMatch(/"name": .*3/)
    expect(await refused({ name: 'moss', deep: { ages: [20, 3] } })).toMatch(/"deep\.ages\[1\]": .*18/)
    expect(await refused({ name: 7 })).toContain('"name"')
    expect(await refused({})).toContain('"name"')
    expect(runs).toBe(0)
    valueOf(await call({ name: 'moss', deep: { ages: [20] } }))
    expect(runs).toBe(1)
  })

  it('falls back to the one input where JSON has no form of it, and still judges it', async () => {
    const state = zod.object({ when: zod.date().optional(), name: zod.string().min(3).optional() })
    const { schema, call } = await offered(() => keeping(state))
    expect(schema).toMatchObject({ required: ['input'] })
    expect(Object.keys(schema.properties ?? {})).toEqual(['input'])
    expect(errorOf(await call({ input: { name: 'x' } }))).toEqual({
      code: 'INVALID_ARGS',
      message: expect.stringMatching(/"input\.name": .*3/),
    })
    expect(valueOf(await call({ input: { name: 'moss' } }))).toEqual({ name: 'moss' })
  })

  it('never breaks a mount, whatever the schema holds', async () => {
    const odd: readonly (() => object)[] = [
      () => zod.object({ a: zod.never() }),
      () => zod.object({ a: zod.bigint(), b: zod.custom() }),
      () => zod.object({ a: zod.lazy(() => zod.array(zod.lazy(() => zod.any()))) }),
      () => zod.object({ a: zod.string().transform((text: unknown) => Number(text)) }),
      () => zod.object({ a: zod.preprocess((text: unknown) => text, zod.number()) }),
      () => zod.object({ a: zod.tuple([zod.string(), zod.number()]).rest(zod.boolean()) }),
      () => zod.object({ a: zod.record(zod.string(), zod.number()) }),
      () =>
        zod.object({ a: zod.intersection(zod.object({ b: zod.string() }), zod.object({ c: zod.null() })) }),
      () => zod.object({ a: zod.string().refine(() => JSON.parse('{') as boolean) }),
      () => zod.object({ a: zod.string().catch('x').brand() }),
    ]
    for (const input of odd) {
      const { host, schema } = await offered(() =>
        keeping({ state: zod.object({ a: zod.any() }), input: input() }),
      )
      expect(schema.type).toBe('object')
      expect(JSON.stringify(schema)).not.toMatch(/"(_zod|def|_def|typeName)"/)
      expect(host.warnings().filter((text) => !text.includes('one opaque "input"'))).toEqual([])
    }
  })
})

describe.each(VERSIONS.filter(([name]) => !name.startsWith('3.23')))('StateSchema of zod %s', (_, zod) => {
  it('gives parameters, reduced keys as they are written, and its bounds hold', async () => {
    const state = new StateSchema({
      step: zod.string().min(2) as never,
      log: new ReducedValue(zod.array(zod.string()).default(() => []) as never, {
        inputSchema: zod.string().min(2) as never,
        reducer: (left: string[], right: string) => [...left, right],
      }),
    })
    const { schema, call } = await offered(() => keeping(state))
    const text = { type: 'string', description: '(at least 2 characters)' }
    expect(schema).toEqual({ type: 'object', properties: { step: text, log: text } })
    const { code, message } = errorOf(await call({ step: 'x', log: 'y' }))
    expect(code).toBe('INVALID_ARGS')
    expect(message).toMatch(/"step": .*2.*"log": .*2/)
    expect(valueOf(await call({ step: 'xy', log: 'one' }))).toEqual({ step: 'xy', log: ['one'] })
  })
})

it('schemas of zod mini give parameters like those of zod', async () => {
  const mini = zodMini
  const input = mini.object({ name: mini.string().check(mini.minLength(3)), n: mini.optional(mini.int()) })
  const { schema, call } = await offered(() =>
    keeping({ state: loose(zodNewest).object({ name: loose(zodNewest).any() }), input }),
  )
  expect(schema).toEqual({
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string', description: '(at least 3 characters)' },
      n: expect.objectContaining({ type: 'integer' }),
    },
  })
  expect(errorOf(await call({ name: 'x' }))).toMatchObject({ code: 'INVALID_ARGS' })
})
