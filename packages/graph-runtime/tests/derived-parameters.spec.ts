import { validateJsonSchemaValue, type JsonSchemaNode } from '@deepseek-ai/dsh-tools'
import {
  Annotation,
  MessagesValue,
  MessagesZodState,
  ReducedValue,
  StateSchema,
  UntrackedValue,
} from '@langchain/langgraph'
import { describe, expect, it, vi } from 'vitest'
import { toSchemaSubset } from '../src/json-schema-subset.ts'
import { zodToJsonSchema } from '../src/zod-json.ts'
import { echoBuilder } from './graphs.ts'
import { errorOf, valueOf } from './host.ts'
import { offered, person, PERSON } from './offered.ts'
import { graphOver, keeping, z, z3, zCopy, zMini, type Schema } from './zod.ts'

/** The parameters derived from an explicit input. */
async function derived(input: object): Promise<JsonSchemaNode> {
  return (await offered(() => keeping({ state: z.object({ kept: z.any() }), input }))).schema
}

const OPAQUE = expect.objectContaining({ required: ['input'] })

describe('parameters nobody declared', () => {
  it.each([
    ['zod 4', z],
    ['zod 3', z3],
    ['another copy of zod 4', zCopy],
  ])('come from an explicit input of %s, with what it requires (4.6 row 43)', async (_, zod) => {
    expect(await derived(person(zod))).toEqual(PERSON)
  })

  it.each([
    ['zod mini', zMini.object({ a: zMini.string(), b: zMini.number() })],
    ['version 3 within version 4', z.object({ a: z3.string(), b: z3.number() })],
    ['version 4 within version 3', z3.object({ a: z.string(), b: z.number() })],
  ])('come from %s, or the one input does; a mount never breaks (4.6 row 43)', async (_, input) => {
    const { host, schema, call } = await offered(() => keeping({ state: z.object({ a: z.any() }), input }))
    expect(schema).toEqual({
      type: 'object',
      required: ['a', 'b'],
      properties: { a: { type: 'string' }, b: { type: 'number' } },
    })
    expect(host.warnings()).toEqual([])
    expect(errorOf(await call({ a: 1 })).code).toBe('INVALID_ARGS')
  })

  it('come from an input of zod 4 that makes no JSON schema itself', async () => {
    const input = person(z) as Schema & { _zod: { def: { shape: Record<string, object> } } }
    for (const field of Object.values(input._zod.def.shape)) {
      Object.defineProperty(field, '~standard', { value: { ...standardOf(field), jsonSchema: undefined } })
    }
    expect(await derived(input)).toEqual(PERSON)
  })

  it('come from a state, of which every part may be input', async () => {
    const { host, schema } = await offered(() => keeping(person(z)))
    const { required: _, ...optional } = PERSON
    expect(schema).toEqual(optional)
    expect(host.warnings()).toEqual([])
  })

  it('come from a compiled graph too, and nothing is compiled for them', async () => {
    const builder = keeping(person(z))
    const compile = vi.spyOn(builder, 'compile')
    await offered(() => builder)
    expect(compile).not.toHaveBeenCalled()
    expect((await offered(() => keeping(person(z)).compile())).schema.properties).toEqual(PERSON.properties)
  })

  it('come from a StateSchema, reduced keys as they are written', async () => {
    const state = new StateSchema({
      messages: MessagesValue,
      step: z.string().min(2) as never,
      log: new ReducedValue(z.array(z.string()).default(() => []) as never, {
        inputSchema: z.string() as never,
        reducer: (left: string[], right: string) => [...left, right],
      }),
      live: new UntrackedValue(),
      cached: new UntrackedValue(z.number() as never),
    })
    const { schema, call } = await offered(() => keeping(state))
    expect(schema).toEqual({
      type: 'object',
      properties: {
        messages: {
          type: 'array',
          description: 'A list of chat messages',
          items: expect.objectContaining({ required: ['role', 'content'] }),
        },
        step: { type: 'string', description: '(at least 2 characters)' },
        log: { type: 'string' },
        cached: { type: 'number' },
      },
    })
    expect(errorOf(await call({ step: 'x' })).message).toMatch(/"step": .*2/)
    expect(valueOf(await call({ step: 'xy', log: 'one' }))).toMatchObject({ step: 'xy', log: ['one'] })
    const input = await derived(
      new StateSchema({ step: z.string() as never, n: z.number().default(1) as never }),
    )
    expect(input.required).toEqual(['step'])
  })

  it('describe messages as plain objects, which LangGraph takes', async () => {
    const { schema, call } = await offered(() => keeping(MessagesZodState))
    expect(schema.properties?.['messages']).toMatchObject({
      type: 'array',
      items: { required: ['role', 'content'] },
    })
    expect(valueOf(await call({ messages: [{ role: 'user', content: 'hi' }] }))).toEqual({
      messages: [{ role: 'user', content: 'hi' }],
    })
  })

  it('leave out state keys that the input does not have', async () => {
    const state = z.object({ topic: z.string(), secret: z.string().optional() })
    const build = () => keeping({ state, input: Annotation.Root({ topic: Annotation<string> }) })
    expect(Object.keys((await offered(build)).schema.properties ?? {})).toEqual(['topic'])
  })

  it.each([
    ['zod 4', () => z.strictObject({ a: z.string() })],
    ['zod 3, whose keys LangGraph strips', () => z3.object({ a: z3.string() }).strict()],
  ])('are closed as LangGraph treats a strict object of %s', async (label, input) => {
    const { schema, call } = await offered(() => keeping({ state: z.object({ a: z.any() }), input: input() }))
    expect(schema.additionalProperties).toBe(label === 'zod 4' ? false : undefined)
    expect((await call({ a: 'x', b: 1 })).isError).toBe(label === 'zod 4')
  })

  it('always have properties at the root (R41)', async () => {
    expect(await derived(z.object({}))).toEqual({ type: 'object', properties: {} })
  })
})

