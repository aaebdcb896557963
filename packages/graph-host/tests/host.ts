/**
 * One DSH process in miniature: the real services in process, the sibling plugins as rows, a scripted
 * model, and the row under test. What the outside world does (how long an operator works) is decided
 * by gates that the test opens.
 */
import { existsSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Context } from '@deepseek-ai/cordis'
import AgentRegistry, { type Agent, type AgentHandle } from '@deepseek-ai/dsh-agent'
import AgentLoop from '@deepseek-ai/dsh-agent-loop'
import LlmRuntime, { CallId } from '@deepseek-ai/dsh-llm'
import SessionStore, { SessionId } from '@deepseek-ai/dsh-session'
import JsonlSessionPersistence from '@deepseek-ai/dsh-session-persistence-jsonl'
import SubagentRuntime from '@deepseek-ai/dsh-subagent'
import SystemPrompt from '@deepseek-ai/dsh-system-prompt'
import ToolRuntime, { type ToolExecutionResult } from '@deepseek-ai/dsh-tools'
import * as agentLoopHost from 'dsh-agent-loop-host'
import * as durableLog from 'dsh-durable-log'
import type { StoredEntry } from 'dsh-durable-log'
import * as graphControl from 'dsh-graph-control'
import type { GraphState, Work } from 'dsh-graph-control'
import * as toolGraph from 'dsh-tool-graph'
import type { DrivingAgentGraphController } from 'dsh-tool-graph'
import { onTestFinished } from 'vitest'
import * as graphHost from '../src/index.ts'
import { say, turnsOf } from './conversation.ts'
import { Gates } from './gates.ts'
import { RecordingModel } from './recording-model.ts'
import { until } from './until.ts'

export { inputsOf, repliesOf, say, turnsOf, wakesOf } from './conversation.ts'
export { settleDown, until } from './until.ts'

export interface LogLine {
  readonly type: string
  readonly text: string
}

export interface HostOptions {
  /** Holds the sessions and the log; none: nothing outlives the process, and no session is resumed. */
  readonly folder?: string
  /** Keeps the log in memory although sessions are kept. */
  readonly fastLog?: boolean
  readonly config?: Partial<graphHost.Config>
  /** Default: all. */
  readonly rows?: readonly Row[]
  /** Runs when the core is there and no row is mounted yet. */
  readonly prepare?: (ctx: Context) => Promise<void> | void
}

export type Row = 'durable-log' | 'graph-control' | 'agent-loop-host' | 'tool-graph' | 'graph-host'

const LOG_FILE = 'log.sqlite'

/** The persona of the deployment. */
export const PERSONA = 'You are a clerk.'

/** The tools come last: without a loader nothing tells them that a boot is still under way. */
const ALL: readonly Row[] = ['durable-log', 'graph-control', 'agent-loop-host', 'graph-host', 'tool-graph']

export interface AddWork {
  readonly workId: string
  readonly instruction: string
  readonly [field: string]: unknown
}

export class Host {
  readonly ctx: Context
  readonly model = new RecordingModel()
  readonly gates = new Gates()
  readonly lines: LogLine[] = []
  private readonly options: HostOptions
  private readonly handles = new Map<string, AgentHandle>()
  private readonly fibers = new Map<Row, { dispose(): PromiseLike<unknown> }>()
  private calls = 0

  private constructor(options: HostOptions) {
    this.options = options
    this.ctx = new Context()
    this.ctx.logger.exporter({
      // Cordis ranks warnings below infos; without a level of its own an exporter misses them.
      levels: { default: 3 },
      export: ({ type, args }) =>
        this.lines.push({
          type,
          text: args
            .map((arg: unknown) => (arg instanceof Error ? (arg.stack ?? '') : String(arg)))
            .join(' '),
        }),
    })
  }

  static async boot(options: HostOptions = {}): Promise<Host> {
    const host = new Host(options)
    onTestFinished(() => host.dispose())
    await host.mountCore()
    await options.prepare?.(host.ctx)
    for (const row of options.rows ?? ALL) await host.mount(row)
    return host
  }

  private async mountCore(): Promise<void> {
    const { ctx, gates, model } = this
    await ctx.plugin(LlmRuntime)
    await ctx.plugin(SessionStore)
    await ctx.plugin(SystemPrompt, { persona: PERSONA })
    await ctx.plugin(ToolRuntime, {})
    await ctx.plugin(AgentRegistry)
    if (this.options.folder !== undefined)
      await ctx.plugin(JsonlSessionPersistence, { root: join(this.options.folder, 'sessions') })
    await ctx.plugin(AgentLoop, { agents: [] })
    await ctx.plugin(SubagentRuntime)
    await ctx.plugin({
      name: 'model-and-gate',
      inject: ['llm', 'tools'],
      apply: (inner: Context) => {
        inner.llm.registerAdapter(['scripted', 'other'], model)
        inner.tools.register(gates.tool())
      },
    })
  }

  /** Mounts one row as a profile would, with its defaults where the options say nothing. */
  async mount(row: Row): Promise<void> {
    const fiber = this.plug(row)
    this.fibers.set(row, fiber)
    await fiber
  }

  async unmount(row: Row): Promise<void> {
    await this.fibers.get(row)?.dispose()
    this.fibers.delete(row)
  }

  private plug(row: Row) {
    const { config = {}, fastLog, folder } = this.options
    switch (row) {
      case 'durable-log':
        return this.ctx.plugin(
          durableLog,
          folder === undefined || fastLog === true
            ? { backend: 'memory' }
            : { backend: 'sqlite', path: join(folder, LOG_FILE) },
        )
      case 'graph-control':
        return this.ctx.plugin(graphControl, {})
      case 'agent-loop-host':
        return this.ctx.plugin(agentLoopHost, {} as agentLoopHost.Config)
      case 'tool-graph':
        return this.ctx.plugin(toolGraph, {} as toolGraph.Config)
      case 'graph-host':
        return this.ctx.plugin(graphHost, { wakeDelayMs: 10, door: false, ...config } as graphHost.Config)
    }
  }

