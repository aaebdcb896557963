/**
 * One host of a fleet: the services of DSH, a model that takes its time, the built log and host plugins as
 * a profile mounts them, and a door to the driver over IPC. It may be killed, stopped and cut off at any
 * moment. When it is told to close, it must end by itself.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { Context } from '@deepseek-ai/cordis'
import AgentRegistry from '@deepseek-ai/dsh-agent'
import AgentLoop from '@deepseek-ai/dsh-agent-loop'
import LlmRuntime, { type GenerateOptions, LlmAdapter, type StreamChunk } from '@deepseek-ai/dsh-llm'
import SessionStore from '@deepseek-ai/dsh-session'
import SystemPrompt from '@deepseek-ai/dsh-system-prompt'
import ToolRuntime from '@deepseek-ai/dsh-tools'
import type { AgentLoopHost, RunRequest } from '../src/index.ts'
import { TurnRecorder } from './turn-record.ts'

/** What a host is started with, as JSON in `CHAOS_SETTINGS`. */
export interface HostSettings {
  /** Built packages: the doors of `dsh-durable-log`, `dsh-durable-log/sessions` and `dsh-agent-loop-host`. */
  readonly log: string
  readonly sessions: string
  readonly loop: string
  readonly record: string
  readonly heartbeatMs: number
  readonly afterCrash: 'interrupt' | 'resume'
}

export type HostOrder =
  | { readonly id: number; readonly kind: 'accept'; readonly request: RunRequest }
  | { readonly id: number; readonly kind: 'abort'; readonly runId: string }
  | { readonly id: number; readonly kind: 'lanes' }
  | { readonly id: number; readonly kind: 'close' }

/** `ready` comes once; then one answer to each order. */
export type HostReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly id: number; readonly runId?: string; readonly lanes?: unknown }
  | { readonly kind: 'refused'; readonly id: number; readonly code: string; readonly text: string }

/** The environment variable with the connection string of this host. */
export const CONNECTION_ENV = 'CHAOS_DATABASE'
export const PROVIDER = 'paced'
const CHUNK_MS = 20

/** How long a message asks the model to take. */
export function paceOf(text: string): number {
  return Number(/ takes (\d+)$/u.exec(text)?.[1] ?? CHUNK_MS)
}

class PacedModel extends LlmAdapter {
  private readonly recorder: TurnRecorder

  constructor(recorder: TurnRecorder) {
    super()
    this.recorder = recorder
  }

  async *stream({ messages, sessionId, signal }: GenerateOptions): AsyncIterable<StreamChunk> {
    const since = messages.findLastIndex(({ role }) => role === 'assistant') + 1
    const texts = messages
      .slice(since)
      .flatMap(({ role, content }) =>
        role === 'user' ? [content.map((block) => (block.type === 'text' ? block.text : '')).join('')] : [],
      )
    const ended = this.recorder.begin(String(sessionId), texts)
    let isWhole = false
    try {
      yield { type: 'block-start', index: 0, blockType: 'text' }
      for (let left = Math.max(...texts.map(paceOf), CHUNK_MS); left > 0; left -= CHUNK_MS) {
        await pause(CHUNK_MS, undefined, { signal })
        yield { type: 'text-delta', index: 0, text: '.' }
      }
      isWhole = true
    } catch (error) {
      if (signal?.aborted !== true) throw error
      yield { type: 'finish', reason: { kind: 'aborted', failure: { message: 'cut', code: 'ABORTED' } } }
      return
    } finally {
      ended(isWhole ? 'end' : 'cut')
    }
    yield { type: 'block-end', index: 0, block: { type: 'text', text: 'done' } }
    yield { type: 'usage', usage: { inputTokens: 1, outputTokens: 1 } }
    yield { type: 'finish', reason: { kind: 'stop' } }
  }
}

interface Plugin {
  readonly Config: (config: object) => object
}

/** As the loader does: the default export of a module is the plugin, or else the module itself. */
export async function mount(ctx: Context, path: string, config: object): Promise<void> {
  const module = (await import(pathToFileURL(path).href)) as Plugin & { readonly default?: Plugin }
  const plugin = module.default ?? module
  await ctx.plugin(plugin as never, plugin.Config(config) as never)
}

async function boot(ctx: Context, settings: HostSettings): Promise<void> {
  await ctx.plugin(LlmRuntime)
  await ctx.plugin(SessionStore)
  await ctx.plugin(SystemPrompt, {})
  await ctx.plugin(ToolRuntime, {})
  await ctx.plugin(AgentRegistry)
  await ctx.plugin(AgentLoop, { agents: [] })
  ctx.llm.registerAdapter([PROVIDER], new PacedModel(new TurnRecorder(settings.record)))
  await mount(ctx, settings.log, { backend: 'postgres', connectionEnv: CONNECTION_ENV })
  await mount(ctx, settings.sessions, {})
  await mount(ctx, settings.loop, {
    engine: 'pg-boss',
    recover: 'all',
    afterCrash: settings.afterCrash,
    pgBoss: { connectionEnv: CONNECTION_ENV, heartbeatMs: settings.heartbeatMs },
    webDoor: false,
  })
}

async function obey(ctx: Context, order: HostOrder): Promise<HostReport> {
  const { id } = order
  try {
    const host = ctx.get('agentLoopHost') as AgentLoopHost | undefined
    if (host === undefined) throw new Error('the host is not provided')
    switch (order.kind) {
      case 'accept':
        return { kind: 'done', id, runId: (await host.accept(order.request)).runId }
      case 'abort':
        await host.abort({ runId: order.runId })
        return { kind: 'done', id }
      case 'lanes':
        return { kind: 'done', id, lanes: host.lanes() }
      case 'close':
        await ctx.fiber.dispose()
        return { kind: 'done', id }
    }
  } catch (error) {
    const { code = '' } = error as { readonly code?: string }
    return { kind: 'refused', id, code, text: error instanceof Error ? error.message : String(error) }
  }
}

function report(line: HostReport, then?: () => void): void {
  if (process.connected) process.send?.(line, undefined, undefined, then)
}

if (import.meta.main) {
  const ctx = new Context()
  await boot(ctx, JSON.parse(process.env['CHAOS_SETTINGS'] ?? '') as HostSettings)
  // Nobody is to be left over from a driver that was killed.
  const end = (): void => process.exit(1)
  process.once('disconnect', end)
  process.on('message', (order: HostOrder) => {
    void obey(ctx, order).then((line) => {
      report(line, () => {
        if (order.kind !== 'close') return
        // What is left now is what the host has left behind, and it keeps the process alive.
        process.off('disconnect', end)
        process.disconnect()
      })
    })
  })
  report({ kind: 'ready' })
}
