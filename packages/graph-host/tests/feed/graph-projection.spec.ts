import { Context } from '@deepseek-ai/cordis'
import { expect, it } from 'vitest'
import {
  afterEvent,
  NO_GRAPHS,
  parseGraphs,
  registerGraphsProjection,
} from '../../src/feed/graph-projection.ts'

const result = (graphId: string, works: number, terminal: number, phase = 'open') => ({
  type: 'tool/result',
  data: {
    meta: { plugin: 'dsh-graph', version: 1, call: 'view', graphId, phase, counts: { works, terminal } },
  },
})

it('keeps how each graph of a session stood last, in order', () => {
  const events = [result('one', 3, 0), result('two', 1, 0), result('one', 3, 3, 'closed')]
  expect(events.reduce(afterEvent, NO_GRAPHS)).toEqual({
    graphs: [
      { graphId: 'one', phase: 'closed', works: 3, ended: 3 },
      { graphId: 'two', phase: 'open', works: 1, ended: 0 },
    ],
  })
})

it('keeps the newest graphs of a session that has many', () => {
  const many = Array.from({ length: 40 }, (_, at) => result(`g${at}`, 1, 0))
  const { graphs } = many.reduce(afterEvent, NO_GRAPHS)
  expect(graphs).toHaveLength(16)
  expect(graphs.at(-1)?.graphId).toBe('g39')
})

it.each([
  ['another event', { type: 'turn/start', data: { turn: 1 } }],
  ['the result of another tool', { type: 'tool/result', data: { meta: { plugin: 'other' } } }],
  ['a result without metadata', { type: 'tool/result', data: {} }],
  ['nothing', { type: 'tool/result', data: null }],
])('is the same object after %s', (_, event) => {
  expect(afterEvent(NO_GRAPHS, event)).toBe(NO_GRAPHS)
})

it('refuses what is no state of it', () => {
  const state = afterEvent(NO_GRAPHS, result('one', 1, 0))
  expect(parseGraphs(JSON.parse(JSON.stringify(state)))).toEqual(state)
  for (const other of [null, {}, { graphs: [{ graphId: 'one' }] }, { graphs: 'one' }])
    expect(() => parseGraphs(other)).toThrow('no graphs of a session')
})

it('is there while the profile has projections, and the plugin', async () => {
  const ctx = new Context()
  const keys = new Set<string>()
  ctx.provide(
    'sessionProjections' as never,
    {
      register: ({ key }: { key: string }) => {
        keys.add(key)
        return () => keys.delete(key)
      },
    } as never,
  )
  const fiber = ctx.plugin({ name: 'user', apply: (own: Context) => registerGraphsProjection(own) })
  await fiber
  await new Promise((resolve) => setImmediate(resolve))
  expect([...keys]).toEqual(['dsh-graph'])
  await ctx.fiber.dispose()
})
