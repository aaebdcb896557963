/** A root and the graph of another root of the same store: it can neither be read nor touched, by no door. */
import { expect, it } from 'vitest'
import { createAgentGraphController, registerAgentGraphTools, type UpdateAnswer } from '../src/index.ts'
import { bootDsh, callTool, makeAgent, makeController, mountTools, onEnd, textOf, until } from './host.ts'
import { eager, work } from './rig.ts'

it('a child session is refused by the tools themselves, also where a host would serve it', async () => {
  const ctx = await bootDsh()
  const root = await makeAgent(ctx, 'root')
  const child = await makeAgent(ctx, 'child', root)
  registerAgentGraphTools(ctx)
  const { controller } = await makeController('child', { executor: eager() })
  ctx.provide('agentGraphController', { forSession: () => controller })
  for (const name of ['view', 'update', 'yield']) {
    const refused = await callTool(ctx, child, `${name}_agent_graph`, { addWork: [work('a')] })
    expect(refused.error?.info?.code).toBe('not_root_session')
  }
})

it('a graph of another root is unknown to every call that names it', async () => {
  const ctx = await bootDsh()
  await mountTools(ctx)
  const [one, two] = [await makeAgent(ctx, 'one'), await makeAgent(ctx, 'two')]
  const executor = eager()
  const { store, controller } = await makeController('one', { executor })
  const other = createAgentGraphController({ store, rootSessionId: 'two', options: { executor } })
  onEnd(() => other.dispose())
  ctx.provide('agentGraphController', { forSession: (id) => (id === 'one' ? controller : other) })
  const ask = (name: string, args: object) => callTool(ctx, two, `${name}_agent_graph`, args)

  const made = await callTool(ctx, one, 'update_agent_graph', { addWork: [work('secret')] })
  const { graphId } = await (async () => {
    expect((made.value as unknown as UpdateAnswer).update.workIds).toEqual(['secret'])
    return (await store.currentEpoch('one')) ?? { graphId: '' }
  })()
  await until(async () => (await store.readGraph(graphId))?.counts.pending === 0)
  const finish = { resultIds: ['secret'], reason: 'done' }
  await callTool(ctx, one, 'update_agent_graph', { finish })
  const record = [...((await store.readGraph(graphId))?.records.keys() ?? [])][0] ?? ''
  const before = (await store.readGraph(graphId))?.seq

  for (const args of [{ graphId }, { graphId, results: ['secret'] }, { graphId, since: 1 }]) {
    const view = await ask('view', args)
    expect(view.value).toMatchObject({ known: false, live: [], ended: [] })
    expect(textOf(view)).not.toContain('secret')
  }
  await ask('update', { addWork: [work('own')] })
  expect((await ask('view', { results: [record] })).error?.info?.code).toBe('invalid_input')
  for (const args of [
    { graphId, addWork: [work('x')] },
    { graphId, stop: [{ targetId: 'secret', reason: 'r' }] },
    { addWork: [work('x', { selectedResultInputs: [{ sourceGraphId: graphId, resultId: 'secret' }] })] },
  ]) {
    const refused = await ask('update', args)
    expect(refused.error?.info?.code).toBe('unknown_graph')
    expect(textOf(refused)).not.toContain('result of')
  }
  expect((await ask('yield', { graphId })).error?.info?.code).toBe('unknown_graph')
  expect((await store.readGraph(graphId))?.seq).toBe(before)
})
