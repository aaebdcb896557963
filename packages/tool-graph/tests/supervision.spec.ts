import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Context } from '@deepseek-ai/cordis'
import { assembleContextFor, type Agent } from '@deepseek-ai/dsh-agent'
import * as durableLog from 'dsh-durable-log'
import { memoryLog, sqliteLog, type DurableLog } from 'dsh-durable-log'
import {
  GRAPH_TOOLS,
  recordSupervision,
  SUPERVISION_STREAM,
  supervises,
  switchSupervision,
} from '../src/index.ts'
import { SettingsService } from '../../../tests/support/settings-service.ts'
import { bootDsh, makeAgent, mountTools, onEnd, until } from './host.ts'

/** Tools of ours and section, as the session's next request would carry them. */
async function seen(ctx: Context, agent: Agent): Promise<string> {
  const { sections, tools } = await ctx.systemPrompt.assemble(assembleContextFor(agent))
  const ours = tools.filter((tool) => GRAPH_TOOLS.has(tool.name)).length
  return `${ours} tools, ${sections.some(({ name }) => name === 'orchestration:graph') ? 'section' : 'no section'}`
}

const ALL = '3 tools, section'
const NONE = '0 tools, no section'

async function bootWith(log: DurableLog): Promise<Context> {
  const ctx = await bootDsh()
  ctx.provide('durableLog', log)
  return ctx
}

/** Presets as the web bundle has them, by session. */
function providePresets(ctx: Context, presets: Readonly<Record<string, string>>): Record<string, string> {
  const chosen = { ...presets }
  ctx.provide(
    'agentPresets' as never,
    { composedPreset: (agentCtx: Context) => chosen[agentCtx.agent?.id ?? ''] } as never,
  )
  return chosen
}

describe('what a person set in DSH’s settings', () => {
  it('holds over the row, for the sessions that are open as well, and against no word about one session', async () => {
    const ctx = await bootWith(memoryLog())
    const settings = new SettingsService(ctx)
    await mountTools(ctx, { sessions: 'none' })
    const root = await makeAgent(ctx, 'root')
    const chosen = await makeAgent(ctx, 'chosen')
    await switchSupervision(ctx, chosen.id, true)
    expect([await seen(ctx, root), await seen(ctx, chosen)]).toEqual([NONE, ALL])
    settings.write('dsh-tool-graph', { sessions: 'all' })
    expect([await seen(ctx, root), await seen(ctx, chosen)]).toEqual([ALL, ALL])
    expect(await seen(ctx, await makeAgent(ctx, 'later'))).toBe(ALL)
    settings.write('dsh-tool-graph', {})
    expect([await seen(ctx, root), await seen(ctx, chosen)]).toEqual([NONE, ALL])
  })
})

describe('the settings of the row', () => {
  it('give the tools to no session', async () => {
    const ctx = await bootDsh()
    await mountTools(ctx, { sessions: 'none' })
    expect(await seen(ctx, await makeAgent(ctx, 'root'))).toBe(NONE)
  })

  it('give them to the sessions of chosen presets, also when a session moves to another one', async () => {
    const ctx = await bootDsh()
    const presets = providePresets(ctx, { one: 'graph', two: 'standard' })
    await mountTools(ctx, { sessions: 'chosen', presets: ['graph'] })
    const one = await makeAgent(ctx, 'one')
    const two = await makeAgent(ctx, 'two')
    expect([await seen(ctx, one), await seen(ctx, two)]).toEqual([ALL, NONE])
    Object.assign(presets, { one: 'standard', two: 'graph' })
    const emit = ctx.emit.bind(ctx) as (event: string, ...args: readonly unknown[]) => void
    emit('agent-preset/selected', 'one', 'standard')
    expect([await seen(ctx, one), await seen(ctx, two)]).toEqual([NONE, ALL])
  })

  it('choose nothing where there are no presets', async () => {
    const ctx = await bootDsh()
    await mountTools(ctx, { sessions: 'chosen', presets: ['graph'] })
    expect(await seen(ctx, await makeAgent(ctx, 'root'))).toBe(NONE)
  })

  it('are refused when they cannot be meant', async () => {
    const ctx = await bootDsh()
    await expect(mountTools(ctx, { sessions: 'some' as never })).rejects.toThrow(/sessions/u)
  })
})

