/** One DSH process in miniature for the benches: real services, real rows, a model that takes a set time. */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Context } from '@deepseek-ai/cordis'
import AgentRegistry, { type Agent } from '@deepseek-ai/dsh-agent'
import AgentLoop from '@deepseek-ai/dsh-agent-loop'
import LlmRuntime, { LlmAdapter, type GenerateOptions, type StreamChunk } from '@deepseek-ai/dsh-llm'
import SessionStore, { SessionId } from '@deepseek-ai/dsh-session'
import JsonlSessionPersistence from '@deepseek-ai/dsh-session-persistence-jsonl'
import SubagentRuntime from '@deepseek-ai/dsh-subagent'
import * as spawnInProcess from '@deepseek-ai/dsh-subagent-spawn-in-process'
import SystemPrompt from '@deepseek-ai/dsh-system-prompt'
import ToolRuntime from '@deepseek-ai/dsh-tools'
import * as agentLoopHost from 'dsh-agent-loop-host'
import * as durableLog from 'dsh-durable-log'
import * as graphControl from 'dsh-graph-control'
import type { GraphState } from 'dsh-graph-control'
import * as toolGraph from 'dsh-tool-graph'
import type { AddWorkInput, DrivingAgentGraphController } from 'dsh-tool-graph'
import * as graphHost from '../src/index.ts'

/** Says one word after a time, and keeps when each session was asked and answered. */
class TimedModel extends LlmAdapter {
  readonly askedAt = new Map<string, number>()
  readonly answeredAt = new Map<string, number>()
  private readonly delayMs: number

  constructor(delayMs: number) {
    super()
    this.delayMs = delayMs
  }

  override async *stream({ sessionId }: GenerateOptions): AsyncIterable<StreamChunk> {
    this.askedAt.set(String(sessionId), performance.now())
    if (this.delayMs > 0) await pause(this.delayMs)
    yield { type: 'block-start', index: 0, blockType: 'text' }
    yield { type: 'text-delta', index: 0, text: 'done' }
    yield { type: 'block-end', index: 0, block: { type: 'text', text: 'done' } }
    yield { type: 'usage', usage: { inputTokens: 10, outputTokens: 1 } }
    this.answeredAt.set(String(sessionId), performance.now())
    yield { type: 'finish', reason: { kind: 'stop' } }
  }
}

export interface BenchOptions {
  readonly modelMs: number
  readonly config?: Partial<graphHost.Config>
}

export class Composition implements AsyncDisposable {
  readonly ctx = new Context()
  readonly model: TimedModel
  private readonly folder = mkdtempSync(join(tmpdir(), 'graph-host-bench-'))
  private calls = 0

  private constructor({ modelMs }: BenchOptions) {
    this.model = new TimedModel(modelMs)
  }

  static async boot(options: BenchOptions): Promise<Composition> {
    const composition = new Composition(options)
    const { ctx, folder, model } = composition
    await ctx.plugin(LlmRuntime)
    await ctx.plugin(SessionStore)
    await ctx.plugin(SystemPrompt, {})
    await ctx.plugin(ToolRuntime, {})
    await ctx.plugin(AgentRegistry)
    await ctx.plugin(JsonlSessionPersistence, { root: join(folder, 'sessions') })
    await ctx.plugin(AgentLoop, { agents: [] })
    await ctx.plugin(SubagentRuntime)
    await ctx.plugin(spawnInProcess as never, {} as never)
    await ctx.plugin({
      name: 'timed-model',
      inject: ['llm'],
      apply: (inner: Context) => void inner.llm.registerAdapter(['timed'], model),
    })
    await ctx.plugin(durableLog, { backend: 'sqlite', path: composition.logFile })
    await ctx.plugin(graphControl, {})
    await ctx.plugin(agentLoopHost, {} as agentLoopHost.Config)
    await ctx.plugin(graphHost, (options.config ?? {}) as graphHost.Config)
    await ctx.plugin(toolGraph, {} as toolGraph.Config)
    return composition
  }

  get logFile(): string {
    return join(this.folder, 'log.sqlite')
  }

  logBytes(): number {
    return statSync(this.logFile).size
  }

  async root(id: string): Promise<Agent> {
    const agentOptions = { provider: 'timed', model: 'timed' }
    return (await this.ctx.agents.create({ sessionId: SessionId(id), agentOptions, meta: {} })).agent
  }

  /** Commits works on behalf of a root, as its tool does; at most 32. */
  async add(rootId: string, works: readonly AddWorkInput[]): Promise<void> {
    const service = this.ctx.get('agentGraphController')
    const controller =
      service !== undefined && 'forSession' in service ? service.forSession(rootId) : undefined
    if (controller === undefined) throw new Error(`no controller of ${rootId}`)
    this.calls += 1
    const call = { sessionId: rootId, turn: 1, toolCallId: `call_${this.calls}` }
    await (controller as DrivingAgentGraphController).update(call, { addWork: works })
  }

  async graph(rootId: string): Promise<GraphState> {
    const epoch = await this.ctx.graphControl.currentEpoch(rootId)
    const state = epoch === undefined ? undefined : await this.ctx.graphControl.readGraph(epoch.graphId)
    if (state === undefined) throw new Error(`${rootId} has no graph`)
    return state
  }

  /** Resolves when so many works of the root's graph have ended. */
  whenEnded(rootId: string, count: number): Promise<void> {
    return new Promise((resolve) => {
      const off = this.ctx.graphControl.onCommitted((state) => {
        if (state.rootSessionId !== rootId || state.counts.terminal < count) return
        off()
        resolve()
      })
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.ctx.root.fiber.dispose()
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

export function worksNamed(prefix: string, count: number): readonly AddWorkInput[] {
  return Array.from({ length: count }, (_, index) => ({
    workId: `${prefix}${index}`,
    instruction: 'Say one word.',
    inputIds: [],
  }))
}
