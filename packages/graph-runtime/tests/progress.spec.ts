import { Annotation, entrypoint, interrupt, MemorySaver, START, StateGraph } from '@langchain/langgraph'
import { describe, expect, it, vi } from 'vitest'
import { createGraphDefinition, createGraphTool, type GraphLike, type GraphProgress } from '../src/index.ts'
import { echoBuilder } from './graphs.ts'
import { bootAgents, bootGraphs, createAgent, errorOf, valueOf, type Host } from './host.ts'
import { answering, loadQuestions } from './person.ts'

const State = Annotation.Root({
  input: Annotation<unknown>,
  log: Annotation<string[]>({ reducer: (left, right) => [...left, ...right], default: () => [] }),
})

const chain = () =>
  new StateGraph(State)
    .addNode('one', (_state, config) => {
      config.writer?.({ half: 1 })
      return { log: ['one'] }
    })
    .addNode('two', (state) => {
      if (state.input === 'break') throw new Error('boom')
      return { log: ['two'] }
    })
    .addEdge(START, 'one')
    .addEdge('one', 'two')

function mount(host: Host, build: () => GraphLike, options: object = {}) {
  const definition = createGraphDefinition({
    name: 'g',
    description: 'd',
    parameters: { input: { type: 'json' } },
    asTool: true,
    build,
    ...options,
  })
  return host.graphTools().mount(definition, host.ctx)
}

/** A builder whose nodes are named at run time. */
interface NodesByName {
  addNode(name: string, run: () => unknown): NodesByName
  addEdge(from: string, to: string): NodesByName
}

function steps(news: readonly GraphProgress[]): string[] {
  return news.map(({ phase, node }) => (node === undefined ? phase : `${phase} ${node}`))
}

