import { Annotation, MemorySaver, START, StateGraph } from '@langchain/langgraph'
import { describe, expect, it, vi } from 'vitest'
import {
  createGraphDefinition,
  GraphValidationError,
  type GraphDefinitionOptions,
  type GraphEntry,
  type GraphInvocable,
  type GraphValidationContext,
} from '../src/index.ts'
import { echoBuilder, endingWith, topicOnly } from './graphs.ts'
import { bootAgents, bootGraphs, createAgent, define, errorOf, valueOf } from './host.ts'

/** Mounts one tool on a fresh host. */
async function mounted(options: Partial<GraphDefinitionOptions>) {
  const host = await bootGraphs()
  const definition = createGraphDefinition({
    name: 'echo',
    description: 'd',
    parameters: topicOnly,
    build: echoBuilder,
    asTool: true,
    ...options,
  })
  const entry: GraphEntry = host.graphTools().mount(definition, host.ctx)
  return { host, entry, call: (args: unknown) => host.call('echo', args) }
}

/** An invocable that notes the config of each call. */
function noting(configs: object[]): () => GraphInvocable {
  return () => ({
    invoke: async (_input, config = {}) => {
      const { signal: _, ...rest } = config as Record<string, unknown>
      configs.push(rest)
      return {}
    },
  })
}

describe('a call', () => {
  it('is one invoke, after the schema and validate have passed (R36) (R69) (R70)', async () => {
    const order: string[] = []
    const { call } = await mounted({
      validate: () => void order.push('validate'),
      build: () => ({ invoke: async () => ({ order: order.push('graph') }) }),
    })
    await call({ topic: 3 })
    expect(order).toEqual([])
    valueOf(await call({ topic: 'x' }))
    expect(order).toEqual(['validate', 'graph'])
  })

  it('gives the model pretty JSON and programs the value itself (R74) (R75) (R76)', async () => {
    const { call, entry } = await mounted({})
    const result = await call({ topic: 'x' })
    const state = { topic: 'x', log: ['seen:x'] }
    expect(result.content).toEqual([{ type: 'text', text: JSON.stringify(state, null, 2) }])
    expect(valueOf(result)).toEqual(state)
    expect(entry.tool.output.schema).toEqual({})
  })

  it('passes the graph’s own failure on as it is, through run and execute (R73)', async () => {
    const failure = new TypeError('the tide came in')
    const { host, entry } = await mounted({
      parameters: { input: { type: 'json' } },
      build: () =>
        endingWith(() => {
          throw failure
        }),
    })
    await expect(entry.run({ input: 1 }, {})).rejects.toBe(failure)
    const exec = { signal: new AbortController().signal } as Parameters<typeof entry.tool.execute>[1]
    await expect(entry.tool.execute({ input: 1 }, exec)).rejects.toBe(failure)
    expect(errorOf(await host.call('echo', { input: 1 })).message).toBe('the tide came in')
  })

  it('works on a copy of the arguments, which a node may write to', async () => {
    const { entry, call } = await mounted({
      parameters: { input: { type: 'json' } },
      build: () => endingWith((input) => ((input as string[]).push('more'), input)),
    })
    expect(valueOf(await call({ input: ['a'] }))).toMatchObject({ out: ['a', 'more'] })
    const args = { input: ['a'] }
    await entry.run(args, {})
    expect(args).toEqual({ input: ['a'] })
  })

  it('keeps arguments apart from prototypes', async () => {
    const { call } = await mounted({
      parameters: { input: { type: 'json' } },
      build: () => endingWith((input) => [Reflect.get(input as object, 'polluted') ?? null, input]),
    })
    const input = JSON.parse('{"__proto__":{"polluted":1}}') as object
    expect(JSON.stringify(valueOf(await call({ input })))).toContain(
      '"out":[null,{"__proto__":{"polluted":1}}]',
    )
  })

  it('shares nothing with two hundred calls beside it (R77)', async () => {
    const { call } = await mounted({})
    const results = await Promise.all(Array.from({ length: 200 }, (_, i) => call({ topic: `t${i}` })))
    expect(results.map((result) => valueOf(result))).toEqual(
      results.map((_, i) => ({ topic: `t${i}`, log: [`seen:t${i}`] })),
    )
  })

  it('may overlap with its siblings only when the author says so', async () => {
    const { entry } = await mounted({})
    expect(entry.tool.isConcurrencySafe).toBeUndefined()
    const safe = await mounted({ concurrencySafe: true })
    expect(safe.entry.tool.isConcurrencySafe?.({})).toBe(true)
  })

  it('takes and gives values that are nested deeper than the call stack (R84)', async () => {
    const { call } = await mounted({
      parameters: { input: { type: 'json', required: true } },
      build: () => ({ invoke: async (input) => input }),
    })
    let deep: unknown = ['bottom']
    for (let i = 0; i < 100_000; i++) deep = i % 2 === 0 ? [deep] : { a: deep }
    const result = await call({ input: deep })
    expect(result.isError).toBe(false)
    const text = result.content[0]?.type === 'text' ? result.content[0].text : ''
    expect(text.startsWith('{"input":{"a":[{"a":[')).toBe(true)
    expect(text.length).toBeGreaterThan(300_000)
  })
})

