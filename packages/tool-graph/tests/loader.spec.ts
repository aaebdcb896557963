/** The plugin as the real loader boots it, and as the sample of a host of its own mounts it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assembleContextFor } from '@deepseek-ai/dsh-agent'
import { memoryKvUnit } from 'dsh-durable-log/testing'
import { GraphControlStore } from 'dsh-graph-control'
import * as published from 'dsh-tool-graph'
import toolGraph, { createAgentGraphController } from 'dsh-tool-graph'
import { describe, expect, it } from 'vitest'
import { Composition, row, standaloneRows } from '../../../tests/support/composition.ts'
import { bootDsh, callTool, HandExecutor, makeAgent, onEnd, textOf, until } from './host.ts'

const hostRows = standaloneRows().filter(({ name }) => name.startsWith('@deepseek-ai/'))

async function toolsOf(composition: Composition): Promise<readonly string[]> {
  const agent = await composition.openSession({ id: 'root' })
  const { tools } = await composition.ctx.systemPrompt.assemble(assembleContextFor(agent))
  return tools.map(({ name }) => name).filter((name) => name.endsWith('_agent_graph'))
}

async function boot(text: string): Promise<Composition> {
  const composition = await Composition.boot({
    rows: [...hostRows, { ...row('tool-graph', 'dsh-tool-graph'), text }],
  })
  onEnd(async () => composition[Symbol.asyncDispose]())
  return composition
}

describe('a row of cordis.yml', () => {
  it('is active without configuration and gives a root session the tools', async () => {
    const composition = await boot('- id: tool-graph\n  name: dsh-tool-graph\n')
    expect(composition.unfinishedRows()).toEqual([])
    expect(await toolsOf(composition)).toEqual([
      'update_agent_graph',
      'view_agent_graph',
      'yield_agent_graph',
    ])
  })

  it('keeps its configuration, which the loader checks', async () => {
    const off = await boot('- id: tool-graph\n  name: dsh-tool-graph\n  config:\n    enabled: false\n')
    expect(off.unfinishedRows()).toEqual([])
    expect(await toolsOf(off)).toEqual([])
    await expect(
      boot('- id: tool-graph\n  name: dsh-tool-graph\n  config:\n    enabled: 7\n'),
    ).rejects.toThrow(/enabled/u)
  })
})

describe('the default export', () => {
  it('is the whole plugin and nothing else', () => {
    const { name, inject, Config, apply } = published
    expect(toolGraph).toEqual({ name, inject, Config, apply })
  })

  it('serves the sample of a host of its own, to the end of a graph', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'graph-sample-'))
    onEnd(async () => rmSync(folder, { recursive: true, force: true }))
    const ctx = await bootDsh()
    const executor = new HandExecutor(() => ({ outcome: 'completed', conclusion: 'the answer' }))
    // As the package that this one takes the place of is used.
    const store = await GraphControlStore.open(memoryKvUnit())
    let ids = 0
    const controller = createAgentGraphController({
      store,
      rootSessionId: 'session',
      newId: () => String((ids += 1)),
      options: { executor, recordSource: undefined, maxNewActivations: 4 },
    })
    onEnd(async () => {
      await controller.dispose()
      await store.close()
    })
    ctx.provide('agentGraphController', controller)
    await ctx.plugin(toolGraph, {})
    const session = await makeAgent(ctx, 'session')

    const call = async (name: string, args: object): Promise<string> => {
      const result = await callTool(ctx, session, name, args)
      expect(textOf(result)).not.toContain('Error: [')
      expect(result.isError).toBe(false)
      return textOf(result)
    }
    await call('update_agent_graph', {
      operation: 'add_work',
      addWork: [
        {
          workId: 'one',
          targetKind: 'new_agent',
          agentId: 'general',
          instruction: ' find it ',
          inputIds: [],
          replacementMode: 'none',
        },
      ],
      stop: [],
    })
    const { graphId } = (await store.currentEpoch('session')) ?? { graphId: '' }
    await until(async () => (await store.readGraph(graphId))?.counts.pending === 0)
    expect(executor.prompts.get('one')).toBe('find it')
    const recordId = [...((await store.readGraph(graphId))?.records.keys() ?? [])][0]
    expect(await call('view_agent_graph', { graphId })).toContain('the answer')
    // The seed's own way: the id of the graph, and record ids.
    await call('update_agent_graph', {
      graphId,
      operation: 'finish',
      finish: { resultIds: [recordId], reason: 'found' },
    })
    expect((await store.readGraph(graphId))?.closed).toBe(true)
  })
})
