import {
  createAssistantMessage,
  createToolResultMessage,
  createUserMessage,
  CallId,
} from '@deepseek-ai/dsh-llm'
import { describe, expect, it, vi } from 'vitest'
import { createGraphDefinition, GraphRoutingAgent, GraphRoutingConfigError } from '../src/index.ts'
import { echoBuilder, topicOnly } from './graphs.ts'
import { createAgent, define } from './host.ts'
import { Annotation, MemorySaver, START, StateGraph } from '@langchain/langgraph'
import { bootRouting, bootRoutingAgents, bootTwo, calls, failureOf, type Said } from './routing-host.ts'

const user = (text: string) =>
  createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } })

describe('a routing', () => {
  it('runs the graph that the model chose and gives its name, arguments and final state (R101)', async () => {
    const host = await bootRouting([calls('echo_graph', { topic: 'moss' })])
    define({ name: 'echo_graph', build: echoBuilder, parameters: topicOnly })
    const router = new GraphRoutingAgent(host.ctx, { provider: 'test', model: 'm-1' })
    const outcome = await router.route({ input: 'echo moss for me' })
    expect(outcome).toMatchObject({
      tool: 'echo_graph',
      args: { topic: 'moss' },
      result: { topic: 'moss', log: ['seen:moss'] },
    })
    expect(outcome).not.toHaveProperty('fallback')
    expect(host.requests[0]).toMatchObject({ provider: 'test', model: 'm-1' })
    expect(host.requests[0]?.messages.at(-1)?.content).toEqual([{ type: 'text', text: 'echo moss for me' }])
  })

  it('is one choice: the result is not fed back to the model (R102)', async () => {
    const host = await bootTwo([calls('search_graph')])
    await host.router().route({ input: 'x' })
    expect(host.requests).toHaveLength(1)
  })

  it('offers the listed graphs in order and nothing of ctx.tools (R103)', async () => {
    const host = await bootTwo([calls('search_graph')])
    host.graph({ name: 'tool_only', asTool: true, asGraphTool: false })
    host.graph({ name: 'both', asTool: true })
    expect(host.toolNames()).toEqual(['tool_only', 'both'])
    await host.router().route({ input: 'x' })
    expect(host.requests[0]?.tools?.map(({ name }) => name)).toEqual(['echo_graph', 'search_graph', 'both'])
    expect(host.requests[0]?.tools?.[0]).toEqual({
      name: 'echo_graph',
      description: 'The graph echo_graph.',
      parameters: { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] },
    })
  })

  it('does not pass through the pipeline of ctx.tools (R118)', async () => {
    const host = await bootRouting([calls('both')])
    host.graph({ name: 'both', asTool: true })
    const seen = vi.fn()
    host.ctx.on('tools/pre-execute', (_exec, next) => (seen(), next()))
    host.ctx.on('tools/post-execute', (_exec, _result, next) => (seen(), next()))
    await host.router().route({ input: 'x' })
    expect(seen).not.toHaveBeenCalled()
    await host.call('both', {})
    expect(seen).toHaveBeenCalledTimes(2)
  })

  it('sees graphs that come and go between two calls', async () => {
    const host = await bootTwo([calls('search_graph'), calls('late')])
    const router = host.router()
    await router.route({ input: 'x' })
    host.graph({ name: 'late' })
    host.graphTools().unregister('echo_graph')
    expect(await router.route({ input: 'x' })).toMatchObject({ tool: 'late' })
    expect(host.requests[1]?.tools?.map(({ name }) => name)).toEqual(['search_graph', 'late'])
  })

  it('keeps two hundred routings of one router apart', async () => {
    const topicOf = (text: string) => ({ topic: text.slice(-4) })
    const host = await bootTwo(({ messages }) => {
      const [block] = messages.at(-1)?.content ?? []
      return calls('echo_graph', topicOf(block?.type === 'text' ? block.text : ''))
    })
    const router = host.router()
    const inputs = Array.from({ length: 200 }, (_, i) => `echo ${1000 + i}`)
    const outcomes = await Promise.all(inputs.map((input) => router.route({ input })))
    expect(outcomes.map(({ args }) => args)).toEqual(inputs.map(topicOf))
  })
})