describe('validate', () => {
  const rejected = async (validate: GraphDefinitionOptions['validate']) => {
    const invoke = vi.fn(async () => ({}))
    const { call } = await mounted({ ...(validate && { validate }), build: () => ({ invoke }) })
    const result = await call({ topic: 'x' })
    expect(invoke).toHaveBeenCalledTimes(result.isError ? 0 : 1)
    return result.isError ? errorOf(result) : undefined
  }

  it('passes by default and on anything but a rejection (R35) (R38)', async () => {
    expect(await rejected(undefined)).toBeUndefined()
    for (const verdict of [true, undefined, null] as const)
      expect(await rejected(() => verdict)).toBeUndefined()
    expect(await rejected(async () => undefined)).toBeUndefined()
  })

  it('rejects with false, a reason, or a throw, sync or async (R38) (R39)', async () => {
    const byDefault = { code: 'GRAPH_VALIDATION', message: 'arguments rejected by validate of "echo"' }
    expect(await rejected(() => false)).toEqual(byDefault)
    expect(await rejected(async () => false)).toEqual(byDefault)
    expect(await rejected(() => '')).toEqual(byDefault)
    const own = { code: 'GRAPH_VALIDATION', message: 'graph "echo" refused the arguments: not mine' }
    expect(await rejected(() => 'not mine')).toEqual(own)
    expect(
      await rejected(() => {
        throw new RangeError('not mine')
      }),
    ).toEqual(own)
    // oxlint-disable-next-line prefer-promise-reject-errors -- authors do
    expect(await rejected(() => Promise.reject('not mine'))).toEqual(own)
  })

  it('is told the tool, and the request only of a routed call (R36) (R37)', async () => {
    const seen: GraphValidationContext[] = []
    const { host, entry } = await mounted({ validate: (_input, context) => void seen.push(context) })
    valueOf(await host.call('echo', { topic: 'x' }))
    await entry.run({ topic: 'x' }, { request: 'please echo' })
    expect(seen).toEqual([{ tool: 'echo' }, { tool: 'echo', request: 'please echo' }])
    expect(Object.keys(seen[0] ?? {})).toEqual(['tool'])
  })

  it('judges a copy of the graph input (R36)', async () => {
    const inputs: unknown[] = []
    const { host } = await mounted({
      validate: (input) => void ((input as { topic: string }).topic = 'changed'),
    })
    expect(valueOf(await host.call('echo', { topic: 'x' }))).toMatchObject({ topic: 'x' })
    define({
      name: 'opaque',
      build: () => ({ invoke: async () => 1 }),
      validate: (input) => void inputs.push(input),
    })
    await host
      .graphTools()
      .get('opaque')
      ?.run({ input: [1] }, {})
    expect(inputs).toEqual([[1]])
  })

  it('gives an error that carries the reason and the cause (R39)', async () => {
    const cause = new Error('not mine')
    const { entry } = await mounted({
      validate: () => {
        throw cause
      },
    })
    const error = await entry.run({ topic: 'x' }, {}).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(GraphValidationError)
    expect(error).toMatchObject({ graph: 'echo', reason: 'not mine', cause })
  })
})

