/** Works that code graphs do: the real graph-runtime, the real store, no model. */
import * as graphRuntime from 'dsh-graph-runtime'
import { createGraphDefinition, type GraphDefinitionOptions } from 'dsh-graph-runtime'
import { describe, expect, it } from 'vitest'
import { Host, temporaryFolder, textOf, until } from './host.ts'

/** A graph by shape: anything with `invoke` is one. */
function graphOf(name: string, invoke: (input: unknown, config?: object) => Promise<unknown>, more = {}) {
  const options: GraphDefinitionOptions = { name, build: () => ({ invoke }), asOperator: true, ...more }
  return createGraphDefinition(options)
}

async function hostWith(graphs: readonly ReturnType<typeof graphOf>[], folder?: string): Promise<Host> {
  const host = await Host.boot({
    ...(folder === undefined ? {} : { folder }),
    prepare: async (ctx) => {
      await ctx.plugin(graphRuntime)
      for (const graph of graphs) ctx.graphTools.mount(graph, ctx)
    },
  })
  return host
}

/** Runs until its signal fires, as a LangGraph graph does. */
function endlessly(config: object | undefined): Promise<never> {
  const { signal } = config as { signal: AbortSignal }
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}

function keyIn(config: object | undefined): unknown {
  return (config as { configurable?: { idempotencyKey?: string } }).configurable?.idempotencyKey
}

const listing = graphOf('listing', async () => ['red', 'green', 'blue'])
const double = graphOf('double', async (input) => ({ twice: (input as { n: number }).n * 2 }), {
  parameters: { n: { type: 'integer', required: true } },
})

describe('a work for a code graph', () => {
  it('runs it with its own arguments and keeps what it answers', async () => {
    const host = await hostWith([double])
    const root = await host.root()
    await host.add(root, { workId: 'a', instruction: 'double it', graphName: 'double', args: { n: 21 } })
    const work = await host.whenWork('a', 'completed')
    const { graphId } = await host.graph()
    const page = await host.ctx.graphControl.readResult(graphId, work.recordIds[0] ?? '')
    expect(JSON.parse(page.text)).toEqual({ twice: 42 })
    expect(host.isLive(await host.sessionOf('a'))).toBe(false)
    expect(host.model.requests).toEqual([])
  })

  it('is refused before the commit for a graph that is not there, or arguments it cannot take', async () => {
    const secret = graphOf('secret', async () => 'x', { asOperator: false })
    const host = await hostWith([double, secret])
    const root = await host.root()
    const ask = async (fields: object) =>
      textOf(
        await host.call(root, 'update_agent_graph', {
          addWork: [{ workId: 'a', instruction: 'x', ...fields }],
        }),
      )
    expect(await ask({ graphName: 'secret' })).toContain('unknown graphName "secret"; available: double')
    expect(await ask({ graphName: 'double', args: { n: 'many' } })).toMatch(/addWork\[0\]\.args: .*n/)
    expect(await ask({ agentId: 'default', args: { n: 1 } })).toContain('args are for a code graph')
    expect(await host.ctx.graphControl.currentEpoch('root')).toBeUndefined()
  })

  it('hands a list on item by item', async () => {
    const host = await hostWith([listing])
    const root = await host.root()
    await host.add(
      root,
      { workId: 'list', instruction: 'list the colours', graphName: 'listing' },
      { workId: 'each', instruction: 'describe it', inputIds: ['list'], forEach: 'list' },
      { workId: 'sum', instruction: 'sum up', inputIds: ['each'] },
    )
    await host.whenWork('sum', 'completed')
    const each = await host.work('each')
    expect(each).toMatchObject({ status: 'completed', itemWorkIds: ['each#1', 'each#2', 'each#3'] })
    expect(each.recordIds).toHaveLength(3)
    const sum = await host.graph()
    expect(sum.works.get('sum')?.status).toBe('completed')
    const prompts = await Promise.all(
      ['red', 'green', 'blue'].map(async (colour) =>
        host.model.requests.some((request) => JSON.stringify(request).includes(`\\n${colour}\\n</input>`)),
      ),
    )
    expect(prompts).toEqual([true, true, true])
  })

  it('is stopped at once', async () => {
    const reached = Promise.withResolvers<AbortSignal>()
    const endless = graphOf('endless', (_input, config) => {
      reached.resolve((config as { signal: AbortSignal }).signal)
      return endlessly(config)
    })
    const host = await hostWith([endless])
    const root = await host.root()
    await host.add(root, { workId: 'a', instruction: 'x', graphName: 'endless' })
    const signal = await reached.promise
    await host.stop(root, 'a', 'enough')
    await until(() => signal.aborted, 'the graph to be told')
    expect(await host.work('a')).toMatchObject({ status: 'stopped', reason: 'enough' })
    await until(async () => (await host.graph()).live.claims.size === 0, 'the claim to end')
  })

  it('that was cut off by a crash runs again as another attempt, or waits for a person', async () => {
    const folder = await temporaryFolder()
    const reached: string[] = []
    const keys: unknown[] = []
    const stuck = graphOf('stuck', (input, config) => {
      reached.push(String(input))
      if (input === 'again') keys.push(keyIn(config))
      return endlessly(config)
    })
    const before = await hostWith([stuck], folder)
    const root = await before.keptRoot()
    await before.add(
      root,
      { workId: 'again', instruction: 'again', graphName: 'stuck' },
      { workId: 'ask', instruction: 'ask', graphName: 'stuck', replay: 'confirm' },
    )
    await until(() => reached.length === 2, 'both to run')

    const remains = await before.remains()
    const ran: string[] = []
    const quick = graphOf('stuck', async (input, config) => {
      ran.push(String(input))
      keys.push(keyIn(config))
      return 'done'
    })
    const after = await hostWith([quick], remains)
    await after.root('root', { resume: true })
    expect(await after.whenWork('again', 'completed')).toMatchObject({ recordIds: [expect.any(String)] })
    await until(
      async () => [...(await after.graph()).claims.values()].some((claim) => claim.hold !== undefined),
      'a hold',
    )
    expect(ran).toEqual(['again'])
    const claims = [...(await after.graph()).claims.values()]
    expect(claims.find((claim) => claim.workId === 'again')?.attempt).toBe(2)
    // The same deed: whatever the graph hands its key to does it once.
    expect(keys).toEqual([expect.stringMatching(/^graph_claim_/u), keys[0]])
    expect(claims.find((claim) => claim.workId === 'ask')).toMatchObject({
      attempt: 1,
      hold: { kind: 'person' },
    })
  })
})