describe('a person', () => {
  it.each(['all', 'none'] as const)(
    'decides for one live session where the row says %s',
    async (sessions) => {
      const ctx = await bootWith(memoryLog())
      await mountTools(ctx, { sessions })
      const root = await makeAgent(ctx, 'root')
      const other = await makeAgent(ctx, 'other')
      const untouched = await seen(ctx, other)
      for (const on of [false, true, true, false, false, true]) {
        await switchSupervision(ctx, 'root', on)
        expect(await seen(ctx, root)).toBe(on ? ALL : NONE)
        expect(supervises(root)).toBe(on)
      }
      expect(await seen(ctx, other)).toBe(untouched)
    },
  )

  it('is remembered over restarts, from the first moment of the session', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'supervision-'))
    onEnd(() => rm(folder, { recursive: true, force: true }))
    const path = join(folder, 'log.sqlite')
    const first = sqliteLog({ path })
    const before = await bootWith(first)
    await mountTools(before, { sessions: 'none' })
    await makeAgent(before, 'root')
    await switchSupervision(before, 'root', true)
    await switchSupervision(before, 'other', true)
    await switchSupervision(before, 'other', false)
    await before.root.fiber.dispose()
    await first.close()

    const again = sqliteLog({ path })
    onEnd(() => again.close())
    const after = await bootWith(again)
    await mountTools(after, { sessions: 'none' })
    expect(await seen(after, await makeAgent(after, 'root'))).toBe(ALL)
    expect(await seen(after, await makeAgent(after, 'other'))).toBe(NONE)
    await after.root.fiber.dispose()
  })

  it('is heard from another process', async () => {
    const log = memoryLog()
    const ctx = await bootWith(log)
    await mountTools(ctx)
    const root = await makeAgent(ctx, 'root')
    await recordSupervision(log, 'root', false)
    await until(() => !supervises(root))
    expect(await seen(ctx, root)).toBe(NONE)
  })

  it('cannot give the tools to a child session', async () => {
    const ctx = await bootWith(memoryLog())
    await mountTools(ctx)
    const child = await makeAgent(ctx, 'child', await makeAgent(ctx, 'root'))
    await switchSupervision(ctx, 'child', true)
    expect(await seen(ctx, child)).toBe(NONE)
  })

  it('is told when the choice could not be kept', async () => {
    const ctx = await bootDsh()
    await mountTools(ctx)
    await expect(switchSupervision(ctx, 'root', false)).rejects.toMatchObject({
      code: 'supervision-not-kept',
    })
  })

  it('is obeyed in spite of words that nobody can read', async () => {
    const log = memoryLog()
    await log.append(SUPERVISION_STREAM, 'any', [
      { type: 'supervision', data: { v: 1, at: 1, sessionId: 'root', supervised: false } },
      { type: 'supervision', data: null },
      { type: 'supervision', data: { sessionId: 'root', supervised: 'yes' } },
      { type: 'other', data: { sessionId: 'root', supervised: true } },
    ])
    const ctx = await bootWith(log)
    await mountTools(ctx)
    const root = await makeAgent(ctx, 'root')
    await until(() => !supervises(root))
    expect(await seen(ctx, root)).toBe(NONE)
  })
})

it('leaves no tool, listener or subscription behind when the row goes, and loses the choice with its log only', async () => {
  const ctx = await bootDsh()
  const row = ctx.plugin(durableLog, { backend: 'memory' } as durableLog.Config)
  await row
  const tools = await mountTools(ctx)
  const root = await makeAgent(ctx, 'root')
  await switchSupervision(ctx, 'root', false)
  expect(supervises(root)).toBe(false)
  await row.dispose()
  await until(() => supervises(root))
  await tools.dispose()
  expect(supervises(root)).toBe(false)
})
