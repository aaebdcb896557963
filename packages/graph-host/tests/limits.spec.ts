/** Ceilings of graphs and roots: what they refuse, what they end, and that nobody reaches into another's graph. */
import type { Agent } from '@deepseek-ai/dsh-agent'
import * as graphRuntime from 'dsh-graph-runtime'
import { createGraphDefinition } from 'dsh-graph-runtime'
import type { GraphLimits } from 'dsh-tool-graph'
import { describe, expect, it } from 'vitest'
import type { Config } from '../src/index.ts'
import { Host, settleDown, textOf, until, wakesOf, type HostOptions } from './host.ts'

const limited = (limits: GraphLimits, more: Partial<Config> = {}): HostOptions => ({
  config: { limits, ...more },
})

const gate = (workId: string, more: object = {}) => ({
  workId,
  instruction: `stand at gate ${workId}`,
  ...more,
})

async function refusal(host: Host, root: Agent, args: object): Promise<string> {
  const result = await host.call(root, 'update_agent_graph', args)
  expect(result.isError).toBe(true)
  return textOf(result)
}

describe('the operators of a graph', () => {
  it('are counted before a commit, with those that works will need', async () => {
    const host = await Host.boot(limited({ maxOperators: 2 }))
    const root = await host.root()
    await host.add(root, gate('a'), { workId: 'b', instruction: 'x', inputIds: ['a'] })
    const text = await refusal(host, root, { addWork: [gate('c')] })
    expect(text).toContain('[limit_reached] the graph would need 3 operators, at most 2 are allowed')
    expect((await host.graph()).works.size).toBe(2)
    await host.gates.reached('a')
    const { operatorId } = await host.work('a')
    await host.add(root, { workId: 'd', instruction: 'x', targetKind: 'existing_operator', operatorId })
  })

  it('end with the items of a list: those beyond the ceiling are stopped, and the root reads why', async () => {
    const options = { name: 'listing', build: () => ({ invoke: async () => ['red', 'green', 'blue'] }) }
    const listing = createGraphDefinition({ ...options, asOperator: true })
    const host = await Host.boot({
      ...limited({ maxOperators: 3 }),
      prepare: async (ctx) => {
        await ctx.plugin(graphRuntime)
        ctx.graphTools.mount(listing, ctx)
      },
    })
    const root = await host.root()
    await host.add(
      root,
      { workId: 'list', instruction: 'list', graphName: 'listing' },
      { workId: 'each', instruction: 'describe it', inputIds: ['list'], forEach: 'list' },
    )
    await until(async () => (await host.graph()).counts.pending === 0)
    const graph = await host.graph()
    expect(graph.operators.size).toBe(3)
    const stopped = [...graph.works.values()].filter(({ status }) => status === 'stopped')
    expect(stopped.map(({ reason }) => reason)).toContain('limit_reached: the graph has its 3 operators')
    await until(() => wakesOf(root).some(({ text }) => text.includes('limit_reached')))
  })
})

describe('the graphs of a root', () => {
  it('are as many as it may open', async () => {
    const host = await Host.boot(limited({ maxGraphs: 1 }))
    const root = await host.root()
    await host.add(root, { workId: 'a', instruction: 'do it' })
    await host.whenWork('a', 'completed')
    await host.call(root, 'update_agent_graph', { finish: { resultIds: ['a'], reason: 'done' } })
    const text = await refusal(host, root, { addWork: [gate('b')] })
    expect(text).toContain('[limit_reached] this session has opened 1 graphs, at most 1 are allowed')
    expect(await host.ctx.graphControl.listEpochs('root')).toHaveLength(1)
  })
})

describe('the time of a graph', () => {
  it('ends its works where it is over, wakes the root once, and no more is added', async () => {
    const host = await Host.boot(limited({ maxGraphMs: 1_000 }))
    const root = await host.root()
    await host.add(root, gate('a'), { workId: 'b', instruction: 'x', inputIds: ['a'] })
    await host.gates.reached('a')
    const { reason } = await host.whenWork('a', 'stopped')
    expect(reason).toBe('limit_reached: the graph passed its time of 1000 ms')
    expect((await host.work('b')).status).toBe('stopped')
    await until(() => host.gates.cancelled.includes('a'), 'the operator is stopped')
    await until(() => wakesOf(root).length === 1)
    await settleDown()
    expect(wakesOf(root)).toHaveLength(1)
    expect(await refusal(host, root, { addWork: [gate('c')] })).toContain('[limit_reached]')
    expect(await refusal(host, root, { retry: [{ workId: 'a', reason: 'again' }] })).toContain(
      '[limit_reached]',
    )
  })

  it('takes back the turns that the root wanted at a later time', async () => {
    const host = await Host.boot(limited({ maxGraphMs: 1_000 }))
    const root = await host.root()
    await host.add(root, { workId: 'a', instruction: 'do it' })
    await until(() => wakesOf(root).length === 1 && root.status === 'idle')
    const { changeSeq, graphId } = await host.graph()
    const wakeId = 'graph_wake_later'
    await host.ctx.graphControl.scheduleSupervisorWake({
      graphId,
      wakeId,
      snapshotVersion: changeSeq,
      rootSessionId: 'root',
      dueAt: Date.now() + 3_600_000,
    })
    await until(async () => (await host.graph()).wakes.get(wakeId)?.status === 'superseded')
    expect(wakesOf(root)).toHaveLength(1)
  })
})