function standardOf(schema: object): object {
  return Reflect.get(schema, '~standard') as object
}

describe('what cannot be expressed', () => {
  it.each([
    ['a Date', () => z.object({ when: z.date() })],
    ['a BigInt', () => z.object({ n: z.bigint() })],
    ['a custom check', () => z.object({ c: z.custom() })],
    ['a Date of zod 3', () => z3.object({ when: z3.date() })],
    ['an intersection of scalars', () => z.object({ i: z.intersection(z.string(), z.enum(['a'])) })],
    ['nothing at all', () => z.object({ n: z.never() })],
  ])('falls back to the one input: %s', async (_, input) => {
    const { host, schema } = await offered(() => keeping(input()))
    expect(schema).toEqual(OPAQUE)
    expect(host.warnings()).toEqual([expect.stringContaining('one opaque "input"')])
  })

  it('falls back for a graph without types, and for one that is not there yet', async () => {
    expect((await offered(echoBuilder)).schema).toEqual(OPAQUE)
    const late = await offered(async () => keeping(person(z)))
    expect(late.schema).toEqual(OPAQUE)
    expect(errorOf(await late.call({ input: { name: 'x' } })).message).toMatch(/"input.name": .*3/)
  })

  it('falls back for a union at the root (4.6 row 49)', async () => {
    const builder = keeping(z.object({ a: z.string() }))
    Reflect.set(
      builder,
      '_inputRuntimeDefinition',
      z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
    )
    expect((await offered(() => builder)).schema).toEqual(OPAQUE)
  })

  it.each([
    [
      'getters that throw',
      Object.defineProperty({}, 'a', { enumerable: true, get: () => JSON.parse('{') as unknown }),
    ],
    ['a shape that is none', { _zod: { def: { type: 'object', shape: { a: 1, b: { _zod: 3 } } } } }],
    ['a schema of nobody', { _zod: { def: { type: 'object', shape: { a: { '~standard': {} } } } } }],
    [
      'a JSON schema that lies',
      { _zod: { def: { type: 'object', shape: { a: lying({ $ref: '#/nowhere' }) } } } },
    ],
    [
      'a reference outwards',
      { _zod: { def: { type: 'object', shape: { a: lying({ $ref: 'http://x' }) } } } },
    ],
  ])('never breaks a mount: %s', async (_, input) => {
    const builder = keeping(z.object({ a: z.string() }))
    Reflect.set(builder, '_inputRuntimeDefinition', input)
    const { schema } = await offered(() => builder)
    expect(schema.type).toBe('object')
  })

  it('is cut off where a schema grows without end', async () => {
    const doubling = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [
        `d${i}`,
        {
          type: 'array',
          prefixItems: [],
          anyOf: [1, 2].map(() => ({ type: 'object', properties: { x: { $ref: `#/$defs/d${i + 1}` } } })),
        },
      ]),
    )
    expect(() =>
      toSchemaSubset({ $ref: '#/$defs/d0', $defs: { ...doubling, d30: { type: 'string' } } }),
    ).toThrow('too large')
  })
})

function lying(json: object): object {
  return {
    '~standard': {
      version: 1,
      vendor: 'x',
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: () => json },
    },
  }
}

