/**
 * One DSH process in process: the real services of DSH, every package of this bundle as a row, and a
 * model adapter of the caller's. Owns the order of mounting. Also what the benches measure.
 */
import { Context } from '@deepseek-ai/cordis'
import AgentRegistry from '@deepseek-ai/dsh-agent'
import AgentLoop from '@deepseek-ai/dsh-agent-loop'
import LlmRuntime, { type LlmAdapter } from '@deepseek-ai/dsh-llm'
import SessionStore from '@deepseek-ai/dsh-session'
import SubagentRuntime from '@deepseek-ai/dsh-subagent'
import SystemPrompt from '@deepseek-ai/dsh-system-prompt'
import ToolRuntime, { type ToolDefinition } from '@deepseek-ai/dsh-tools'
import * as agentLoopHost from 'dsh-agent-loop-host'
import type { DurableLog } from 'dsh-durable-log'
import * as graphControl from 'dsh-graph-control'
import * as graphRuntime from 'dsh-graph-runtime'
import * as toolGraph from 'dsh-tool-graph'
import * as graphHost from '../../src/index.ts'

export const PROVIDER = 'simulated'

export interface CompositionOptions {
  readonly log: DurableLog
  readonly adapter: LlmAdapter
  readonly config?: Partial<graphHost.Config>
  readonly tools?: readonly ToolDefinition[]
  /** Called for every line at warning level and above. */
  readonly onWarning?: (text: string) => void
  /** Mounts what keeps the sessions; none: they live as long as the process. */
  readonly persistence?: (ctx: Context) => PromiseLike<unknown>
  readonly withCodeGraphs?: boolean
}

export interface Composition {
  readonly ctx: Context
  /** Ends the row under test and mounts it anew. */
  remount(): Promise<void>
  dispose(): Promise<void>
}

export async function compose(options: CompositionOptions): Promise<Composition> {
  const { adapter, config = {}, log, onWarning, persistence, tools = [] } = options
  const ctx = new Context()
  ctx.logger.exporter({
    levels: { default: 3 },
    export: ({ type, args }) => {
      if (type === 'warn' || type === 'error') onWarning?.(args.map(textOf).join(' '))
    },
  })
  await ctx.plugin(LlmRuntime)
  await ctx.plugin(SessionStore)
  await ctx.plugin(SystemPrompt, { persona: 'You are a clerk.' })
  await ctx.plugin(ToolRuntime, {})
  await ctx.plugin(AgentRegistry)
  await persistence?.(ctx)
  await ctx.plugin(AgentLoop, { agents: [] })
  await ctx.plugin(SubagentRuntime)
  await ctx.plugin({
    name: 'model-and-tools',
    inject: ['llm', 'tools'],
    apply: (inner: Context) => {
      inner.llm.registerAdapter([PROVIDER], adapter)
      for (const tool of tools) inner.tools.register(tool)
    },
  })
  await ctx.plugin({
    name: 'log',
    apply: (inner: Context) => void inner.provide('durableLog', log),
  })
  if (options.withCodeGraphs === true) await ctx.plugin(graphRuntime, {} as never)
  await ctx.plugin(graphControl, {})
  await ctx.plugin(agentLoopHost, {} as agentLoopHost.Config)
  const mountHost = () =>
    ctx.plugin(graphHost, { door: false, holdIdleRoot: 'never', ...config } as graphHost.Config)
  let row = mountHost()
  await row
  await ctx.plugin(toolGraph, {} as toolGraph.Config)
  return {
    ctx,
    remount: async () => {
      await row.dispose()
      row = mountHost()
      await row
    },
    dispose: async () => {
      await ctx.root.fiber.dispose()
    },
  }
}

function textOf(value: unknown): string {
  return value instanceof Error ? (value.stack ?? value.message) : String(value)
}
