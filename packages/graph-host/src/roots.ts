/**
 * The controllers of the root sessions of this process, made on demand. A root that comes back with
 * open graphs gets its controller at once, and the graphs go on.
 *
 * A controller ends before the operators of its root do: what their end looks like while a root is
 * taken down is not an end of their works.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { SessionId } from '@deepseek-ai/dsh-session'
import type { AgentLoopHost } from 'dsh-agent-loop-host'
import type { DurableLog } from 'dsh-durable-log'
import type { GraphControl } from 'dsh-graph-control'
import {
  createAgentGraphController,
  isRootAgent,
  type AgentGraphControllers,
  type DrivingAgentGraphController,
} from 'dsh-tool-graph'
import { catalogOf, type Config } from './config.ts'
import { textOfError } from './errors.ts'
import { announceGraphChange } from './events.ts'
import { CodeGraphs, type CodeGraphRegistry } from './code-graphs.ts'
import { createExecutor } from './executor.ts'
import { guardOperators } from './lease-guard.ts'
import { createOperatorExecutor } from './operator-executor.ts'
import { OperatorSessions } from './operator-sessions.ts'
import { RootLeases } from './root-leases.ts'
import { createWakeSender } from './root-wakes.ts'

interface ServedRoot {
  readonly controller: DrivingAgentGraphController
  /** Ends the service of this root. Idempotent. */
  readonly leave: () => unknown
}

export class Roots implements AgentGraphControllers {
  private readonly ctx: Context
  private readonly config: Config
  private readonly store: GraphControl
  private readonly loop: AgentLoopHost
  private readonly log: ReturnType<Context['logger']>
  private readonly operators: OperatorSessions
  private readonly graphs: CodeGraphs
  /** Without a durable log of several processes there is nobody to share a root with. */
  private readonly leases: RootLeases | undefined
  private readonly served = new Map<string, ServedRoot>()
  private closed = false

  constructor(ctx: Context, config: Config, store: GraphControl, loop: AgentLoopHost) {
    this.ctx = ctx
    this.config = config
    this.store = store
    this.loop = loop
    this.log = ctx.logger('dsh-graph-host')
    this.operators = new OperatorSessions({ ctx, config, store })
    const log = ctx.get('durableLog') as DurableLog | undefined
    this.graphs = new CodeGraphs({
      registry: () => ctx.get('graphTools') as CodeGraphRegistry | undefined,
      log,
      timeoutMs: config.operatorTimeoutMs,
    })
    const warn = (text: string): void => void this.log.warn('%s', text)
    this.leases = log === undefined ? undefined : new RootLeases({ log, ttlMs: config.leaseMs, warn })
  }

  /** Starts to serve; everything ends with the context. */
  mount(): void {
    this.ctx.effect(
      () => this.loop.registerOpener((sessionId) => this.operators.open(sessionId)),
      'operator opener',
    )
    const { leases, operators } = this
    if (leases !== undefined) {
      const guard = {
        rootOf: (id: string) => operators.rootIdOf(id),
        holds: (id: string) => leases.holds(id),
      }
      guardOperators(this.ctx, guard)
      this.ctx.effect(() => () => leases.settled(), 'leases of root sessions')
    }
    this.ctx.on('agent/created', ({ agent }) => void this.takeUp(agent))
    for (const agent of this.ctx.agents.list()) void this.takeUp(agent)
    this.ctx.effect(() => () => this.close(), 'graph controllers')
  }

  /** The controller of a live root, made if need be; `undefined` for anything else. */
  forSession(sessionId: string): DrivingAgentGraphController | undefined {
    const known = this.served.get(sessionId)
    if (known !== undefined) return known.controller
    const agent = this.ctx.agents.get(SessionId(sessionId))
    if (agent === undefined || this.closed || !isRootAgent(agent)) return undefined
    return this.serve(agent)
  }

  /** The controller of a root that already has one. */
  known(sessionId: string): DrivingAgentGraphController | undefined {
    return this.served.get(sessionId)?.controller
  }

  /** Whether this process acts for the graphs of a root now. */
  drives(sessionId: string): boolean {
    return this.served.has(sessionId) && this.leases?.holds(sessionId) !== false
  }

  private serve(root: Agent): DrivingAgentGraphController {
    const controller = this.makeController(root.id)
    // In the root's own scope: the root's operators are disposed together with it.
    const leave = root.ctx.effect(() => () => this.drop(root.id), 'agent graph controller')
    this.served.set(root.id, { controller, leave })
    return controller
  }

  private makeController(rootSessionId: string): DrivingAgentGraphController {
    const { config, ctx, graphs, leases, log, loop, operators, store } = this
    const sessions = createExecutor({ loop, operators, timeoutMs: config.operatorTimeoutMs })
    return createAgentGraphController({
      store,
      rootSessionId,
      ...(leases === undefined ? {} : { leases: leases.of(rootSessionId) }),
      observeGraph: ({ graphId, seq, revision }) =>
        announceGraphChange(ctx, { graphId, rootSessionId, seq, revision }),
      options: {
        executor: createOperatorExecutor({ store, sessions, graphs }),
        wakes: createWakeSender({ ctx, loop, rootSessionId }),
        maxNewActivations: config.maxNewActivations,
        wakeDelayMs: config.wakeDelayMs,
        catalog: () => ({ ...catalogOf(config), graphs: graphs.catalog() }),
        checkArgs: (name, args) => graphs.check(name, args),
        onError: (error, doing) => void log.warn('%s', `${doing}: ${textOfError(error)}`),
      },
    })
  }

  private async takeUp(agent: Agent): Promise<void> {
    if (!isRootAgent(agent)) return
    try {
      if ((await this.store.currentEpoch(agent.id)) !== undefined) await this.forSession(agent.id)?.recover()
    } catch (error) {
      if (this.closed) return
      this.log.warn('%s', `graphs of ${agent.id} could not be taken up: ${textOfError(error)}`)
    }
  }

  private async drop(sessionId: string): Promise<void> {
    const root = this.served.get(sessionId)
    this.served.delete(sessionId)
    await root?.controller.dispose()
    await this.operators.forgetRoot(sessionId)
  }

  private async close(): Promise<void> {
    this.closed = true
    await Promise.all([...this.served.values()].map(({ leave }) => leave()))
  }
}