describe('the tokens of a graph', () => {
  it('are reserved before an operator begins: two fit, the third waits for one of them', async () => {
    const host = await Host.boot(limited({ maxTokens: 200_000, tokensPerActivation: 80_000 }))
    const root = await host.root()
    await host.add(root, gate('a'), gate('b'), gate('c'))
    await host.gates.reached('a')
    await host.gates.reached('b')
    await settleDown()
    expect(host.gates.arrivals).toEqual(['a', 'b'])
    const view = await host.call(root, 'view_agent_graph', {})
    expect(textOf(view)).toMatch(/- c \[ready\].*waits for tokens: the rest is reserved for works under way/u)
    host.gates.open('a')
    await host.gates.reached('c')
    const { usage } = await host.graph()
    expect(usage.inputTokens + usage.outputTokens).toBeGreaterThan(0)
  })

  it('end the graph where they are spent, whatever still waits', async () => {
    const host = await Host.boot(
      limited({ maxTokens: 10, tokensPerActivation: 10 }, { maxNewActivations: 1 }),
    )
    const root = await host.root()
    await host.add(root, { workId: 'a', instruction: 'do it' }, { workId: 'b', instruction: 'do it too' })
    await host.whenWork('a', 'completed')
    const { reason } = await host.whenWork('b', 'stopped')
    expect(reason).toMatch(/^limit_reached: the graph spent \d+ of its 10 tokens$/u)
    expect(await refusal(host, root, { addWork: [gate('c')] })).toContain('[limit_reached]')
  })

  it('are reserved for each attempt: one that was lost is not repeated without room', async () => {
    const host = await Host.boot(limited({ maxTokens: 100, tokensPerActivation: 60 }))
    const root = await host.root()
    await host.add(root, gate('a'))
    await host.gates.reached('a')
    await host.ctx.agents.get((await host.operatorOf('a')).id)?.cancel({ kind: 'disposed' })
    const { reason } = await host.whenWork('a', 'failed')
    expect(reason).toContain('limit_reached: the graph has no room for another')
    expect(host.gates.arrivals).toEqual(['a'])
  })
})

describe('a work that waits for a person', () => {
  it('keeps no tokens from the others', async () => {
    const host = await Host.boot(limited({ maxTokens: 100_000, tokensPerActivation: 60_000 }))
    const root = await host.root()
    await host.add(root, gate('a', { replay: 'confirm' }))
    await host.gates.reached('a')
    ;(await host.operatorOf('a')).cancel({ kind: 'disposed' })
    await until(async () => [...(await host.graph()).claims.values()][0]?.hold !== undefined)
    await host.add(root, gate('b'), gate('c'))
    await host.gates.reached('b')
    await settleDown()
    // There is room for one of the two.
    expect(host.gates.arrivals).toEqual(['a', 'b'])
    expect((await host.work('a')).status).toBe('running')
  })
})

describe('the graph of another root', () => {
  it('is neither shown nor changed, nor are its operators used', async () => {
    const host = await Host.boot()
    const [one, two] = [await host.root('one'), await host.root('two')]
    await host.add(one, gate('a'))
    await host.gates.reached('a')
    const { graphId } = await host.graph('one')
    const { operatorId } = await host.work('a', 'one')
    expect((await host.call(two, 'view_agent_graph', { graphId })).value).toMatchObject({
      known: false,
      live: [],
    })
    expect(await refusal(host, two, { graphId, stop: [{ targetId: 'a', reason: 'x' }] })).toContain(
      '[unknown_graph]',
    )
    const follow = { workId: 'b', instruction: 'x', targetKind: 'existing_operator', operatorId }
    expect(await refusal(host, two, { addWork: [follow] })).toContain(operatorId)
    expect(textOf(await host.call(two, 'yield_agent_graph', { graphId }))).toContain('[unknown_graph]')
    expect((await host.work('a', 'one')).status).toBe('running')
  })
})