describe('graphTools/progress', () => {
  it('tells when the run and each of its nodes begin and end, and what nodes write', async () => {
    const host = await bootGraphs()
    mount(host, chain)
    const news: GraphProgress[] = []
    host.ctx.on('graphTools/progress', (progress) => void news.push(progress))
    const result = await host.call('g', { input: 1 })
    expect(valueOf(result)).toEqual({ input: 1, log: ['one', 'two'] })
    expect(steps(news)).toEqual(['start', 'start one', 'custom', 'end one', 'start two', 'end two', 'end'])
    expect(news[2]).toEqual({
      tool: 'g',
      run: expect.any(String),
      callId: expect.any(String),
      phase: 'custom',
      custom: { half: 1 },
    })
    expect(new Set(news.map(({ run }) => run)).size).toBe(1)
    expect(news.every((one) => Object.isFrozen(one))).toBe(true)
    await host.call('g', { input: 1 })
    expect(new Set(news.map(({ run }) => run)).size).toBe(2)
  })

  it('comes while the nodes run, not afterwards', async () => {
    const host = await bootGraphs()
    const seen: string[] = []
    host.ctx.on('graphTools/progress', ({ phase, node }) => void seen.push(`${phase} ${node ?? ''}`))
    let during: string[] = []
    const build = () =>
      chain()
        .addNode('three', async () => {
          // News of a node come as soon as the node gives way.
          await new Promise((resolve) => setImmediate(resolve))
          during = [...seen]
          return {}
        })
        .addEdge('two', 'three')
    mount(host, build)
    valueOf(await host.call('g', { input: 1 }))
    expect(during).toContain('end two')
    expect(during).toContain('start three')
    expect(during).not.toContain('end three')
  })

  it('tells of a failure, which passes as it is (R73)', async () => {
    const host = await bootGraphs()
    const news: GraphProgress[] = []
    host.ctx.on('graphTools/progress', (progress) => void news.push(progress))
    mount(host, chain)
    expect(errorOf(await host.call('g', { input: 'break' }))).toEqual({ code: undefined, message: 'boom' })
    expect(steps(news).slice(-3)).toEqual(['start two', 'error two', 'error'])
    expect(news.at(-2)?.error).toBe('boom')
  })

  it('names each node of a step that failed the run, whatever it threw, and none that was left behind', async () => {
    const host = await bootGraphs()
    const news: GraphProgress[] = []
    host.ctx.on('graphTools/progress', (progress) => void news.push(progress))
    const failing = (...thrown: readonly unknown[]) => {
      const builder: NodesByName = new StateGraph(State)
      for (const [index, value] of thrown.entries()) {
        const throwing = () => {
          if (value === undefined) return new Promise<object>(() => undefined)
          throw value
        }
        builder.addNode(`n${index}`, throwing).addEdge(START, `n${index}`)
      }
      return builder as unknown as GraphLike
    }
    const failed = async (...thrown: readonly unknown[]) => {
      const entry = mount(host, () => failing(...thrown))
      news.length = 0
      errorOf(await host.call('g', { input: 1 }))
      await entry.dispose()
      return news.flatMap(({ phase, node, error }) =>
        node && phase !== 'start' ? [[phase, node, error]] : [],
      )
    }
    expect(await failed(new Error('boom'), undefined)).toEqual([['error', 'n0', 'boom']])
    expect((await failed(new Error('boom'), new TypeError('bang'))).toSorted()).toEqual([
      ['error', 'n0', 'boom'],
      ['error', 'n1', 'bang'],
    ])
    expect(await failed('text')).toEqual([['error', 'n0', expect.stringContaining("on string 'text'")]])
  })

  it('blames no node for an abort', async () => {
    const host = await bootGraphs()
    const news: GraphProgress[] = []
    const controller = new AbortController()
    host.ctx.on('graphTools/progress', (progress) => {
      news.push(progress)
      if (progress.node === 'wait') controller.abort(new Error('enough'))
    })
    const wait = () => new Promise<object>(() => undefined)
    mount(host, () => new StateGraph(State).addNode('wait', wait).addEdge(START, 'wait'))
    const { signal } = controller
    expect(errorOf(await host.call('g', { input: 1 }, { signal })).message).toContain('enough')
    expect(steps(news)).toEqual(['start', 'start wait', 'error'])
  })

  it('is not disturbed by listeners that throw or reject, and they are named in the log', async () => {
    const host = await bootGraphs()
    const heard = vi.fn()
    host.ctx.on('graphTools/progress', () => {
      throw new Error('listener bug')
    })
    // oxlint-disable-next-line typescript/no-misused-promises -- authors do
    host.ctx.on('graphTools/progress', async () => {
      throw new Error('late bug')
    })
    host.ctx.on('graphTools/progress', heard)
    mount(host, echoBuilder, { parameters: { topic: { type: 'string' } } })
    expect(valueOf(await host.call('g', { topic: 'x' }))).toEqual({ topic: 'x', log: ['seen:x'] })
    expect(heard).toHaveBeenCalledTimes(4)
    expect(new Set(host.warnings())).toEqual(
      new Set([
        'a listener of graphTools/progress failed: listener bug',
        'a listener of graphTools/progress failed: late bug',
      ]),
    )
  })

  it('is streamed only while somebody listens (R69)', async () => {
    const host = await bootGraphs()
    const compiled = chain().compile()
    const [invoke, stream] = [vi.spyOn(compiled, 'invoke'), vi.spyOn(compiled, 'stream')]
    mount(host, () => compiled)
    const modes = () => stream.mock.calls.map(([, config]) => (config as { streamMode?: unknown }).streamMode)
    const unwatched = valueOf(await host.call('g', { input: 1 }))
    expect([invoke.mock.calls.length, modes()]).toEqual([1, ['values']])
    const off = host.ctx.on('graphTools/progress', () => undefined)
    expect(valueOf(await host.call('g', { input: 1 }))).toEqual(unwatched)
    expect([invoke.mock.calls.length, modes()[1]]).toEqual([1, ['values', 'tasks', 'custom']])
    off()
    await host.call('g', { input: 1 })
    expect(invoke).toHaveBeenCalledTimes(2)
  })

  it('goes through questions and resumes as one run', async () => {
    const host = await bootGraphs()
    const news: GraphProgress[] = []
    host.ctx.on('graphTools/progress', (progress) => void news.push(progress))
    await loadQuestions(host.ctx, answering(() => ({ custom: 'aye' })).answer)
    const build = () =>
      new StateGraph(State)
        .addNode('ask', () => ({ log: [String(interrupt('Sail on?'))] }))
        .addEdge(START, 'ask')
        .compile({ checkpointer: new MemorySaver() })
    mount(host, build, { ephemeralThread: true })
    expect(valueOf(await host.call('g', { input: 1 }))).toEqual({ input: 1, log: ['aye'] })
    expect(steps(news)).toEqual(['start', 'start ask', 'interrupt ask', 'start ask', 'end ask', 'end'])
  })

  it('changes nothing about what a graph gives, an entrypoint’s scalar or nothing at all included', async () => {
    const host = await bootGraphs()
    const build = {
      flow: () => entrypoint('flow', async (input) => input),
      none: () => new StateGraph(State).addNode('idle', () => ({})).addEdge(START, 'idle'),
    }
    for (const name of ['flow', 'none'] as const) mount(host, build[name], { name, parameters: 'input' })
    const run = async () => [
      valueOf(await host.call('flow', { input: 5 })),
      errorOf(await host.call('none', { input: {} })).message,
    ]
    const unwatched = await run()
    const news: GraphProgress[] = []
    host.ctx.on('graphTools/progress', (progress) => void news.push(progress))
    expect(await run()).toEqual(unwatched)
    expect(unwatched[0]).toBe(5)
    expect(steps(news)).toContain('end idle')
  })

  it('tells a breakpoint from an end', async () => {
    const host = await bootGraphs()
    host.ctx.on('graphTools/progress', () => undefined)
    mount(host, () => chain().compile({ interruptBefore: ['two'] }))
    expect(errorOf(await host.call('g', { input: 1 })).code).toBe('GRAPH_INTERRUPTED')
  })

  it('reaches listeners of the calling agent and those of everybody, and no other agent’s', async () => {
    const host = await bootAgents()
    const [mine, other] = [await createAgent(host.ctx), await createAgent(host.ctx)]
    const heard: string[] = []
    host.ctx.on('graphTools/progress', ({ phase }) => void heard.push(`all ${phase}`))
    mine.ctx.on(
      'graphTools/progress',
      ({ phase, agent }) => void heard.push(`mine ${phase} ${agent === mine}`),
    )
    other.ctx.on('graphTools/progress', ({ phase }) => void heard.push(`other ${phase}`))
    mount(host, () => ({ invoke: async () => 1 }))
    await host.call('g', { input: 1 }, { agent: mine })
    expect(heard).toEqual(['all start', 'mine start true', 'all end', 'mine end true'])
  })

  it('reaches listeners for a graph that was converted by hand, through the calling agent', async () => {
    const host = await bootAgents()
    const agent = await createAgent(host.ctx)
    const heard: string[] = []
    host.ctx.on('graphTools/progress', ({ tool, phase }) => void heard.push(`${tool} ${phase}`))
    host.ctx.get('tools')?.register(createGraphTool({ invoke: async () => 1 }, { name: 'made' }))
    valueOf(await host.call('made', { input: 1 }, { agent }))
    valueOf(await host.call('made', { input: 1 }))
    expect(heard).toEqual(['made start', 'made end'])
  })
})

it('shows which graph runs, and through which nodes, on the card of a pending call', async () => {
  const host = await bootGraphs()
  const entry = mount(host, chain, { description: undefined })
  expect(entry.tool.presentCall?.({ input: 1 })).toEqual({
    card: 'generic',
    title: 'Graph g',
    kind: 'execute',
    rawInput: { input: 1 },
    content: [{ type: 'text', text: 'Nodes: one, two' }],
  })
  const unread = createGraphTool(chain(), { name: 'x', description: 'd', parameters: {} })
  expect(unread.presentCall?.({})).toEqual({
    card: 'generic',
    title: 'Graph x',
    kind: 'execute',
    rawInput: {},
  })
})
