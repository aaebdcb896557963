import { describe, expect, it } from 'vitest'
import { assembleContextFor, type Agent } from '@deepseek-ai/dsh-agent'
import { GRAPH_SECTION_NAME, GRAPH_TOOLS } from 'dsh-tool-graph'
import { Host, PERSONA, textOf, type HostOptions } from './host.ts'

/** A host with one work that stands at a gate, and the operator that does it. */
async function atWork(options: HostOptions = {}, fields: Record<string, unknown> = {}) {
  const host = await Host.boot(options)
  const root = await host.root('root', { meta: { cwd: '/tmp' } })
  await host.add(root, { workId: 'w', instruction: 'stand at gate w', ...fields })
  await host.gates.reached('w')
  return { host, root, operator: await host.operatorOf('w') }
}

async function promptOf(host: Host, agent: Agent) {
  const { sections } = await host.ctx.systemPrompt.assemble(assembleContextFor(agent))
  return new Map(sections.map(({ name, text }) => [name, text]))
}

function toolsOnWire(host: Host, agent: Agent): readonly string[] {
  return (host.model.of(agent.id)[0]?.tools ?? []).map(({ name }) => name).toSorted()
}

describe('an operator', () => {
  it('is a child session of its root that nobody else may continue', async () => {
    const { root, operator } = await atWork()
    expect(operator.session.header).toMatchObject({
      parentSession: root.id,
      origin: 'subagent',
      delegationDepth: 1,
      cwd: '/tmp',
    })
    expect(operator.options.subagentDepth).toBe(1)
    expect(operator.session.events[0]).toMatchObject({
      type: 'subagent/descriptor',
      data: { mode: 'one-shot', provider: 'dsh-graph', label: 'w' },
    })
  })

  it('is labelled with the title of its work', async () => {
    const { operator } = await atWork({}, { title: 'T'.repeat(200) })
    expect(operator.session.events[0]?.data).toMatchObject({ label: 'T'.repeat(80) })
  })

  it('has what the root has, except the graph', async () => {
    const { host, root, operator } = await atWork()
    expect(toolsOnWire(host, operator)).toEqual(['gate'])
    const prompts = { root: await promptOf(host, root), operator: await promptOf(host, operator) }
    expect(prompts.root.has(GRAPH_SECTION_NAME)).toBe(true)
    expect(prompts.operator.has(GRAPH_SECTION_NAME)).toBe(false)
    expect(prompts.operator.get('deployment:persona')).toBe(PERSONA)
    expect(host.model.of(operator.id)[0]).toMatchObject({ provider: 'scripted', model: 'root-model' })
  })

  it.each([...GRAPH_TOOLS])('is refused by %s', async (tool) => {
    const { host, operator } = await atWork()
    const result = await host.call(operator, tool, { addWork: [{ instruction: 'more' }] })
    expect(result.isError).toBe(true)
    expect((await host.graph()).works.size).toBe(1)
  })

  it('has no controller, and neither has a session that is not live', async () => {
    const { host, root, operator } = await atWork()
    const service = host.ctx.get('agentGraphController')
    if (service === undefined || !('forSession' in service)) throw new Error('not the service of many roots')
    expect(service.forSession(root.id)).toBe(service.forSession(root.id))
    expect(service.forSession(operator.id)).toBeUndefined()
    expect(service.forSession('nobody')).toBeUndefined()
  })

  it('is told its whole task by a notice of the plugin', async () => {
    const { operator } = await atWork({}, { title: 'Watch' })
    const message = operator.session.events.find(({ type }) => type === 'user/message')
    expect(message?.data).toMatchObject({
      content: [{ type: 'text', text: 'stand at gate w' }],
      source: { kind: 'plugin', plugin: 'dsh-graph-host', form: 'notice', summary: 'Work w' },
    })
  })
})