describe('the parameters option', () => {
  it('of "input" keeps the one input, unasked and without a warning', async () => {
    const { host, schema, call } = await offered(() => keeping(person(z)), { parameters: 'input' })
    expect(schema).toEqual(OPAQUE)
    expect(host.warnings()).toEqual([])
    expect(errorOf(await call({ input: { age: 0 } }))).toEqual({
      code: 'INVALID_ARGS',
      message: expect.stringContaining('"input.age": '),
    })
  })

  it('of "auto" is the default', async () => {
    expect((await offered(() => keeping(person(z)), { parameters: 'auto' })).schema.properties).toEqual(
      PERSON.properties,
    )
  })

  it('picks keys, and then no others reach the graph', async () => {
    const state = z.object({ topic: z.string(), when: z.date().optional(), kept: z.any() })
    const { schema, call } = await offered(() => keeping(state), { parameters: { pick: ['topic'] } })
    expect(schema).toEqual({ type: 'object', properties: { topic: { type: 'string' } } })
    expect(valueOf(await call({ topic: 'x', kept: 1 }))).toEqual({ topic: 'x' })
  })

  it.each([
    [['nope'], 'names "nope", which is no key'],
    [['b'], 'leaves out "a", which its input requires'],
  ])('warns about a pick of %j and falls back', async (pick, text) => {
    const input = z.object({ a: z.string(), b: z.string().optional() })
    const { host, schema } = await offered(() => keeping({ state: input, input }), { parameters: { pick } })
    expect(schema).toEqual(OPAQUE)
    expect(host.warnings()).toEqual([expect.stringContaining(text)])
  })

  it('tells a pick from a parameter that is called pick', async () => {
    const { schema } = await offered(echoBuilder, { parameters: { pick: { type: 'string' } } })
    expect(schema.properties).toEqual({ pick: { type: 'string' } })
    const untyped = await offered(echoBuilder, { parameters: { pick: ['topic'] } })
    expect(untyped.host.warnings()).toEqual([expect.stringContaining('the graph shows none')])
  })
})

describe('the author’s own schema', () => {
  it.each([
    ['zod 4', z],
    ['zod 3', z3],
  ])('of %s is enforced before the graph runs, each fault with its path (R55) (R58)', async (_, zod) => {
    const node = vi.fn(() => ({}))
    const state = zod.object({
      count: zod.number().min(1),
      rows: zod.array(zod.object({ name: zod.string().min(2) })).optional(),
    })
    const build = () => graphOver(state).addNode('n', node).addEdge('__start__', 'n')
    const { host, call } = await offered(build)
    const { code, message } = errorOf(await call({ count: 0, rows: [{ name: 'ok' }, { name: 'x' }] }))
    expect(code).toBe('INVALID_ARGS')
    expect(message).toMatch(/"count": .*1/)
    expect(message).toMatch(/"rows\[1\]\.name": .*2/)
    expect(node).not.toHaveBeenCalled()
    expect(host.graphTools().get('g')?.check({ count: 0 })).toHaveLength(1)
    expect(host.graphTools().get('g')?.check({ count: 1 })).toEqual([])
    valueOf(await call({ count: 1 }))
    expect(node).toHaveBeenCalledTimes(1)
  })

  it('is enforced for declared parameters as well', async () => {
    const build = () => keeping(z.object({ count: z.number().min(1) }))
    const { call } = await offered(build, { parameters: { count: { type: 'number' } } })
    expect(errorOf(await call({ count: 0 })).code).toBe('INVALID_ARGS')
  })

  it('may check asynchronously; only the call finds that', async () => {
    const state = z.object({ name: z.string().refine(async (name: unknown) => name !== 'taken', 'is taken') })
    const { host, call } = await offered(() => keeping(state))
    expect(host.graphTools().get('g')?.check({ name: 'taken' })).toEqual([])
    expect(errorOf(await call({ name: 'taken' }))).toEqual({
      code: 'INVALID_ARGS',
      message: 'invalid arguments: "name": is taken',
    })
  })

  it('is asked about keys that only its catchall covers', async () => {
    const input = z.object({ a: z.string() }).catchall(z.number())
    const { call } = await offered(() => keeping({ state: z.object({ a: z.string() }), input }))
    expect(errorOf(await call({ a: 'x', b: 'y' })).message).toContain('"b": ')
    valueOf(await call({ a: 'x', b: 1 }))
  })

  it('that throws leaves the verdict to the graph, whose failure passes (R73)', async () => {
    const state = z.object({
      a: z.string().transform(() => {
        throw new Error('author bug')
      }),
    })
    const { call } = await offered(() => keeping(state))
    expect(errorOf(await call({ a: 'x' }))).toEqual({ code: undefined, message: 'author bug' })
  })

  it('of another library is asked as well, and may throw', async () => {
    const field = {
      '~standard': {
        version: 1,
        vendor: 'x',
        validate(value: unknown) {
          if (value === 'throw') throw new Error('schema bug')
          return value === 'bad' ? { issues: [{ message: 'is bad', path: [{ key: 'deep' }, 0] }] } : { value }
        },
        jsonSchema: { input: () => ({ type: 'string' }) },
      },
    }
    const { schema, call } = await offered(() => keeping(new StateSchema({ a: field as never })))
    expect(schema.properties).toEqual({ a: { type: 'string' } })
    expect(errorOf(await call({ a: 'bad' })).message).toBe('invalid arguments: "a.deep[0]": is bad')
    expect(valueOf(await call({ a: 'good' }))).toEqual({ a: 'good' })
    expect(errorOf(await call({ a: 'throw' }))).toEqual({ code: undefined, message: 'schema bug' })
  })

  it('fills in its defaults and transforms itself', async () => {
    const input = z.object({
      n: z.number().default(2),
      t: z.string().transform((text: unknown) => String(text).length),
    })
    const build = () => keeping({ state: z.object({ n: z.number(), t: z.number() }), input })
    expect(valueOf(await (await offered(build)).call({ t: 'abc' }))).toEqual({ n: 2, t: 3 })
  })

  it('refuses an input that is no object', async () => {
    const { call } = await offered(() => keeping(person(z)), { parameters: 'input' })
    for (const input of [null, 3, ['x']]) {
      expect(errorOf(await call({ input })).message).toContain('"input" must be an object')
    }
  })
})

