/**
 * Two copies of LangGraph in one process, as a profile may have them: the one that this package's tests
 * import, and its CommonJS build, whose classes are others. What one copy knows of the other is shapes
 * and registered symbols.
 */
import { createRequire } from 'node:module'
import * as ours from '@langchain/langgraph'
import { describe, expect, it } from 'vitest'
import type { GraphDefinitionOptions } from '../src/index.ts'
import { bootGraphs, define, valueOf, type Host } from './host.ts'
import { answering, loadQuestions } from './person.ts'

type LangGraph = Pick<
  typeof ours,
  'Annotation' | 'InMemoryStore' | 'interrupt' | 'MemorySaver' | 'START' | 'StateGraph'
>

const theirs = createRequire(import.meta.url)('@langchain/langgraph') as LangGraph

const copies: readonly (readonly [string, LangGraph])[] = [
  ['our copy', ours],
  ['the other copy', theirs],
]

const pairs = copies.flatMap(([inner, innerCopy]) =>
  copies.map(([outer, outerCopy]) => [inner, outer, innerCopy, outerCopy] as const),
)

/** A graph that asks, and then notes what of the config of its nodes is not its own. */
function asking({ Annotation, interrupt, MemorySaver, START, StateGraph }: LangGraph) {
  const seen: unknown[] = []
  const saver = new MemorySaver()
  const note = (node: string, config: object) => {
    const { configurable, store } = config as { configurable?: Record<string, unknown>; store?: unknown }
    seen.push([node, configurable?.['thread_id'], configurable?.['secret'], store])
  }
  const State = Annotation.Root({ input: Annotation<unknown>, said: Annotation<unknown> })
  const graph = new StateGraph(State)
    .addNode('ask', (_state, config) => (note('ask', config), { said: interrupt('Sail on?') }))
    .addNode('after', (_state, config) => (note('after', config), {}))
    .addEdge(START, 'ask')
    .addEdge('ask', 'after')
    .compile({ checkpointer: saver })
  return { graph, seen, saver }
}

const parameters = { input: { type: 'json' } } satisfies GraphDefinitionOptions['parameters']

/** A graph whose node calls the tool `inner`, with everything that must not reach it. */
function calling(host: Host, { Annotation, InMemoryStore, MemorySaver, START, StateGraph }: LangGraph) {
  const State = Annotation.Root({ input: Annotation<unknown>, out: Annotation<unknown> })
  return new StateGraph(State)
    .addNode('call', async () => ({ out: valueOf(await host.call('inner', { input: 1 })) }))
    .addEdge(START, 'call')
    .compile({ checkpointer: new MemorySaver(), store: new InMemoryStore() })
}

it('are two copies', () => {
  expect(theirs.StateGraph).not.toBe(ours.StateGraph)
})

describe.each([
  ['unwatched', false],
  ['watched', true],
])('a graph within a graph, %s', (_label, watched) => {
  it.each(pairs)('of %s in %s asks, resumes, and stays apart', async (_inner, _outer, inner, outer) => {
    const host = await bootGraphs()
    await loadQuestions(host.ctx, answering(() => ({ custom: 'aye' })).answer)
    if (watched) host.ctx.on('graphTools/progress', () => undefined)
    const { graph, seen, saver } = asking(inner)
    define({ name: 'inner', parameters, asTool: true, threadId: 'inside', build: () => graph })
    define({
      name: 'outer',
      parameters,
      asTool: true,
      threadId: 'outside',
      configurable: { secret: 'outer' },
      build: () => calling(host, outer),
    })
    expect(valueOf(await host.call('outer', { input: 1 }))).toMatchObject({ out: { said: 'aye' } })
    expect(seen).toEqual([
      ['ask', 'inside', undefined, undefined],
      ['ask', 'inside', undefined, undefined],
      ['after', 'inside', undefined, undefined],
    ])
    expect(Object.keys(saver.storage)).toEqual(['inside'])
  })
})

it('draw the same picture and read the same state keys', async () => {
  const host = await bootGraphs()
  for (const [name, copy] of [
    ['ours', ours],
    ['theirs', theirs],
  ] as const) {
    define({ name, description: 'd', parameters: {}, threadId: 't', build: () => asking(copy).graph })
  }
  const [one, other] = ['ours', 'theirs'].map((name) => host.graphTools().describe(name))
  expect(one?.edges).toHaveLength(3)
  expect({ ...other, name: 'ours' }).toEqual(one)
})
