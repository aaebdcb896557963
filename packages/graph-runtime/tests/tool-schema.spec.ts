import type { ParameterSchemaSpec } from '@deepseek-ai/dsh-tools'
import { Annotation, MemorySaver, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { describe, expect, it, vi } from 'vitest'
import {
  createGraphDefinition,
  createGraphTool,
  type GraphDefinitionOptions,
  type GraphLike,
} from '../src/index.ts'
import { echoBuilder, EchoState, topicOnly } from './graphs.ts'
import { bootGraphs, define, errorOf, valueOf, type Host } from './host.ts'
import { keeping, z } from './zod.ts'

/** Defines one tool on a fresh host and gives what the model sees of it. */
async function offered(options: Partial<GraphDefinitionOptions>) {
  const host = await bootGraphs()
  define({ name: 'echo', build: echoBuilder, asTool: true, ...options })
  const schema = host.ctx
    .get('tools')
    ?.schemas()
    .find((tool) => tool.name === (options.name ?? 'echo'))
  if (schema === undefined) throw new Error(`not offered: ${host.warnings().join('; ')}`)
  return { host, schema, call: (args: unknown) => host.call(schema.name, args) }
}

describe('the description', () => {
  it('is what the author wrote, whatever the graph says (R25)', async () => {
    const build = () => echoBuilder().compile({ description: 'compiled' })
    expect((await offered({ description: 'explicit', build })).schema.description).toBe('explicit')
  })

  it('is the compiled graph’s own without that (R26) (R99)', async () => {
    const build = () => echoBuilder().compile({ name: 'other', description: 'compiled' })
    const { schema } = await offered({ build })
    expect(schema).toMatchObject({ name: 'echo', description: 'compiled' })
  })

  it('is made from nodes and state keys without both, the same each time (R27) (R67) (R131)', async () => {
    const text = 'Runs the graph "echo" with nodes: echo. State keys: topic, log (accumulated).'
    expect((await offered({})).schema.description).toBe(text)
    expect((await offered({ build: () => echoBuilder().compile() })).schema.description).toBe(text)
    const seen: PropertyKey[] = []
    const watched = new Proxy(echoBuilder(), {
      get: (target, key, receiver) => (seen.push(key), Reflect.get(target, key, receiver)),
    })
    createGraphTool(watched, { name: 'watched' })
    const structure = ['nodes', 'channels', 'builder', '_inputRuntimeDefinition', '_schemaRuntimeDefinition']
    expect(new Set(seen)).toEqual(new Set(['invoke', 'compile', 'then', 'description', ...structure]))
  })

  it('leaves LangGraph’s own nodes and channels out (R131)', async () => {
    const build = () =>
      new StateGraph(EchoState)
        .addNode('a', () => ({}), { errorHandler: () => ({}) })
        .addNode('b', () => ({}))
        .addNode('c', () => ({}), { defer: true })
        .addEdge(START, 'a')
        .addEdge(START, 'b')
        .addEdge(['a', 'b'], 'c')
        .compile()
    const { description } = (await offered({ build })).schema
    expect(description).toBe(
      'Runs the graph "echo" with nodes: a, b, c. State keys: topic, log (accumulated).',
    )
  })

  it('says so when the state is one value (R132)', async () => {
    const Root = Annotation.Root({ __root__: Annotation<string[]>() }) as unknown as typeof EchoState
    const build = () => new StateGraph(Root).addNode('a', () => ({})).addEdge(START, 'a')
    const { schema } = await offered({ build })
    expect(schema.description).toBe('Runs the graph "echo" with nodes: a. Its state is a single value.')
    expect(JSON.stringify(schema.parameters)).toContain('The state is a single value without keys.')
  })

  it('counts what it does not list', async () => {
    const build = () => {
      const graph = new StateGraph(EchoState)
      for (let i = 0; i < 30; i++) graph.addNode(`n${i}`, () => ({}))
      return graph
    }
    expect((await offered({ build })).schema.description).toContain('n23 and 6 more. State keys')
  })

  it('is plain for an object that shows no structure (R68) (R98)', async () => {
    const hostile = {
      invoke: async () => ({}),
      get nodes(): never {
        throw new Error('private')
      },
    }
    const { schema } = await offered({ build: () => hostile })
    expect(schema.description).toBe('Runs the graph "echo".')
    expect(createGraphTool({ invoke: async () => 1 }, { name: 'bare' }).description).toBe(
      'Runs the graph "bare".',
    )
  })
})

describe('declared parameters', () => {
  const rich = {
    name: { type: 'string', required: true, description: 'Who.' },
    style: { type: 'string', enum: ['formal', 'casual'], title: 'Style', examples: ['casual'] },
    times: { type: 'integer', default: 1 },
    ratio: { type: 'number' },
    loud: { type: 'boolean' },
    nothing: { type: 'null' },
    version: { type: 'string', const: 'v1' },
    tags: { type: 'array', items: { type: 'string' } },
    place: {
      type: 'object',
      additionalProperties: false,
      properties: { city: { type: 'string', required: true } },
    },
    extra: { type: 'json' },
    id: { oneOf: [{ type: 'string' }, { type: 'integer' }] },
  } satisfies ParameterSchemaSpec
  const keep = () => ({ invoke: async (input: unknown) => ({ input }) })

  it('reach the model as declared, annotations and all (R40) (R51) (R52) (R54)', async () => {
    const { host, schema } = await offered({ parameters: rich })
    expect(host.graphTools().get('echo')?.definition?.parameters).toBe(rich)
    expect(schema.parameters).toEqual({
      type: 'object',
      required: ['name'],
      properties: {
        name: { type: 'string', description: 'Who.' },
        style: { type: 'string', enum: ['formal', 'casual'], title: 'Style', examples: ['casual'] },
        times: { type: 'integer', default: 1 },
        ratio: { type: 'number' },
        loud: { type: 'boolean' },
        nothing: { type: 'null' },
        version: { type: 'string', const: 'v1' },
        tags: { type: 'array', items: { type: 'string' } },
        place: {
          type: 'object',
          additionalProperties: false,
          properties: { city: { type: 'string' } },
          required: ['city'],
        },
        extra: {},
        id: { oneOf: [{ type: 'string' }, { type: 'integer' }] },
      },
    })
  })

  it('pass the whole argument object to the graph, extra keys too, defaults not filled in (R40) (R60) (R61)', async () => {
    const { call } = await offered({ parameters: rich, build: keep })
    const args = { name: 'x', id: 3, extra: { a: [null] }, more: true }
    expect(valueOf(await call(args))).toEqual({ input: args })
    const echo = await offered({ parameters: topicOnly })
    expect(valueOf(await echo.call({ topic: 'x', unknown: 1 }))).toEqual({ topic: 'x', log: ['seen:x'] })
  })

  it('fill defaults in when the author asks for it', async () => {
    const parameters = {
      times: { type: 'integer', default: 1 },
      place: {
        type: 'object',
        additionalProperties: true,
        properties: { zip: { type: 'string', default: '0' } },
      },
      rows: {
        type: 'array',
        items: {
          type: 'object',
          additionalProperties: true,
          properties: { n: { type: 'json', default: [] } },
        },
      },
    } satisfies ParameterSchemaSpec
    const { call } = await offered({ parameters, build: keep, applyDefaults: true })
    expect(valueOf(await call({ place: {}, rows: [{}, { n: 2 }] }))).toEqual({
      input: { times: 1, place: { zip: '0' }, rows: [{ n: [] }, { n: 2 }] },
    })
    expect(valueOf(await call({}))).toEqual({ input: { times: 1 } })
  })

  it.each<[ParameterSchemaSpec, string]>([
    [{ n: { type: 'integer', default: 'x' } }, '"n" must be an integer'],
    [{ s: { type: 'string', enum: ['a'], default: 'b' } }, '"s" must be one of'],
    [
      {
        o: {
          type: 'object',
          additionalProperties: false,
          properties: { a: { type: 'string', required: true } },
          default: {},
        },
      },
      'missing required property "o.a"',
    ],
    [
      {
        l: {
          type: 'array',
          items: {
            type: 'object',
            additionalProperties: true,
            properties: { n: { type: 'null', default: 0 } },
          },
        },
      },
      '"l[].n" must be null',
    ],
  ])('with a default that their own schema refuses cannot be filled in: %j', (parameters, fault) => {
    const options = { name: 'g', build: echoBuilder, parameters }
    expect(() => createGraphDefinition({ ...options, applyDefaults: true })).toThrow(
      `applyDefaults needs defaults that fit their own schema: ${fault}`,
    )
    expect(createGraphDefinition(options)).toMatchObject({ name: 'g' })
  })

  it.each(['declared', 'derived', 'none'])('are frozen, which calls are held against: %s', async (kind) => {
    const examples = [{ deep: 1 }]
    const spec = { topic: { type: 'string', required: true, examples } } satisfies ParameterSchemaSpec
    const { host, call } = await offered({
      ...(kind === 'declared' ? { parameters: spec } : {}),
      build: () =>
        (kind === 'derived' ? keeping(z.object({ topic: z.string() })) : echoBuilder()) as GraphLike,
    })
    const schema = host.graphTools().get('echo')?.parameters
    const property = Object.values(schema?.properties ?? {})[0] ?? {}
    expect(() => Object.assign(property, { type: 'number' })).toThrow(TypeError)
    expect(() => Object.assign(schema ?? {}, { required: [] })).toThrow(TypeError)
    expect(Object.isFrozen(examples[0])).toBe(false)
    const args = kind === 'none' ? { input: { topic: 'x' } } : { topic: 'x' }
    expect(valueOf(await call(args))).toMatchObject({ topic: 'x' })
  })

  it('are checked before the graph runs, all violations at once, each with its path (R55) (R56) (R57) (R58)', async () => {
    const invoke = vi.fn(async () => ({}))
    const { call } = await offered({ parameters: rich, build: () => ({ invoke }) })
    const { code, message } = errorOf(
      await call({
        style: 'rude',
        times: 1.5,
        place: { city: 1, zip: 2 },
        tags: ['a', 2],
        version: 'v2',
        id: true,
      }),
    )
    expect(code).toBe('INVALID_ARGS')
    for (const part of [
      'missing required property "name"',
      '"style" must be one of ["formal","casual"]',
      '"times" must be an integer',
      '"place.city" must be a string',
      '"place.zip" is not a declared property',
      '"tags[1]" must be a string',
      '"version" must be "v1"',
      '"id" must match exactly one oneOf branch',
    ])
      expect(message).toContain(part)
    expect(errorOf(await call('not an object')).code).toBe('INVALID_ARGS')
    expect(invoke).not.toHaveBeenCalled()
  })

  it('of every type take what is of the type and nothing else; of oneOf exactly one branch must match (R51) (R56)', async () => {
    const { call } = await offered({ parameters: { ...rich, name: { type: 'string' } }, build: keep })
    const fits = {
      name: 'x',
      times: 2,
      ratio: 0.5,
      loud: false,
      nothing: null,
      tags: [],
      place: { city: 'x' },
      extra: 1,
    }
    expect(valueOf(await call(fits))).toEqual({ input: fits })
    const wrong = { name: 1, times: 0.5, ratio: '1', loud: 0, nothing: 0, tags: {}, place: [] }
    for (const [key, value] of Object.entries(wrong)) {
      const { code, message } = errorOf(await call({ [key]: value }))
      expect([code, message]).toEqual(['INVALID_ARGS', expect.stringContaining(`"${key}" must be`)])
    }
    const twice = await offered({
      parameters: { n: { oneOf: [{ type: 'integer' }, { type: 'number' }] } },
      build: keep,
    })
    expect(errorOf(await twice.call({ n: 1 })).message).toContain('"n" must match exactly one oneOf branch')
    expect(valueOf(await twice.call({ n: 0.5 }))).toEqual({ input: { n: 0.5 } })
  })

  it('may be none at all, which is not the same as undeclared (R41)', async () => {
    const { host, schema, call } = await offered({ parameters: {}, build: keep })
    expect(schema.parameters).toEqual({ type: 'object', properties: {} })
    expect(valueOf(await call({}))).toEqual({ input: {} })
    expect(host.warnings()).toEqual([])
  })

  it.each([
    { log: { __overwrite__: ['forged'] } },
    { log: { type: '__overwrite__', value: ['forged'] } },
    { deep: [{ log: { __overwrite__: [], other: 1 } }] },
    { log: { role: 'remove', id: '__remove_all__', content: '' } },
    { log: { type: 'remove', id: '__remove_all__' } },
  ])('do not let a model bypass a reducer with %j', async (extra) => {
    const { host, call } = await offered({ parameters: topicOnly })
    const { code, message } = errorOf(await call({ topic: 'x', ...extra }))
    expect(code).toBe('INVALID_ARGS')
    expect(message).toMatch(/"(deep\[0\]\.)?log" must not be an "__(overwrite|remove_all)__" object/)
    expect(
      host
        .graphTools()
        .get('echo')
        ?.check({ topic: 'x', ...extra }),
    ).toHaveLength(1)
  })
})

it('of messages cannot empty the memory of a thread', async () => {
  const host = await bootGraphs()
  define({
    name: 'chat',
    asTool: true,
    threadId: 'one',
    build: () =>
      new StateGraph(MessagesAnnotation)
        .addNode('reply', ({ messages }) => ({
          messages: [{ role: 'assistant', content: String(messages.length) }],
        }))
        .addEdge(START, 'reply')
        .compile({ checkpointer: new MemorySaver() }),
  })
  const say = async (message: object) => host.call('chat', { input: { messages: [message] } })
  valueOf(await say({ role: 'user', content: 'hi' }))
  expect(errorOf(await say({ role: 'remove', content: '', id: '__remove_all__' }))).toEqual({
    code: 'INVALID_ARGS',
    message: expect.stringContaining('"input.messages[0]" must not be an "__remove_all__" object'),
  })
  const { messages } = valueOf(await say({ role: 'user', content: 'more' })) as { messages: unknown[] }
  expect(messages).toHaveLength(4)
})

describe('a graph without declared parameters', () => {
  it('takes one required input, whose value is the graph input (R42) (R43)', async () => {
    const { schema, call } = await offered({})
    expect(schema.parameters).toEqual({
      type: 'object',
      required: ['input'],
      properties: {
        input: { description: 'The input of the graph. Expected state keys: topic, log (accumulated).' },
      },
    })
    expect(valueOf(await call({ input: { topic: 'x' } }))).toEqual({ topic: 'x', log: ['seen:x'] })
    expect(errorOf(await call({ topic: 'x' })).code).toBe('INVALID_ARGS')
  })

  const warned = (host: Host) =>
    host.warnings().filter((text) => text.includes('without declared parameters'))

  it('is warned about once when it is a tool, and not otherwise (R44) (R45)', async () => {
    const { host, call } = await offered({})
    await call({ input: { topic: 'x' } })
    define({ name: 'listed', build: echoBuilder })
    define({ name: 'declared', build: echoBuilder, parameters: topicOnly, asTool: true })
    expect(warned(host)).toEqual([
      expect.stringContaining('graph "echo" is a tool without declared parameters'),
    ])
  })
})
