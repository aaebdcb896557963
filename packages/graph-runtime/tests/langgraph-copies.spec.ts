import { createRequire } from 'node:module'
import * as newest from '@langchain/langgraph'
import * as oldest from 'langgraph-1-0'
import { describe, expect, it } from 'vitest'
import { createGraphDefinition, createGraphTool, type GraphLike, type GraphProgress } from '../src/index.ts'
import { topicOnly } from './graphs.ts'
import { bootGraphs, define, errorOf, valueOf, type Host } from './host.ts'
import { offered } from './offered.ts'
import { answering, loadQuestions } from './person.ts'
import { z } from './zod.ts'

/** What the tests use of a copy; every copy has types of its own. */
type Copy = typeof newest

const required = createRequire(import.meta.url)('@langchain/langgraph') as Copy

const COPIES: readonly (readonly [string, Copy])[] = [
  ['the copy that the package depends on', newest],
  ['the same one, loaded as CommonJS', required],
  ['an older one of the same major version', oldest as unknown as Copy],
]

function stateOf({ Annotation }: Copy) {
  return Annotation.Root({
    topic: Annotation<string>,
    log: Annotation<string[]>({ reducer: (left, right) => [...left, ...right], default: () => [] }),
  })
}

function echo(copy: Copy) {
  return new copy.StateGraph(stateOf(copy))
    .addNode('echo', ({ topic }) => ({ log: [`seen:${topic}`] }))
    .addEdge(copy.START, 'echo')
}

function asking(copy: Copy) {
  return new copy.StateGraph(stateOf(copy))
    .addNode('one', () => ({ log: [`one:${String(copy.interrupt('One?'))}`] }))
    .addNode('two', () => ({ log: [`two:${String(copy.interrupt('Two?'))}`] }))
    .addEdge(copy.START, 'one')
    .addEdge(copy.START, 'two')
    .compile({ checkpointer: new copy.MemorySaver() })
}

function mount(host: Host, name: string, build: () => GraphLike, options: object = {}) {
  const definition = createGraphDefinition({
    name,
    description: 'd',
    parameters: topicOnly,
    asTool: true,
    build,
    ...options,
  })
  return host.graphTools().mount(definition, host.ctx)
}

