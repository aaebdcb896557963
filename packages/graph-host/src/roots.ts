/**
 * The controllers of the root sessions of this process, made on demand. A root that comes back with
 * open graphs gets its controller at once, and the graphs go on.
 */
import type { Context } from '@deepseek-ai/cordis'
import { SessionId } from '@deepseek-ai/dsh-session'
import type { AgentLoopHost } from 'dsh-agent-loop-host'
import type { GraphControl } from 'dsh-graph-control'
import {
  createAgentGraphController,
  isRootAgent,
  type AgentGraphControllers,
  type DrivingAgentGraphController,
} from 'dsh-tool-graph'
import { catalogOf, type Config } from './config.ts'
import './events.ts'
import { createExecutor } from './executor.ts'
import { OperatorSessions } from './operator-sessions.ts'
import { createWakeSender } from './root-wakes.ts'

export class Roots implements AgentGraphControllers {
  private readonly ctx: Context
  private readonly config: Config
  private readonly store: GraphControl
  private readonly loop: AgentLoopHost
  private readonly operators: OperatorSessions
  private readonly controllers = new Map<string, DrivingAgentGraphController>()

  constructor(ctx: Context, config: Config, store: GraphControl, loop: AgentLoopHost) {
    this.ctx = ctx
    this.config = config
    this.store = store
    this.loop = loop
    this.operators = new OperatorSessions(ctx, config)
  }

  /** Starts to serve; everything ends with the context. */
  mount(): void {
    this.ctx.effect(
      () => this.loop.registerOpener((sessionId) => this.operators.open(sessionId)),
      'operator opener',
    )
    this.ctx.on('agent/created', ({ agent }) => {
      if (isRootAgent(agent)) void this.takeUp(agent.id)
    })
    this.ctx.on('agent/disposed', ({ agent }) => {
      if (isRootAgent(agent)) void this.drop(agent.id)
    })
    for (const agent of this.ctx.agents.list()) if (isRootAgent(agent)) void this.takeUp(agent.id)
    this.ctx.effect(
      () => () => Promise.all([...this.controllers.keys()].map((sessionId) => this.drop(sessionId))),
      'graph controllers',
    )
  }

  /** The controller of a live root, made if need be; `undefined` for anything else. */
  forSession(sessionId: string): DrivingAgentGraphController | undefined {
    const known = this.controllers.get(sessionId)
    if (known !== undefined) return known
    const agent = this.ctx.agents.get(SessionId(sessionId))
    if (agent === undefined || !isRootAgent(agent)) return undefined
    const controller = this.makeController(sessionId)
    this.controllers.set(sessionId, controller)
    return controller
  }

  /** The controller of a root that already has one. */
  known(sessionId: string): DrivingAgentGraphController | undefined {
    return this.controllers.get(sessionId)
  }

  private makeController(rootSessionId: string): DrivingAgentGraphController {
    const { config, ctx, loop, operators, store } = this
    const log = ctx.logger('dsh-graph-host')
    return createAgentGraphController({
      store,
      rootSessionId,
      observeGraph: ({ graphId, seq, revision }) =>
        ctx.emit('graph/change', { graphId, rootSessionId, seq, revision }),
      options: {
        executor: createExecutor({ loop, operators, timeoutMs: config.operatorTimeoutMs }),
        wakes: createWakeSender(ctx, loop, rootSessionId),
        maxNewActivations: config.maxNewActivations,
        wakeDelayMs: config.wakeDelayMs,
        catalog: () => catalogOf(config),
        onError: (error, doing) => log.warn(`${doing}:`, error),
      },
    })
  }

  private async takeUp(sessionId: string): Promise<void> {
    try {
      if ((await this.store.currentEpoch(sessionId)) !== undefined)
        await this.forSession(sessionId)?.recover()
    } catch (error) {
      this.ctx.logger('dsh-graph-host').warn(`graphs of ${sessionId} could not be taken up:`, error)
    }
  }

  private async drop(sessionId: string): Promise<void> {
    const controller = this.controllers.get(sessionId)
    this.controllers.delete(sessionId)
    this.operators.forgetRoot(sessionId)
    await controller?.dispose()
  }
}
