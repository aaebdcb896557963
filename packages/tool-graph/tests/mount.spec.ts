import { describe, expect, it } from 'vitest'
import { assembleContextFor } from '@deepseek-ai/dsh-agent'
import { createAgentGraphController, GRAPH_TOOLS } from '../src/index.ts'
import { bootDsh, callTool, HandExecutor, makeAgent, makeController, mountTools, textOf } from './host.ts'

type Ctx = Awaited<ReturnType<typeof bootDsh>>
type Agent = Awaited<ReturnType<typeof makeAgent>>

async function seen(ctx: Ctx, agent: Agent) {
  const assembly = await ctx.systemPrompt.assemble(assembleContextFor(agent))
  return {
    tools: assembly.tools.map((tool) => tool.name).filter((name) => GRAPH_TOOLS.has(name)),
    section: assembly.sections.some((section) => section.name === 'orchestration:graph'),
  }
}

describe('where tools and section are installed', () => {
  it('gives them to a root session and not to its child', async () => {
    const ctx = await bootDsh()
    await mountTools(ctx)
    const root = await makeAgent(ctx, 'root')
    const child = await makeAgent(ctx, 'child', root)
    expect(await seen(ctx, root)).toEqual({
      tools: ['update_agent_graph', 'view_agent_graph', 'yield_agent_graph'],
      section: true,
    })
    expect(await seen(ctx, child)).toEqual({ tools: [], section: false })
  })

  it('gives them to roots that are alive when the row loads, and takes them back when it goes', async () => {
    const ctx = await bootDsh()
    const root = await makeAgent(ctx, 'root')
    const row = await mountTools(ctx)
    expect((await seen(ctx, root)).tools).toHaveLength(3)
    await row.dispose()
    expect(await seen(ctx, root)).toEqual({ tools: [], section: false })
  })

  it('installs nothing when it is switched off', async () => {
    const ctx = await bootDsh()
    await mountTools(ctx, false)
    const root = await makeAgent(ctx, 'root')
    expect(await seen(ctx, root)).toEqual({ tools: [], section: false })
  })

  it('survives fifty rounds of unloading and loading', async () => {
    const ctx = await bootDsh()
    const root = await makeAgent(ctx, 'root')
    for (let round = 0; round < 50; round += 1) await (await mountTools(ctx)).dispose()
    await mountTools(ctx)
    expect((await seen(ctx, root)).tools).toHaveLength(3)
  })
})

describe('finding the controller', () => {
  it('answers [agent-graph-unavailable] without a host, and works once one appears', async () => {
    const ctx = await bootDsh()
    await mountTools(ctx)
    const root = await makeAgent(ctx, 'root')
    for (const [name, args] of [
      ['view_agent_graph', {}],
      ['update_agent_graph', { addWork: [{ instruction: 'x' }] }],
      ['yield_agent_graph', {}],
    ] as const) {
      const result = await callTool(ctx, root, name, args)
      expect(result.isError).toBe(true)
      expect(textOf(result)).toContain('[agent-graph-unavailable]')
      expect(result.error?.info?.code).toBe('agent-graph-unavailable')
    }
    const { controller } = await makeController('root', { executor: new HandExecutor() })
    const undo = ctx.provide('agentGraphController', controller)
    expect(textOf(await callTool(ctx, root, 'view_agent_graph', {}))).toContain('No graph yet')
    undo()
    expect(textOf(await callTool(ctx, root, 'view_agent_graph', {}))).toContain('[agent-graph-unavailable]')
  })

  it('asks a provider of many controllers for the one of the caller', async () => {
    const ctx = await bootDsh()
    await mountTools(ctx)
    const one = await makeAgent(ctx, 'one')
    const two = await makeAgent(ctx, 'two')
    const { controller } = await makeController('one', { executor: new HandExecutor() })
    ctx.provide('agentGraphController', {
      forSession: (id: string) => (id === 'one' ? controller : undefined),
    })
    expect((await callTool(ctx, one, 'view_agent_graph', {})).isError).toBe(false)
    expect(textOf(await callTool(ctx, two, 'view_agent_graph', {}))).toContain('[agent-graph-unavailable]')
  })

  it('refuses a session that is not the root of the one controller there is', async () => {
    const ctx = await bootDsh()
    await mountTools(ctx)
    const other = await makeAgent(ctx, 'other')
    const { controller } = await makeController('root', { executor: new HandExecutor() })
    ctx.provide('agentGraphController', controller)
    const result = await callTool(ctx, other, 'view_agent_graph', {})
    expect(result.error?.info?.code).toBe('not_root_session')
  })

  it('says what is wrong with a service that is no controller, and with one that is set up by halves', async () => {
    const ctx = await bootDsh()
    await mountTools(ctx)
    const root = await makeAgent(ctx, 'root')
    ctx.provide('agentGraphController', { view: async () => ({}) } as never)
    const result = await callTool(ctx, root, 'view_agent_graph', {})
    expect(result.error?.info?.code).toBe('configuration')
    expect(textOf(result)).toContain('it lacks update, yield')
    expect(() => createAgentGraphController({ rootSessionId: ' ', options: {} } as never)).toThrow(
      '[configuration] a controller needs store, rootSessionId, options.executor',
    )
  })
})
