/** Who does a work, with what model and what tools: what may be asked for, and that it is only narrowed. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import { Loader } from '@deepseek-ai/cordis-plugin-loader'
import type { Agent } from '@deepseek-ai/dsh-agent'
import AgentPresets from '@deepseek-ai/dsh-agent-presets'
import { scopeOf } from '@deepseek-ai/dsh-scope'
import { SessionId } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import type { Config } from '../src/index.ts'
import { Host, temporaryFolder, textOf, until, type HostOptions } from './host.ts'

/** A preset with one tool of its own, named like it. */
async function writePreset(root: string, id: string): Promise<void> {
  await mkdir(join(root, id), { recursive: true })
  const module = join(root, id, 'row.mjs')
  await writeFile(
    module,
    `export const name = '${id}-row'
export const inject = ['tools']
export function apply(ctx) {
  ctx.tools.register({
    name: '${id}', description: 'x', parameters: { type: 'object', properties: {} },
    output: { schema: { type: 'string' }, render: () => [] },
    execute: async () => 'x',
  })
}
`,
  )
  await writeFile(join(root, id, 'agent.cordis.yml'), `- id: row\n  name: ${JSON.stringify(module)}\n`)
}

async function withPresets(...ids: string[]): Promise<(ctx: Context) => Promise<void>> {
  const path = await temporaryFolder()
  for (const id of ids) await writePreset(path, id)
  return async (ctx) => {
    await ctx.plugin(Loader)
    const roots = [{ path, trust: 'system' as const }]
    await ctx.plugin(AgentPresets, { default: ids[0] ?? '', roots, includeUserRoot: false })
  }
}

const ofPreset = (id: string) => ({
  workId: 'p',
  instruction: 'stand at gate p',
  targetKind: 'new_preset',
  subagentId: id,
})

async function atGate(host: Host, root: Agent, work: { workId: string; [field: string]: unknown }) {
  await host.add(root, { instruction: `stand at gate ${work.workId}`, ...work })
  await host.gates.reached(work.workId)
  return host.operatorOf(work.workId)
}

function toolsOf(host: Host, agent: Agent): readonly string[] {
  return (host.model.of(agent.id)[0]?.tools ?? []).map(({ name }) => name).toSorted()
}

/** A root of a preset, as the web host makes it. */
async function presetRoot(host: Host, preset: string): Promise<Agent> {
  const { agent } = await host.ctx.agents.create({
    sessionId: SessionId('root'),
    agentOptions: { provider: 'scripted', model: 'root-model' },
    meta: { agentPreset: preset },
    setup: async (agentCtx) => void (await host.ctx.get('agentPresets')?.mount(agentCtx, preset)),
  })
  return agent
}

async function refusal(host: Host, root: Agent, work: object): Promise<string> {
  const result = await host.call(root, 'update_agent_graph', {
    addWork: [{ workId: 'x', instruction: 'do it', ...work }],
  })
  expect(result.isError).toBe(true)
  expect(await host.ctx.graphControl.currentEpoch('root')).toBeUndefined()
  return textOf(result)
}

describe('a work of a preset', () => {
  it('is done by a child that is composed from it, also after its session was let go', async () => {
    const folder = await temporaryFolder()
    const host = await Host.boot({
      folder,
      prepare: await withPresets('plain', 'desk'),
      config: { presetTools: 'own' },
    })
    const root = await presetRoot(host, 'plain')
    const operator = await atGate(host, root, ofPreset('desk'))
    expect(operator.session.header).toMatchObject({ agentPreset: 'desk', parentSession: 'root' })
    expect(toolsOf(host, operator)).toEqual(['desk', 'gate'])
    host.gates.open('p')
    const { operatorId } = await host.whenWork('p', 'completed')
    await until(() => !host.isLive(operator.id))
    const again = await atGate(host, root, { workId: 'q', targetKind: 'existing_operator', operatorId })
    expect(again.id).toBe(operator.id)
    expect(host.ctx.tools.get('desk', scopeOf(again.ctx))).toBeDefined()
  })

  it('keeps of the tools of its preset only those that its root has', async () => {
    const host = await Host.boot({ prepare: await withPresets('plain', 'desk') })
    const operator = await atGate(host, await presetRoot(host, 'plain'), ofPreset('desk'))
    expect(toolsOf(host, operator)).toEqual(['gate'])
  })

  it('is refused with those that there are', async () => {
    const host = await Host.boot({ prepare: await withPresets('plain', 'desk') })
    const text = await refusal(host, await presetRoot(host, 'plain'), ofPreset('chair'))
    expect(text).toContain('unknown subagentId "chair"; available: desk, plain')
  })

  it('is refused where the configuration does not list it', async () => {
    const host = await Host.boot({
      prepare: await withPresets('plain', 'desk'),
      config: { presets: ['plain'] },
    })
    const text = await refusal(host, await presetRoot(host, 'plain'), ofPreset('desk'))
    expect(text).toContain('available: plain')
  })

  it('is refused in a profile without presets', async () => {
    const host = await Host.boot()
    expect(await refusal(host, await host.root(), ofPreset('desk'))).toContain('available: none')
  })
})