describe('the subset', () => {
  const of = (schema: Schema) => toSchemaSubset(zodToJsonSchema(schema))

  it.each([
    ['overlapping objects', z.union([z.object({ a: z.string() }), z.object({ b: z.number() })]), { a: 'x' }],
    [
      'a key that only the other object has',
      z.union([z.object({ a: z.string() }), z.object({ b: z.number() })]),
      { a: 'x', b: 'y' },
    ],
    ['an integer among numbers', z.union([z.int(), z.number()]), 1],
    ['a text among texts', z.union([z.literal('a'), z.string()]), 'a'],
    ['arrays', z.union([z.array(z.string()), z.array(z.number())]), []],
    ['anything', z.union([z.string(), z.any()]), 'x'],
    ['a null twice', z.union([z.null(), z.string().nullable()]), null],
  ])('merges branches that may overlap, so that a union takes %s', (_, schema, value) => {
    expect(validateJsonSchemaValue(of(schema), value, 'v')).toEqual([])
  })

  it('keeps enums and constants of several types apart', () => {
    expect(of(z.enum({ A: 0, B: 'b' } as never))).toEqual({
      oneOf: [
        { type: 'integer', const: 0 },
        { type: 'string', const: 'b' },
      ],
    })
    expect(of(z.literal(['a', 'b', 1, null, true]))).toEqual({
      oneOf: [
        { type: 'string', enum: ['a', 'b'] },
        { type: 'integer', const: 1 },
        { type: 'null' },
        { type: 'boolean', const: true },
      ],
    })
  })

  it('says in words what it cannot enforce', () => {
    expect(of(z3.number().gt(1).multipleOf(2)).description).toBe('(more than 1; a multiple of 2)')
    expect(of(z.tuple([z.string(), z.number()]))).toEqual({
      type: 'array',
      description: '(items in order: string, number)',
    })
    expect(of(z.record(z.string(), z.number()))).toMatchObject({
      properties: {},
      description: '(values of other keys: number)',
    })
    expect(of(z.string().regex(/^a+$/)).description).toBe('(matches /^a+$/)')
    expect(of(z.email()).description).toBe('(format email)')
    expect(of(z3.string().email().length(5)).description).toBe(
      '(at least 5 characters; at most 5 characters; format email)',
    )
  })

  it('cuts recursion at any JSON', () => {
    const tree: Schema = z.object({ name: z.string(), kids: z.array(z.lazy(() => tree)) })
    expect(of(tree).properties?.['kids']).toEqual({ type: 'array', items: {} })
  })

  it('reads the other ways of zod 3 as well', () => {
    expect(of(z3.nativeEnum({ A: 0, 0: 'A', B: 'b' }))).toEqual({
      oneOf: [
        { type: 'integer', const: 0 },
        { type: 'string', const: 'b' },
      ],
    })
    const wrapped = z3.object({
      brand: z3.string().brand('x'),
      pipe: z3.string().pipe(z3.string()),
      pre: z3.preprocess(String, z3.string()),
      cat: z3.number().catch(1),
      both: z3.intersection(z3.object({ a: z3.string() }), z3.object({ b: z3.string() })),
      open: z3.object({ a: z3.string() }).passthrough(),
      shut: z3.object({ a: z3.string() }).strict(),
    })
    expect(of(wrapped).properties).toMatchObject({
      brand: { type: 'string' },
      pipe: { type: 'string' },
      pre: { type: 'string' },
      cat: { type: 'number' },
      both: { required: ['a', 'b'], additionalProperties: true },
      open: { additionalProperties: true },
      shut: { additionalProperties: false },
    })
  })
})