it('keeps fifty routings at a time with slow nodes on their own threads (4.3 row 25)', async () => {
  const host = await bootRouting(() => calls('who'))
  const State = Annotation.Root({ thread: Annotation<unknown> })
  host.graph({
    name: 'who',
    threadId: (_input, { request }) => request,
    build: () =>
      new StateGraph(State)
        .addNode('slow', async (_state, config) => {
          await new Promise((done) => setImmediate(done))
          return { thread: config.configurable?.['thread_id'] as unknown }
        })
        .addEdge(START, 'slow')
        .compile({ checkpointer: new MemorySaver() }),
  })
  const router = host.router()
  const inputs = Array.from({ length: 50 }, (_, at) => `thread ${at}`)
  const outcomes = await Promise.all(inputs.map((input) => router.route({ input })))
  expect(outcomes.map(({ result }) => result)).toEqual(inputs.map((thread) => ({ thread })))
})

describe('a request to the model', () => {
  it('never holds a tool choice, and every schema has an object at its root', async () => {
    // The model in process checks both of every request.
    const host = await bootRouting([calls('bare')])
    host.graph({ name: 'bare', parameters: {} })
    await host.router().route({ input: 'x' })
    expect(host.requests[0]?.tools?.[0]?.parameters).toEqual({ type: 'object', properties: {} })
  })

  it('carries the configured sampling, and nothing that was not configured', async () => {
    const host = await bootTwo(() => calls('search_graph'))
    await host.router().route({ input: 'x' })
    await host.router({ temperature: 0, maxTokens: 50, system: 'Pick.' }).route({ input: 'x' })
    expect(Object.keys(host.requests[0] ?? {}).toSorted()).toEqual(
      ['messages', 'model', 'provider', 'signal', 'system', 'tools'].toSorted(),
    )
    expect(host.requests[0]?.system).toContain('Always call a tool')
    expect(host.requests[1]).toMatchObject({ temperature: 0, maxTokens: 50, system: 'Pick.' })
  })

  it('is the same to the byte for the same request, so that a prompt cache holds', async () => {
    const host = await bootTwo(() => calls('search_graph'))
    const router = host.router()
    await router.route({ input: 'x' })
    await router.route({ input: 'x' })
    const [first, second] = host.requests.map(({ system, tools }) => JSON.stringify([system, tools]))
    expect(second).toBe(first)
  })

  it('puts the history before the request, the one of the call in place of the configured one', async () => {
    const host = await bootTwo(() => calls('search_graph'))
    const router = host.router({ history: [user('configured')] })
    await router.route({ input: 'x' })
    await router.route({ input: 'x', history: [user('of the call'), user('and more')] })
    const texts = host.requests.map(({ messages }) =>
      messages.map(({ content }) => Reflect.get(content[0] ?? {}, 'text')),
    )
    expect(texts).toEqual([
      ['configured', 'x'],
      ['of the call', 'and more', 'x'],
    ])
  })

  it('closes what a history cut out of a running turn leaves open', async () => {
    const source = { provider: 'test', model: 'm' }
    const call = (id: string) => ({
      type: 'tool-call' as const,
      id: CallId(id),
      name: 'read',
      arguments: '{}',
    })
    const result = (id: string) =>
      createToolResultMessage({ callId: CallId(id), content: [{ type: 'text', text: id }], isError: false })
    const mixed = createUserMessage({
      content: [
        { type: 'text', text: 'and' },
        { type: 'tool-result', toolCallId: CallId('b'), content: [{ type: 'text', text: 'b' }] },
      ],
      source: { kind: 'user' },
    })
    const history = [
      result('before'),
      createAssistantMessage({ content: [call('a'), call('b')], source }),
      result('a'),
      result('a'),
      mixed,
      createAssistantMessage({ content: [call('c'), call('d')], source }),
      result('d'),
    ]
    const host = await bootTwo([calls('search_graph')])
    await host.router({ history }).route({ input: 'x' })
    expect(host.told(0)).toEqual(['a', 'b', 'd', '(no result)'])
    expect(host.requests[0]?.messages.map(({ role }) => role)).toEqual([
      'assistant',
      'user',
      'user',
      'user',
      'assistant',
      'user',
      'user',
      'user',
    ])
  })
})