describe('the model of a work', () => {
  const config: Partial<Config> = {
    models: {
      big: { provider: 'other', model: 'thinker-big' },
      odd: { provider: 'other', model: 'odd', efforts: ['turbo'] },
    },
    operators: { deep: { description: '', provider: 'other', model: 'thinker-deep', effort: 'low' } },
  }
  const boot = async (options: HostOptions = {}) => {
    const host = await Host.boot({ config, ...options })
    return { host, root: await host.root() }
  }
  const requestOf = (host: Host, agent: Agent) => {
    const { provider, model, reasoningEffort } = host.model.of(agent.id).at(-1) ?? {}
    return { provider, model, reasoningEffort }
  }

  it.each([
    [{}, { provider: 'scripted', model: 'root-model', reasoningEffort: undefined }],
    [{ model: 'big' }, { provider: 'other', model: 'thinker-big', reasoningEffort: undefined }],
    [
      { model: 'big', effort: 'high' },
      { provider: 'other', model: 'thinker-big', reasoningEffort: 'high' },
    ],
    [{ agentId: 'deep' }, { provider: 'other', model: 'thinker-deep', reasoningEffort: 'low' }],
    [
      { agentId: 'deep', effort: 'high' },
      { provider: 'other', model: 'thinker-deep', reasoningEffort: 'high' },
    ],
    [
      { agentId: 'deep', model: 'big' },
      { provider: 'other', model: 'thinker-big', reasoningEffort: undefined },
    ],
  ])('of %j is what it names, else that of its kind, else that of the root', async (fields, route) => {
    const { host, root } = await boot()
    expect(requestOf(host, await atGate(host, root, { workId: 'a', ...fields }))).toEqual(route)
  })

  it('is for that work alone: the next one of its operator has that of the operator', async () => {
    const { host, root } = await boot()
    const first = await atGate(host, root, { workId: 'a', model: 'big', effort: 'high' })
    host.gates.open('a')
    const { operatorId } = await host.whenWork('a', 'completed')
    await atGate(host, root, { workId: 'b', targetKind: 'existing_operator', operatorId })
    expect(requestOf(host, first)).toEqual({
      provider: 'scripted',
      model: 'root-model',
      reasoningEffort: undefined,
    })
  })

  it.each([
    [{ model: 'gold' }, 'unknown model "gold"; available: big, odd'],
    [{ model: 'big', effort: 'turbo' }, 'unknown effort "turbo" of model big; available: low, high'],
    [{ model: 'odd', effort: 'low' }, 'unknown effort "low" of model odd; available: turbo'],
    [{ effort: 'low' }, 'unknown effort "low" of model root-model; available: none'],
    [{ agentId: 'deep', effort: 'x' }, 'unknown effort "x" of model thinker-deep; available: low, high'],
  ])('as in %j is refused with what there is, and nothing is written', async (fields, text) => {
    const { host, root } = await boot()
    expect(await refusal(host, root, fields)).toContain(text)
  })

  it('that the configuration lost fails the work with its name', async () => {
    const folder = await temporaryFolder()
    const before = await Host.boot({ folder, config })
    const root = await before.keptRoot()
    await atGate(before, root, { workId: 'a', model: 'big' })
    await before.dispose()
    const host = await Host.boot({ folder })
    await host.root('root', { resume: true })
    const { reason } = await host.whenWork('a', 'failed')
    expect(reason).toContain('"big"')
  })
})

describe('what an operator may do', () => {
  it('leaves out what its root was denied', async () => {
    const host = await Host.boot()
    const root = await host.root()
    root.ctx.tools.restrict({ deny: ['gate'] })
    await host.add(root, { workId: 'a', instruction: 'do it' })
    await host.whenWork('a', 'completed')
    expect(host.model.of(await host.sessionOf('a'))[0]?.tools ?? []).toEqual([])
  })

  const delegate = (operator: Agent) =>
    operator.ctx.agents.create({
      sessionId: SessionId('grandchild'),
      agentOptions: { provider: 'scripted', model: 'root-model' },
      meta: { origin: 'subagent', delegationDepth: 2, parentSession: operator.id },
    })

  it('ends at the configured depth: a session that it would delegate to is refused', async () => {
    const host = await Host.boot({ config: { maxDepth: 1 } })
    const operator = await atGate(host, await host.root(), { workId: 'a' })
    await expect(delegate(operator)).rejects.toMatchObject({ code: 'depth-limit' })
    expect(host.isLive('grandchild')).toBe(false)
  })

  it('may be delegated by it within the configured depth', async () => {
    const host = await Host.boot({ config: { maxDepth: 2 } })
    const operator = await atGate(host, await host.root(), { workId: 'a' })
    await delegate(operator)
    expect(host.isLive('grandchild')).toBe(true)
  })
})