describe('the config of a call', () => {
  it('has no key that nobody set (R50) (R78)', async () => {
    const configs: object[] = []
    const { call } = await mounted({ build: noting(configs) })
    valueOf(await call({ topic: 'x' }))
    expect(configs).toEqual([{}])
  })

  it('carries thread, configurable and recursion limit as the author gave them (R46) (R47)', async () => {
    const configs: object[] = []
    const { call } = await mounted({
      build: noting(configs),
      threadId: 'mine',
      configurable: { thread_id: 'other', tenant: { id: 7 } },
      recursionLimit: 3,
    })
    valueOf(await call({ topic: 'x' }))
    expect(configs).toEqual([{ configurable: { thread_id: 'mine', tenant: { id: 7 } }, recursionLimit: 3 }])
    const alone = await mounted({ build: noting(configs), configurable: { thread_id: 'other' } })
    valueOf(await alone.call({ topic: 'x' }))
    expect(configs[1]).toEqual({ configurable: { thread_id: 'other' } })
  })

  it('leaves a limit that the author bound to the graph in force', async () => {
    const { call } = await mounted({
      build: () => {
        const State = Annotation.Root({ topic: Annotation<string>, n: Annotation<number> })
        return new StateGraph(State)
          .addNode('loop', (state) => ({ n: (state.n ?? 0) + 1 }))
          .addEdge(START, 'loop')
          .addConditionalEdges('loop', (state) => (state.n < 10 ? 'loop' : '__end__'))
          .compile()
          .withConfig({ recursionLimit: 3 })
      },
    })
    expect(errorOf(await call({ topic: 'x' })).message).toContain('Recursion limit of 3')
  })
})

describe('threads', () => {
  const remembering = () => echoBuilder().compile({ checkpointer: new MemorySaver() })

  it('add up where the graph has a checkpointer, and only there (R46) (R79)', async () => {
    for (const [build, log] of [
      [remembering, ['seen:a', 'seen:b']],
      [echoBuilder, ['seen:b']],
    ] as const) {
      const { call } = await mounted({ threadId: 'one', build })
      valueOf(await call({ topic: 'a' }))
      expect(valueOf(await call({ topic: 'b' }))).toEqual({ topic: 'b', log })
    }
  })

  it('may be picked per call, by input and session', async () => {
    const host = await bootAgents()
    const agent = await createAgent(host.ctx)
    const configs: object[] = []
    const seen: object[] = []
    define({
      name: 'echo',
      parameters: topicOnly,
      asTool: true,
      build: noting(configs),
      threadId: (input, context) => {
        seen.push(context)
        const { topic } = input as { topic: string }
        return topic === 'none' ? undefined : `${topic}/${context.sessionId ?? 'nobody'}`
      },
    })
    for (const topic of ['a', 'none']) valueOf(await host.call('echo', { topic }))
    valueOf(await host.call('echo', { topic: 'a' }, { agent }))
    expect(configs).toEqual([
      { configurable: { thread_id: 'a/nobody' } },
      {},
      { configurable: { thread_id: `a/${agent.id}` } },
    ])
    expect(Object.keys(seen[0] ?? {})).toEqual(['tool'])
    expect(seen[2]).toEqual({ tool: 'echo', agent, sessionId: agent.id })
  })

  it('that are missing are told before a node runs (4.3 row 23)', async () => {
    const node = vi.fn(() => 1)
    const { call } = await mounted({
      parameters: { input: { type: 'json' } },
      build: () => endingWith(node).compile({ checkpointer: new MemorySaver() }),
    })
    const { code, message } = errorOf(await call({ input: 1 }))
    expect(code).toBe('GRAPH_THREAD')
    expect(message).toContain('has a checkpointer but the call has no thread; give its definition a threadId')
    expect(node).not.toHaveBeenCalled()
    const bound = await mounted({
      build: () => remembering().withConfig({ configurable: { thread_id: 'bound' } }),
    })
    expect(valueOf(await bound.call({ topic: 'x' }))).toMatchObject({ topic: 'x' })
  })

  it('that an async function picks are refused, and its failure does not end the process', async () => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    const threadId = (async () => Promise.reject(new Error('late'))) as unknown as () => string
    const { call } = await mounted({ threadId })
    expect(errorOf(await call({ topic: 'x' })).message).toContain('must return a non-empty string')
    await new Promise((done) => setImmediate(done))
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })

  it.each([
    [() => 7 as unknown as string, 'must return a non-empty string or undefined'],
    [() => '', 'must return a non-empty string or undefined'],
    [
      () => {
        throw new Error('no session')
      },
      'threw: no session',
    ],
  ])('that a function gets wrong are refused (%#)', async (threadId, text) => {
    const { call } = await mounted({ threadId })
    const { code, message } = errorOf(await call({ topic: 'x' }))
    expect([code, message]).toEqual(['GRAPH_THREAD', expect.stringContaining(text)])
  })
})