describe.each(COPIES)('a graph of LangGraph, %s,', (_, copy) => {
  it('is read, compiled and run', async () => {
    const host = await bootGraphs()
    define({ name: 'echo', asTool: true, parameters: topicOnly, build: () => echo(copy) as GraphLike })
    expect(host.graphTools().get('echo')).toMatchObject({
      description: 'Runs the graph "echo" with nodes: echo. State keys: topic, log (accumulated).',
    })
    expect(valueOf(await host.call('echo', { topic: 'x' }))).toEqual({ topic: 'x', log: ['seen:x'] })
    expect(host.graphTools().describe('echo')).toMatchObject({
      edges: [{ from: '__start__', to: 'echo' }, { from: 'echo' }],
    })
  })

  it('gives parameters from its zod state, whose bounds hold', async () => {
    const Graph = copy.StateGraph as unknown as new (state: object) => ReturnType<typeof echo>
    const state = z.object({ topic: z.string().min(3), count: z.number().optional() })
    const { schema, call } = await offered(() =>
      new Graph(state).addNode('keep', () => ({})).addEdge(copy.START, 'keep' as never),
    )
    expect(Object.keys(schema.properties ?? {})).toEqual(['topic', 'count'])
    expect(errorOf(await call({ topic: 'x' })).code).toBe('INVALID_ARGS')
    expect(valueOf(await call({ topic: 'moss' }))).toEqual({ topic: 'moss' })
  })

  it('asks several questions at once and goes on with the answers', async () => {
    const host = await bootGraphs()
    const { answer } = answering((question) => ({ custom: `to ${question.question}` }))
    await loadQuestions(host.ctx, answer)
    mount(host, 'asks', () => asking(copy) as GraphLike, { ephemeralThread: true })
    expect(valueOf(await host.call('asks', { topic: 'x' }))).toEqual({
      topic: 'x',
      log: ['one:to One?', 'two:to Two?'],
    })
  })

  it('is never taken for finished while it asks', async () => {
    const host = await bootGraphs()
    mount(host, 'asks', () => asking(copy) as GraphLike, { ephemeralThread: true })
    expect(errorOf(await host.call('asks', { topic: 'x' })).code).toBe('GRAPH_INTERRUPTED')
  })

  it('tells its progress, and which node failed', async () => {
    const host = await bootGraphs()
    const news: GraphProgress[] = []
    host.ctx.on('graphTools/progress', (progress) => void news.push(progress))
    const failing = () =>
      echo(copy)
        .addNode('fail', () => {
          throw new Error('boom')
        })
        .addEdge('echo', 'fail')
    mount(host, 'fails', () => failing() as GraphLike)
    expect(errorOf(await host.call('fails', { topic: 'x' })).message).toBe('boom')
    expect(news.map(({ phase, node }) => `${phase} ${node ?? ''}`)).toEqual([
      'start ',
      'start echo',
      'end echo',
      'start fail',
      'error fail',
      'error ',
    ])
  })

  it('tells the end of a node that wrote nothing', async () => {
    const host = await bootGraphs()
    const seen: string[] = []
    host.ctx.on('graphTools/progress', ({ phase, node }) => void seen.push(`${phase} ${node ?? ''}`))
    const build = () =>
      new copy.StateGraph(stateOf(copy))
        .addNode('idle', () => ({}))
        .addNode('last', () => ({}))
        .addEdge(copy.START, 'idle')
        .addEdge('idle', 'last')
    mount(host, 'idle', () => build() as GraphLike)
    valueOf(await host.call('idle', { topic: 'x' }))
    expect(seen).toEqual(['start ', 'start idle', 'end idle', 'start last', 'end last', 'end '])
  })

  it('remembers on its own checkpointer, also when a node of another copy calls it', async () => {
    const host = await bootGraphs()
    const outer = copy === newest ? (oldest as unknown as Copy) : newest
    const inner = createGraphTool(echo(copy).compile({ checkpointer: new copy.MemorySaver() }) as GraphLike, {
      name: 'inner',
      description: 'd',
      parameters: topicOnly,
      threadId: 'own',
    })
    const exec = { signal: new AbortController().signal } as Parameters<typeof inner.execute>[1]
    const build = () =>
      new outer.StateGraph(stateOf(outer))
        .addNode('call', async ({ topic }) => {
          const { log } = (await inner.execute({ topic }, exec)) as { log: string[] }
          return { log: [log.join()] }
        })
        .addEdge(outer.START, 'call')
        .compile({ checkpointer: new outer.MemorySaver() })
    mount(host, 'outer', () => build() as GraphLike, { ephemeralThread: true })
    expect(valueOf(await host.call('outer', { topic: 'a' }))).toEqual({ topic: 'a', log: ['seen:a'] })
    expect(valueOf(await host.call('outer', { topic: 'b' }))).toEqual({ topic: 'b', log: ['seen:a,seen:b'] })
  })
})

it('graphs of several copies run side by side in one host', async () => {
  const host = await bootGraphs()
  for (const [index, [, copy]] of COPIES.entries())
    mount(host, `echo_${index}`, () => echo(copy) as GraphLike)
  const names = COPIES.map((_, index) => `echo_${index}`)
  const calls = Array.from({ length: 30 }, (_, at) =>
    host.call(names[at % names.length] ?? '', { topic: `t${at}` }),
  )
  const values = (await Promise.all(calls)).map(valueOf)
  expect(values).toEqual(values.map((_, at) => ({ topic: `t${at}`, log: [`seen:t${at}`] })))
  expect(oldest.StateGraph).not.toBe(newest.StateGraph)
})
