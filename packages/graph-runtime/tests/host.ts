/** A real DSH core in process, with the plugin in it. */
import { randomUUID } from 'node:crypto'
import { Context } from '@deepseek-ai/cordis'
import { AgentRegistry, type Agent } from '@deepseek-ai/dsh-agent'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import { CallId, LlmRuntime } from '@deepseek-ai/dsh-llm'
import { SessionId, SessionStore } from '@deepseek-ai/dsh-session'
import { SystemPrompt } from '@deepseek-ai/dsh-system-prompt'
import { ToolRuntime, type ToolExecutionResult } from '@deepseek-ai/dsh-tools'
import { onTestFinished } from 'vitest'
import * as graphRuntime from '../src/index.ts'
import type { GraphDefinitionOptions, GraphToolRegistry, PublishedGraphDefinition } from '../src/index.ts'

export interface LogLine {
  readonly type: string
  readonly text: string
}

export interface CallOptions {
  readonly signal?: AbortSignal
  readonly agent?: Agent
}

export interface Host {
  readonly ctx: Context
  readonly log: readonly LogLine[]
  /** Texts of the warnings so far. */
  warnings(): string[]
  /** Loads the plugin as a row does. */
  load(): Promise<{ dispose(): Promise<void> }>
  graphTools(): GraphToolRegistry
  /** Runs a tool through the whole DSH pipeline. */
  call(name: string, args: unknown, options?: CallOptions): Promise<ToolExecutionResult>
  /** Names of the tools that an agent, or everybody, sees. */
  toolNames(agent?: Agent): string[]
}

function hostOf(ctx: Context): Host {
  const log: LogLine[] = []
  ctx.logger.exporter({
    // Cordis ranks warnings below infos; without a level of its own an exporter misses them.
    levels: { default: 2 },
    export: ({ type, args }) => log.push({ type, text: String(args.at(-1)) }),
  })
  onTestFinished(() => ctx.fiber.dispose())
  const tools = (): ToolRuntime => ctx.get('tools') ?? fail('no ctx.tools')
  return {
    ctx,
    log,
    warnings: () => log.flatMap(({ type, text }) => (type === 'warn' ? text : [])),
    load: async () => {
      const fiber = ctx.plugin(graphRuntime, {})
      await fiber
      return fiber
    },
    graphTools: () => ctx.get('graphTools') ?? fail('no ctx.graphTools'),
    call: (name, args, options = {}) =>
      tools().execute({
        callId: CallId(randomUUID()),
        name,
        arguments: args,
        signal: options.signal ?? new AbortController().signal,
        ...(options.agent === undefined ? {} : { agent: options.agent }),
      }),
    toolNames: (agent) =>
      tools()
        .schemas(agent)
        .map((schema) => schema.name),
  }
}

function fail(message: string): never {
  throw new Error(message)
}

/** DSH's tool runtime without the plugin. */
export async function bootTools(): Promise<Host> {
  const ctx = new Context()
  await ctx.plugin(SystemPrompt, {})
  await ctx.plugin(ToolRuntime, {})
  return hostOf(ctx)
}

/** DSH's tool runtime with the plugin. */
export async function bootGraphs(): Promise<Host> {
  const host = await bootTools()
  await host.load()
  return host
}

/** The whole agent loop with the plugin. */
export async function bootAgents(): Promise<Host> {
  const ctx = new Context()
  await ctx.plugin(LlmRuntime)
  await ctx.plugin(SessionStore)
  await ctx.plugin(SystemPrompt, {})
  await ctx.plugin(ToolRuntime, {})
  await ctx.plugin(AgentRegistry)
  await ctx.plugin(AgentLoop, { agents: [] })
  const host = hostOf(ctx)
  await host.load()
  return host
}

export async function createAgent(ctx: Context): Promise<Agent> {
  const agents = ctx.get('agents') ?? fail('no ctx.agents')
  const { agent } = await agents.create({
    sessionId: SessionId(randomUUID()),
    agentOptions: { provider: 'none', model: 'none' },
  })
  return agent
}

/** Keeps a published definition from outliving its test. */
export function published(definition: PublishedGraphDefinition): PublishedGraphDefinition {
  onTestFinished(() => definition.dispose())
  return definition
}

/** `defineGraph`, taken back when the test ends. */
export function define(options: GraphDefinitionOptions): PublishedGraphDefinition {
  return published(graphRuntime.defineGraph(options))
}

/** The canonical value of a result that succeeded. */
export function valueOf(result: ToolExecutionResult): unknown {
  if (result.isError) throw new Error(`the call failed: ${result.error.message}`)
  return result.value
}

/** `{ message, code }` of a result that failed. */
export function errorOf(result: ToolExecutionResult): { message: string; code: string | undefined } {
  if (!result.isError) throw new Error(`the call succeeded: ${JSON.stringify(result.value)}`)
  return { message: result.error.message, code: result.error.info?.code }
}