  async dispose(): Promise<void> {
    await this.ctx.root.fiber.dispose()
  }

  async root(id = 'root', options: { resume?: boolean; meta?: { cwd?: string } } = {}): Promise<Agent> {
    const sessionId = SessionId(id)
    const agentOptions = { provider: 'scripted', model: 'root-model' }
    const handle =
      options.resume === true
        ? await this.ctx.agents.resume({ resumeSessionId: sessionId, agentOptions })
        : await this.ctx.agents.create({ sessionId, agentOptions, meta: options.meta ?? {} })
    this.handles.set(id, handle)
    return handle.agent
  }

  /** A root that DSH has written down: it had a turn. */
  async keptRoot(id = 'root'): Promise<Agent> {
    const root = await this.root(id)
    say(root, 'good morning')
    await until(() => turnsOf(root).join() === 'completed')
    await this.ctx.sessions.flush(root.session)
    return root
  }

  /** Ends a session that {@link root} made live. */
  async close(agent: Agent): Promise<void> {
    await this.handles.get(agent.id)?.dispose()
  }

  /** Calls a tool as the loop does, outside of any turn. */
  call(agent: Agent, name: string, args: unknown): Promise<ToolExecutionResult> {
    return this.ctx.tools.execute({
      callId: CallId(`call_${(this.calls += 1)}`),
      name,
      arguments: args,
      agent,
      signal: new AbortController().signal,
    })
  }

  /** Adds works on behalf of a root; fails with the tool's text when it refuses. */
  async add(agent: Agent, ...addWork: AddWork[]): Promise<void> {
    const result = await this.call(agent, 'update_agent_graph', { addWork })
    if (result.isError) throw new Error(textOf(result))
  }

  async stop(agent: Agent, targetId: string, reason = 'not needed'): Promise<void> {
    const result = await this.call(agent, 'update_agent_graph', { stop: [{ targetId, reason }] })
    if (result.isError) throw new Error(textOf(result))
  }

  controller(agent: Agent): DrivingAgentGraphController {
    const service = this.ctx.get('agentGraphController')
    if (service === undefined || !('forSession' in service)) throw new Error('no host provides controllers')
    const controller = service.forSession(agent.id)
    if (controller === undefined) throw new Error(`no controller for ${agent.id}`)
    return controller as DrivingAgentGraphController
  }

  async graph(rootId = 'root'): Promise<GraphState> {
    const epoch = await this.ctx.graphControl.currentEpoch(rootId)
    const state = epoch === undefined ? undefined : await this.ctx.graphControl.readGraph(epoch.graphId)
    if (state === undefined) throw new Error(`${rootId} has no graph`)
    return state
  }

  async work(workId: string, rootId = 'root'): Promise<Work> {
    const work = (await this.graph(rootId)).works.get(workId)
    if (work === undefined) throw new Error(`no work ${workId}`)
    return work
  }

  async whenWork(workId: string, status: Work['status'], rootId = 'root'): Promise<Work> {
    await until(async () => (await this.work(workId, rootId)).status === status, `${workId} ${status}`)
    return this.work(workId, rootId)
  }

  /** The session in which a work is done. */
  async sessionOf(workId: string, rootId = 'root'): Promise<string> {
    const graph = await this.graph(rootId)
    const operatorId = graph.works.get(workId)?.operatorId
    const operator = operatorId === undefined ? undefined : graph.operators.get(operatorId)
    if (operator === undefined) throw new Error(`work ${workId} has no operator yet`)
    return operator.targetSessionId
  }

  /** The live agent in which a work is done. */
  async operatorOf(workId: string, rootId = 'root'): Promise<Agent> {
    const sessionId = await this.sessionOf(workId, rootId)
    const agent = this.ctx.agents.get(SessionId(sessionId))
    if (agent === undefined) throw new Error(`operator ${sessionId} of ${workId} is not live`)
    return agent
  }

  isLive(sessionId: string): boolean {
    return this.ctx.agents.get(SessionId(sessionId)) !== undefined
  }

  async entries(stream: string): Promise<readonly StoredEntry[]> {
    return this.ctx.durableLog.read(stream, { limit: 10_000 })
  }

  /** Types of the entries of a session's run stream, in order. */
  async runEntries(sessionId: string): Promise<readonly string[]> {
    return (await this.entries(`run/${sessionId}`)).map(({ type }) => type)
  }

  warnings(): readonly string[] {
    return this.lines.filter(({ type }) => type === 'warn' || type === 'error').map(({ text }) => text)
  }

  /** What a kill would leave at this moment: a copy of the folder, in which the next host boots. */
  async remains(): Promise<string> {
    if (this.options.folder === undefined) throw new Error('nothing of this host is kept')
    const copy = await temporaryFolder()
    // DSH makes a file under another name first: such a one may be gone before it is copied.
    await cp(this.options.folder, copy, { recursive: true, filter: (from) => !from.endsWith('.tmp') })
    await dropLeases(copy)
    return copy
  }
}

/** A killed process is dead, and its leases with it; this one, whose leases were copied, lives on. */
async function dropLeases(folder: string): Promise<void> {
  const path = join(folder, LOG_FILE)
  if (!existsSync(path)) return
  const log = durableLog.sqliteLog({ path })
  for (const { stream } of (await log.list({ prefix: 'lease/' })).streams) await log.remove(stream)
  await log.close()
}

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'graph-host-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

export function textOf(result: ToolExecutionResult): string {
  return result.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
}
