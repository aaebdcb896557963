/**
 * The controllers of the root sessions of this process, made on demand. A root that comes back with
 * open graphs gets its controller at once, and the graphs go on.
 *
 * A controller ends before the operators of its root do: what their end looks like while a root is
 * taken down is not an end of their works.
 */
import { resolve } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { dshHomePath, expandHomePath } from '@deepseek-ai/dsh-home-paths'
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
import { AttemptGuard } from './attempt-guard.ts'
import { catalogOf, type Config } from './config.ts'
import { textOfError } from './errors.ts'
import { announceGraphChange } from './events.ts'
import { CodeGraphs, type CodeGraphRegistry } from './code-graphs.ts'
import { guardDepth } from './depth-guard.ts'
import { createExecutor } from './executor.ts'
import { Grants, type Confirmation } from './grants.ts'
import { guardOperators } from './lease-guard.ts'
import { createOperatorExecutor } from './operator-executor.ts'
import { laneWaitOf } from './lane-wait.ts'
import { livesOn, whenBooted } from './lives-on.ts'
import { OperatorSessions } from './operator-sessions.ts'
import { listPresets } from './presets.ts'
import { RootAdoption } from './root-adoption.ts'
import { RootLeases } from './root-leases.ts'
import { effortProblems, followRoutes, rootRoute, type Route } from './routes.ts'
import { createWakeSender } from './root-wakes.ts'
import { Worktrees } from './worktrees.ts'

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
  private readonly grants: Grants
  private readonly worktrees: Worktrees
  private readonly guard: AttemptGuard
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
    const log = ctx.get('durableLog') as DurableLog | undefined
    const warn = (text: string): void => void this.log.warn('%s', text)
    this.grants = new Grants(log)
    const { worktreeFolder } = config
    this.worktrees = new Worktrees(
      store,
      worktreeFolder === undefined
        ? dshHomePath('graph', 'worktrees')
        : resolve(expandHomePath(worktreeFolder)),
    )
    const { grants, worktrees } = this
    this.operators = new OperatorSessions({ ctx, config, store, grants, worktrees })
    this.guard = new AttemptGuard({
      ctx,
      operatorOf: (sessionId) => this.operators.operatorOf(sessionId),
      abort: (runId, cause) => loop.abort({ runId, cause }),
      unknownToolCalls: config.unknownToolCalls,
      warn,
    })
    this.graphs = new CodeGraphs({
      registry: () => ctx.get('graphTools') as CodeGraphRegistry | undefined,
      log,
      get timeoutMs() {
        return config.operatorTimeoutMs
      },
    })
    this.leases = log === undefined ? undefined : new RootLeases({ log, ttlMs: config.leaseMs, warn })
  }

  /** Starts to serve; everything ends with the context. */
  mount(): void {
    this.ctx.effect(
      () => this.loop.registerOpener((sessionId) => this.operators.open(sessionId)),
      'operator opener',
    )
    const { config, ctx, leases, operators } = this
    this.guard.mount()
    followRoutes(ctx, (sessionId) => operators.operatorOf(sessionId))
    guardDepth({ ctx, maxDepth: config.maxDepth, isOperator: (id) => operators.rootIdOf(id) !== undefined })
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
    void this.adoptLater()
  }

  /** Roots of earlier processes are taken up when the rows that serve them have had their start. */
  private async adoptLater(): Promise<void> {
    const { config, ctx, leases, loop, store } = this
    await whenBooted(ctx)
    if (!this.closed) await this.worktrees.reclaim((text) => void this.log.warn('%s', text))
    const log = ctx.get('durableLog') as DurableLog | undefined
    if (this.closed || log === undefined || leases === undefined || !livesOn(ctx, config)) return
    // Nothing can be resumed without it, and nothing is known to be deleted.
    if (ctx.get('sessionPersistence') === undefined) return
    const adoption = new RootAdoption({
      ctx,
      store,
      loop,
      log,
      leases,
      atOnce: config.maxAdoptedRoots,
      controllerOf: (id) => this.forSession(id),
      makeController: (id) => this.makeController(id),
      warn: (text) => void this.log.warn('%s', text),
    })
    await adoption.start()
  }

  /** The controller of a live root, made if need be; `undefined` for anything else. */
  forSession(sessionId: string): DrivingAgentGraphController | undefined {
    const known = this.served.get(sessionId)
    if (known !== undefined) return known.controller
    const agent = this.ctx.agents.get(SessionId(sessionId))
    if (agent === undefined || this.closed || !isRootAgent(agent)) return undefined
    return this.serve(agent)
  }

  /**
   * A person lets a held work go on; never called for a model.
   *
   * @throws GraphHostError `nothing-to-confirm`, `invalid-grant`.
   */
  confirm(confirmation: Confirmation): Promise<void> {
    return this.grants.confirm(this.store, confirmation)
  }

  /** The controller of a root that already has one. */
  known(sessionId: string): DrivingAgentGraphController | undefined {
    return this.served.get(sessionId)?.controller
  }

  /** What is configured has changed: there may be room for more. */
  lookAgain(): void {
    for (const { controller } of this.served.values()) controller.lookAgain()
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
    const { config, ctx, graphs, guard, leases, log, loop, operators, store } = this
    const sessions = createExecutor({
      loop,
      operators,
      guard,
      get timeoutMs() {
        return config.operatorTimeoutMs
      },
    })
    return createAgentGraphController({
      store,
      rootSessionId,
      ...(leases === undefined ? {} : { leases: leases.of(rootSessionId) }),
      observeGraph: ({ graphId, seq, revision }) =>
        announceGraphChange(ctx, { graphId, rootSessionId, seq, revision }),
      options: {
        executor: createOperatorExecutor({ store, sessions, graphs }),
        wakes: createWakeSender({ ctx, loop, rootSessionId }),
        get maxNewActivations() {
          return config.maxNewActivations
        },
        get limits() {
          return config.limits
        },
        wakeDelayMs: config.wakeDelayMs,
        catalog: async () => ({ ...catalogOf(config, await listPresets(ctx)), graphs: graphs.catalog() }),
        checkWork: (work) => effortProblems(ctx, config, this.routeOfRoot(rootSessionId), work),
        checkArgs: (name, args) => graphs.check(name, args),
        runWait: ({ targetSessionId }) => laneWaitOf(loop, targetSessionId),
        onError: (error, doing) => void log.warn('%s', `${doing}: ${textOfError(error)}`),
      },
    })
  }

  private routeOfRoot(rootSessionId: string): Route {
    const root = this.ctx.agents.get(SessionId(rootSessionId))
    return root === undefined ? {} : rootRoute(root)
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