describe('a kind of the catalog', () => {
  const withTools = async (tools: readonly string[] | undefined) => {
    const kind = { description: 'A scout', ...(tools === undefined ? {} : { tools }) }
    return atWork(
      {
        config: { operators: { scout: kind } },
        prepare: (ctx) => {
          for (const name of ['read', 'write'])
            ctx.get('tools')?.register({
              name,
              description: name,
              parameters: { type: 'object', properties: {} },
              output: { schema: {}, render: () => [] },
              execute: async () => null,
            })
        },
      },
      { agentId: 'scout' },
    )
  }

  it('keeps all tools of the root when it names none', async () => {
    const { host, operator } = await withTools(undefined)
    expect(toolsOnWire(host, operator)).toEqual(['gate', 'read', 'write'])
  })

  it('keeps only the tools that it names', async () => {
    const { host, operator } = await withTools(['gate', 'read'])
    expect(toolsOnWire(host, operator)).toEqual(['gate', 'read'])
  })

  it('keeps no tool when it names an empty list', async () => {
    const host = await Host.boot({ config: { operators: { thinker: { description: '', tools: [] } } } })
    const root = await host.root()
    await host.add(root, { workId: 'w', instruction: 'think', agentId: 'thinker' })
    await host.whenWork('w', 'completed')
    expect(toolsOnWire(host, await host.operatorOf('w'))).toEqual([])
  })

  it.each(['update_agent_graph', 'no_such_tool'])(
    'that names %s, which its root cannot hand on, fails its work with the name',
    async (tool) => {
      const host = await Host.boot({ config: { operators: { rogue: { description: '', tools: [tool] } } } })
      const root = await host.root()
      await host.add(root, { workId: 'w', instruction: 'try', agentId: 'rogue' })
      const { reason } = await host.whenWork('w', 'failed')
      expect(reason).toContain('open-failed')
      expect(reason).toContain(tool)
    },
  )

  it('puts its persona in the place of the deployment persona', async () => {
    const { host, root, operator } = await atWork(
      { config: { operators: { poet: { description: '', persona: 'You are a poet.' } } } },
      { agentId: 'poet' },
    )
    expect((await promptOf(host, root)).get('deployment:persona')).toBe(PERSONA)
    const system = host.model.of(operator.id)[0]?.system
    expect(system).toContain('You are a poet.')
    expect(system).not.toContain(PERSONA)
  })

  it('asks its own model', async () => {
    const { host, operator } = await atWork(
      { config: { operators: { big: { description: '', provider: 'other', model: 'big-one' } } } },
      { agentId: 'big' },
    )
    expect(host.model.of(operator.id)[0]).toMatchObject({ provider: 'other', model: 'big-one' })
  })

  it('takes the place of the default one under that name', async () => {
    const { host, operator } = await atWork({
      config: { operators: { default: { description: '', provider: 'other', model: 'mine' } } },
    })
    expect(host.model.of(operator.id)[0]).toMatchObject({ provider: 'other', model: 'mine' })
  })

  it.each([
    ['a provider without a model', { description: '', provider: 'other' }],
    ['a model without a provider', { description: '', model: 'big-one' }],
  ])('with %s is refused when the row loads', async (_title, kind) => {
    const options = { config: { operators: { half: kind } } }
    await expect(Host.boot(options)).rejects.toThrow(/half.*provider and model/u)
  })
})

describe('a target that this host does not have', () => {
  it.each([
    ['an unknown kind', { agentId: 'wizard' }, /unknown agentId "wizard"; available: default, scout/u],
    [
      'a kind with the name of a member of every object',
      { agentId: 'constructor' },
      /unknown agentId "constructor"; available: default, scout/u,
    ],
    [
      'a preset',
      { targetKind: 'new_preset', subagentId: 'code' },
      /unknown subagentId "code"; available: none/u,
    ],
    ['a code graph', { targetKind: 'graph', agentId: 'survey' }, /targetKind/u],
    ['an unknown operator', { targetKind: 'existing_operator', operatorId: 'nobody' }, /nobody/u],
  ] as const)('%s is refused before anything is committed', async (_title, target, text) => {
    const host = await Host.boot({ config: { operators: { scout: { description: 'A scout' } } } })
    const root = await host.root()
    const result = await host.call(root, 'update_agent_graph', {
      addWork: [
        { workId: 'fine', instruction: 'fine' },
        { workId: 'w', instruction: 'x', ...target },
      ],
    })
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(text)
    const epoch = await host.ctx.graphControl.currentEpoch(root.id)
    const graph = epoch === undefined ? undefined : await host.ctx.graphControl.readGraph(epoch.graphId)
    expect(graph?.works.size ?? 0).toBe(0)
  })
})