describe('an outcome', () => {
  it('adds up the tokens of all model calls and tells what became of each answer', async () => {
    const said: Said[] = [
      {
        text: 'Let me see.',
        calls: [{ name: 'nope' }],
        usage: { inputTokens: 10, outputTokens: 2, cacheReadTokens: 5 },
      },
      {
        calls: [{ name: 'search_graph', arguments: '' }, { name: 'echo_graph' }],
        usage: { inputTokens: 12, outputTokens: 3, reasoningTokens: 1 },
      },
    ]
    const host = await bootTwo(said)
    const { usage, attempts } = await host.router().route({ input: 'x' })
    expect(usage).toEqual({ inputTokens: 22, outputTokens: 5, cacheReadTokens: 5, reasoningTokens: 1 })
    expect(attempts).toEqual([
      {
        outcome: 'rejected',
        tool: 'nope',
        arguments: '{}',
        text: 'Let me see.',
        calls: 1,
        finish: 'tool-calls',
        usage: said[0]?.usage,
        repaired: [],
        rejection: 'UNKNOWN_TOOL',
        reason: 'tool "nope" does not exist; choose one of "echo_graph", "search_graph"',
      },
      {
        outcome: 'ran',
        tool: 'search_graph',
        arguments: '',
        calls: 2,
        finish: 'tool-calls',
        usage: said[1]?.usage,
        repaired: [],
      },
    ])
  })

  it('has zero tokens when the provider does not tell', async () => {
    const host = await bootTwo([calls('search_graph')])
    const { usage, attempts } = await host.router().route({ input: 'x' })
    expect(usage).toEqual({ inputTokens: 0, outputTokens: 0 })
    expect(attempts[0]).not.toHaveProperty('usage')
  })
})

describe('an agent', () => {
  it('has its own graphs offered, nearest first, and is told to graphs', async () => {
    const host = await bootRoutingAgents(() => calls('echo_graph'))
    const agent = await createAgent(host.ctx)
    const threads: unknown[] = []
    const options = {
      name: 'echo_graph',
      parameters: {},
      threadId: (_input: unknown, context: { sessionId?: string; request?: string }) => {
        threads.push([context.sessionId, context.request])
        return 'thread'
      },
    }
    host.graph({ name: 'echo_graph' })
    const own = createGraphDefinition({ ...options, build: () => ({ invoke: async () => 'its own' }) })
    host.graphTools().mount(own, agent.ctx)
    const router = host.router()
    expect(await router.route({ input: 'x', agent })).toMatchObject({ result: 'its own' })
    expect(threads).toEqual([[String(agent.id), 'x']])
    expect(await router.route({ input: 'x' })).toMatchObject({ result: { ran: 'echo_graph' } })
    const scoped = new GraphRoutingAgent(agent.ctx, { provider: 'test', model: 'm' })
    expect(await scoped.route({ input: 'x' })).toMatchObject({ result: 'its own' })
  })
})

describe('a router that is set up wrongly', () => {
  it('says everything that is wrong at once', async () => {
    const host = await bootTwo([])
    const config = {
      provider: '',
      model: 3,
      maxRetries: -1,
      multiple: 'all',
      repair: 'yes',
      stopOnRepeat: 1,
      history: [{}],
      system: ' ',
      temperature: Number.NaN,
      maxTokens: 0,
      reasoningEffort: '',
      fallback: { name: 'x' },
    }
    const make = () => new GraphRoutingAgent(host.ctx, config as never)
    expect(make).toThrow(GraphRoutingConfigError)
    for (const key of Object.keys(config)) expect(make).toThrow(new RegExp(`\\b${key}\\b`))
    expect(() => new GraphRoutingAgent({} as never, { provider: 'test', model: 'm' })).toThrow(/context/)
    expect(() => new GraphRoutingAgent(host.ctx, undefined as never)).toThrow(/provider and model/)
  })

  it('refuses a request without text before the model is called', async () => {
    const host = await bootTwo([])
    for (const request of [undefined, {}, { input: '' }, { input: ' \n' }, { input: 3 }]) {
      await expect(host.router().route(request as never)).rejects.toThrow(/needs input/)
    }
    await expect(host.router().route({ input: 'x', signal: {} as never })).rejects.toThrow(/AbortSignal/)
    await expect(host.router().route({ input: 'x', history: 'x' as never })).rejects.toThrow(/history/)
    expect(host.requests).toEqual([])
  })

  it('names the service that is missing', async () => {
    const { Context } = await import('@deepseek-ai/cordis')
    const ctx = new Context()
    const router = new GraphRoutingAgent(ctx, { provider: 'test', model: 'm' })
    const error = await failureOf(router.route({ input: 'x' }))
    expect(error).toMatchObject({ name: 'GraphRoutingConfigError', code: 'GRAPH_ROUTING_CONFIG' })
    expect(String(error)).toContain('ctx.graphTools')
    await ctx.fiber.dispose()
  })

  it('leaves the reasoning effort to the adapter that knows it', async () => {
    const host = await bootTwo([calls('search_graph')])
    const error = await failureOf(host.router({ reasoningEffort: 'immense' }).route({ input: 'x' }))
    expect(error).toMatchObject({ code: expect.stringContaining('EFFORT') as string })
  })
})
