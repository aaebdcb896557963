/** A world with a scripted model, two tools, a compaction engine and a plugin that listens to every hook. */
import { format } from 'node:util'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import BasicCompaction from '@deepseek-ai/dsh-compaction-basic'
import { SessionId } from '@deepseek-ai/dsh-session'
import TokenMeter from '@deepseek-ai/dsh-token-meter'
import type { DurableLog } from 'dsh-durable-log'
import { ScriptedLlm, type StepSource } from 'dsh-llm-scripted'
import { CATALOGUE, type HookHandler, type HookName, type HookOptions } from '../../../src/index.ts'
import { DEFAULT_HOOK_SETTINGS, type HookSettings } from '../../../src/hooks/settings.ts'
import { World } from '../../support/world.ts'

export const ALL_HOOKS: readonly HookName[] = [
  ...(Object.keys(CATALOGUE) as HookName[]),
  'command:new',
  'command:reset',
  'command:stop',
]

/** The event of any hook, as far as tests look at it. */
export type SeenEvent = Readonly<Record<string, unknown>> & { readonly sessionId?: string }

/** What a plugin that listens to everything saw. */
export class Recorder {
  readonly seen: { readonly hook: HookName; readonly event: SeenEvent }[] = []

  count(hook: HookName): number {
    return this.of(hook).length
  }

  of(hook: HookName): readonly SeenEvent[] {
    return this.seen.filter((one) => one.hook === hook).map((one) => one.event)
  }

  /** How often each hook was called, those of no call too. */
  get counts(): Record<string, number> {
    return Object.fromEntries(ALL_HOOKS.map((hook) => [hook, this.count(hook)]))
  }

  get order(): readonly HookName[] {
    return this.seen.map((one) => one.hook)
  }
}

export interface HookWorldOptions {
  readonly steps?: readonly StepSource[]
  readonly hooks?: Partial<HookSettings>
  readonly sessions?: string
  readonly log?: DurableLog
}

export interface HookWorld {
  readonly world: World
  readonly ctx: Context
  readonly model: ScriptedLlm
  readonly recorder: Recorder
  readonly warnings: string[]
  readonly infos: string[]
  /** Arguments that the tools were called with. */
  readonly toolCalls: unknown[]
  createAgent(sessionId: string): Promise<Agent>
}

const SUMMARY: StepSource = { text: 'short', repeat: true, optional: true }

export async function bootHookWorld(options: HookWorldOptions = {}): Promise<HookWorld> {
  const { steps = [{ text: 'hello', repeat: true }], hooks, sessions, log } = options
  const world = await World.boot({
    ...(sessions === undefined ? {} : { sessions }),
    ...(log === undefined ? {} : { log }),
    config: { hooks: { ...DEFAULT_HOOK_SETTINGS, ...hooks } },
  })
  const { ctx } = world
  const warnings: string[] = []
  const infos: string[] = []
  // Cordis ranks warnings below infos; without a level of its own an exporter misses them.
  ctx.logger.exporter({
    levels: { default: 3 },
    export: ({ name, type, args }) => {
      if (name !== 'agent-loop-host') return
      if (type === 'warn') warnings.push(format(...args))
      if (type === 'info') infos.push(format(...args))
    },
  })
  await ctx.plugin(TokenMeter, {})
  await ctx.plugin(BasicCompaction, {})
  const model = new ScriptedLlm({
    tracks: [
      { name: 'summary', match: { purpose: 'compaction' }, steps: [SUMMARY] },
      { name: 'main', match: {}, steps },
    ],
  })
  ctx.llm.registerAdapter(['scripted', 'other'], model)
  const toolCalls: unknown[] = []
  registerTools(ctx, toolCalls)
  const recorder = new Recorder()
  await listen(ctx, 'recorder', (hook) => {
    for (const name of ALL_HOOKS) {
      hook(name, (event: unknown) => void recorder.seen.push({ hook: name, event: event as SeenEvent }), {
        priority: -1000,
      })
    }
  })
  return {
    world,
    ctx,
    model,
    recorder,
    warnings,
    infos,
    toolCalls,
    createAgent: (id) => createAgent(ctx, id),
  }
}

/** Registers a hook of a plugin; as `hook` of the host, for names that are not known to the compiler. */
export type HookFunction = <N extends HookName>(
  name: N,
  handler: HookHandler<N>,
  options?: HookOptions,
) => () => void

/** Loads a plugin that registers hooks. */
export async function listen(
  ctx: Context,
  name: string,
  register: (hook: HookFunction, ctx: Context) => void,
): Promise<{ dispose(): PromiseLike<unknown> }> {
  return await ctx.plugin({
    name,
    inject: ['agentLoopHost'],
    apply: (own: Context) => register((...call) => own.agentLoopHost.hook(...call), own),
  })
}

async function createAgent(ctx: Context, sessionId: string): Promise<Agent> {
  const { agent } = await ctx.agents.create({
    sessionId: SessionId(sessionId),
    agentOptions: { provider: 'scripted', model: 'm' },
  })
  return agent
}

function registerTools(ctx: Context, calls: unknown[]): void {
  const output = {
    schema: { type: 'object' as const },
    render: (_args: unknown, value: unknown) => [{ type: 'text' as const, text: JSON.stringify(value) }],
  }
  const parameters = { type: 'object', properties: {} }
  ctx.tools.register({
    name: 'count',
    description: 'Counts words',
    parameters,
    output,
    execute: async (args) => {
      calls.push(args)
      const { text = '' } = args as { text?: string }
      return { words: text.split(' ').length, secret: 'hunter2' }
    },
  })
  ctx.tools.register({
    name: 'shared',
    description: 'Runs beside others, unless it writes',
    parameters,
    output,
    isConcurrencySafe: (args) => (args as { write?: boolean }).write !== true,
    execute: async (args) => {
      calls.push(args)
      return {}
    },
  })
}

/** The texts of the user messages in a session's conversation. */
export function userTexts(agent: Agent): readonly string[] {
  return agent.session.events.flatMap((event) =>
    event.type === 'user/message'
      ? [event.data.content.map((block) => (block.type === 'text' ? block.text : '')).join('')]
      : [],
  )
}

/** The texts of the tool results that the session log holds. */
export function resultTexts(agent: Agent): readonly string[] {
  return agent.session.events.flatMap((event) =>
    event.type === 'tool/result' ? [JSON.stringify(event.data.message.content[0].content)] : [],
  )
}
