/**
 * One DSH process in miniature: the real services, a gated model, a log, and the host under test.
 * A *crash* copies what is on the medium at that moment and boots a new world from the copy.
 */
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Context } from '@deepseek-ai/cordis'
import AgentRegistry, { type Agent } from '@deepseek-ai/dsh-agent'
import AgentLoop from '@deepseek-ai/dsh-agent-loop'
import LlmRuntime, { createUserMessage } from '@deepseek-ai/dsh-llm'
import SessionStore, { SessionId } from '@deepseek-ai/dsh-session'
import JsonlSessionPersistence from '@deepseek-ai/dsh-session-persistence-jsonl'
import SystemPrompt from '@deepseek-ai/dsh-system-prompt'
import ToolRuntime from '@deepseek-ai/dsh-tools'
import { memoryLog, type DurableLog, type Processes } from 'dsh-durable-log'
import { onTestFinished } from 'vitest'
import type { Clock } from '../../src/clock.ts'
import { Config } from '../../src/config.ts'
import type { AgentLoopHost } from '../../src/index.ts'
import { mountHost } from '../../src/mount-host.ts'
import type { RunHost } from '../../src/host.ts'
import { GateModel } from './gate-model.ts'
import { ManualClock } from './manual-clock.ts'

export interface WorldOptions {
  readonly log?: DurableLog
  /** Folder of the session logs; none means that nothing of a session is persisted. */
  readonly sessions?: string
  readonly config?: Partial<Config>
  /** Which process the host believes to be in; for leases between processes. */
  readonly processes?: Processes
  /** Times what nobody waits for; the test moves it. Default: the system's. */
  readonly background?: Clock
}

export class World {
  readonly ctx: Context
  readonly model: GateModel
  readonly clock: ManualClock
  /** Leases have a clock of their own, so that tests of runs see the timers of runs only. */
  readonly leaseClock = new ManualClock()
  readonly log: DurableLog
  readonly sessions: string | undefined
  private readonly config: Config
  private readonly processes: Processes | undefined
  private readonly background: Clock | undefined
  private runHost: RunHost | undefined
  private row: { dispose(): PromiseLike<unknown> } | undefined

  private constructor(parts: {
    ctx: Context
    model: GateModel
    clock: ManualClock
    log: DurableLog
    sessions: string | undefined
    config: Config
    processes: Processes | undefined
    background: Clock | undefined
  }) {
    this.ctx = parts.ctx
    this.model = parts.model
    this.clock = parts.clock
    this.log = parts.log
    this.sessions = parts.sessions
    this.config = parts.config
    this.processes = parts.processes
    this.background = parts.background
  }

  /** Boots a world; the test that asked for it disposes it, and fails when a timer is left. */
  static async boot(options: WorldOptions = {}): Promise<World> {
    const { log = memoryLog(), sessions } = options
    const ctx = new Context()
    await bootServices(ctx, sessions)
    const model = GateModel.register(ctx)
    ctx.provide('durableLog', log)
    const clock = new ManualClock()
    const config = Config(options.config ?? {})
    const { processes, background } = options
    const world = new World({ ctx, model, clock, log, sessions, config, processes, background })
    await world.mount()
    onTestFinished(async () => {
      await ctx.fiber.dispose()
      const left = clock.pending + world.leaseClock.pending
      if (left !== 0) throw new Error(`${left} timers are left`)
    })
    return world
  }

  get host(): AgentLoopHost {
    const host = this.ctx.get('agentLoopHost') as AgentLoopHost | undefined
    if (host === undefined) throw new Error('the host is not provided')
    return host
  }

  /** What the host holds of events; also when it is unloaded. */
  get streams(): RunHost['events'] {
    if (this.runHost === undefined) throw new Error('the host was never mounted')
    return this.runHost.events
  }

  /** Loads the host alone, for the first time or again. */
  async mount(changes: Partial<Config> = {}): Promise<void> {
    this.row = await this.ctx.plugin({
      name: 'agent-loop-host-under-test',
      inject: ['agents', 'sessions', 'durableLog'],
      apply: async (live: Context) => {
        const { clock, leaseClock, processes, background } = this
        this.runHost = await mountHost(
          live,
          { ...this.config, ...changes },
          {
            clock,
            leaseClock,
            ...(processes === undefined ? {} : { processes }),
            ...(background === undefined ? {} : { background }),
          },
        )
      },
    })
  }

  /** Unloads the host alone. */
  async unload(): Promise<void> {
    await this.row?.dispose()
  }

  async createAgent(sessionId: string): Promise<Agent> {
    const { agent } = await this.ctx.agents.create({
      sessionId: SessionId(sessionId),
      agentOptions: { provider: 'gate', model: 'm' },
    })
    return agent
  }

  async accept(sessionId: string, message: string, more: object = {}): Promise<string> {
    const request = { sessionId, message, idempotencyKey: `key of ${message}`, ...more }
    return (await this.host.accept(request)).runId
  }

  /** Copies the medium as it is now, as a kill would leave it, and boots a new world from it. */
  async crash(options: Omit<WorldOptions, 'log' | 'sessions'> = {}): Promise<World> {
    const remains = await this.remains()
    return await World.boot({ ...options, ...remains })
  }

  async remains(): Promise<{ log: DurableLog; sessions?: string }> {
    const log = await copyLog(this.log)
    if (this.sessions === undefined) return { log }
    const sessions = await temporaryFolder()
    await cp(this.sessions, sessions, { recursive: true })
    return { log, sessions }
  }

  /** The types of a session's run entries in order. */
  async entries(sessionId: string): Promise<readonly string[]> {
    return (await this.log.read(`run/${sessionId}`)).map((entry) => entry.type)
  }

  /** How often each run's terminal entry stands in the log. */
  async terminalEntries(sessionId: string): Promise<Record<string, number>> {
    const counts: Record<string, number> = {}
    for (const { type, data } of await this.log.read(`run/${sessionId}`)) {
      if (type !== 'run/settled') continue
      const { runId } = data as { runId: string }
      counts[runId] = (counts[runId] ?? 0) + 1
    }
    return counts
  }
}

export async function bootServices(ctx: Context, sessions: string | undefined): Promise<void> {
  await ctx.plugin(LlmRuntime)
  await ctx.plugin(SessionStore)
  await ctx.plugin(SystemPrompt, {})
  await ctx.plugin(ToolRuntime, {})
  await ctx.plugin(AgentRegistry)
  if (sessions !== undefined) await ctx.plugin(JsonlSessionPersistence, { root: sessions })
  await ctx.plugin(AgentLoop, { agents: [] })
}

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-loop-host-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

export async function copyLog(from: DurableLog): Promise<DurableLog> {
  const log = memoryLog()
  const { streams } = await from.list({ limit: 1000 })
  for (const { stream } of streams) {
    const entries = (await from.read(stream)).map(({ type, data }) => ({ type, data }))
    await log.append(stream, 0, entries)
  }
  return log
}

/** Keeps an idle agent from taking up its inbox until the returned function is called. */
export function occupy(agent: Agent): () => void {
  const done = Promise.withResolvers<void>()
  void agent.runMaintenance((signal) => {
    signal.addEventListener('abort', () => done.resolve(), { once: true })
    return done.promise
  })
  return done.resolve
}

/** What a person types. */
export function typed(text: string) {
  return createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } })
}

/** Ids of the user messages in a session's conversation. */
export function conversation(agent: Agent): readonly string[] {
  return agent.session.events.flatMap((event) => (event.type === 'user/message' ? [event.data.id] : []))
}
