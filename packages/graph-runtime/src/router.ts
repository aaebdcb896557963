/**
 * The routing agent: a model chooses one graph of the registry for a request, and the graph runs. One
 * round, no conversation: what the graph gives goes to the caller, not back to the model.
 *
 * Owns the life of a routing: it ends with its caller's signal and with the context the agent was made
 * with. How a routing goes is `routing-round.ts`.
 */
import { Context } from '@deepseek-ai/cordis'
import { scopeOf } from '@deepseek-ai/dsh-scope'
import { CallScope } from './call-scope.ts'
import { servicesOf } from './call-services.ts'
import { GraphError } from './errors.ts'
import { checkRouting, isHistory, type CheckedRouting } from './routing-config.ts'
import { GraphRoutingConfigError } from './routing-errors.ts'
import { RoutingEvents } from './routing-events.ts'
import { RoutingRound } from './routing-round.ts'
import type { GraphRoutingConfig, GraphRoutingOutcome, GraphRoutingRequest } from './routing-types.ts'

export class GraphRoutingAgent {
  private readonly ctx: Context
  private readonly config: CheckedRouting

  /**
   * @param ctx owner: its disposal ends what is being routed, its scope decides which graphs are seen,
   *   and listeners of the routing events see it as `this`. Needs `ctx.llm` and `ctx.graphTools`, but
   *   only when something is routed.
   * @throws {GraphRoutingConfigError} everything that is wrong with `config`, except the filter.
   */
  constructor(ctx: Context, config: GraphRoutingConfig) {
    if (!Context.is(ctx)) throw new GraphRoutingConfigError(['the first argument must be a context'])
    this.ctx = ctx
    this.config = checkRouting(config, servicesOf(ctx))
  }

  /**
   * Lets the model choose a graph and runs it. Calls may overlap.
   *
   * @throws {GraphRoutingError} no acceptable choice within `maxRetries`; {@link GraphRoutingConfigError}
   *   a wrong request or filter, or a missing service, before the model is called;
   *   {@link GraphRoutingModelError} a failed model call; the graph's own error, a listener's error and
   *   the reason of the signal unchanged.
   */
  async route(request: GraphRoutingRequest): Promise<GraphRoutingOutcome> {
    checkRequest(request)
    const life = new CallScope({ graph: 'routing', signal: request.signal })
    const release = this.hold(life)
    try {
      life.check()
      return await this.round(request, life).run()
    } finally {
      life.release()
      release()
    }
  }

  private round(request: GraphRoutingRequest, life: CallScope): RoutingRound {
    const graphs = this.ctx.get('graphTools')
    const llm = this.ctx.get('llm')
    if (graphs === undefined) throw missing('ctx.graphTools', 'load the dsh-graph-runtime plugin')
    if (llm === undefined) throw missing('ctx.llm', 'route where a model can be called')
    const scope = request.agent ?? scopeOf(this.ctx)
    const events = new RoutingEvents(this.ctx, scope, life)
    return new RoutingRound({
      config: this.config,
      request,
      registry: { graphs, scope },
      llm,
      events,
      life,
      signal: life.signal,
    })
  }

  /**
   * Binds a routing to the owner's life: its disposal aborts the routing and waits for its end.
   *
   * @returns to be called at the end.
   * @throws {GraphError} the owner is gone.
   */
  private hold(life: CallScope): () => void {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    let over = false
    const abort = (): Promise<void> => {
      if (!over) life.abort(gone())
      return ended
    }
    let leave: () => unknown
    try {
      leave = this.ctx.effect(() => abort, 'graph routing')
    } catch (error) {
      life.release()
      throw gone({ cause: error })
    }
    return () => {
      over = true
      end()
      void leave()
    }
  }
}

function gone(options?: ErrorOptions): GraphError {
  const message = 'the context of the graph router was disposed; make a router on a live one'
  return new GraphError('GRAPH_UNMOUNTED', undefined, message, options)
}

function missing(service: string, cure: string): GraphRoutingConfigError {
  return new GraphRoutingConfigError([`there is no ${service}; ${cure}`])
}

/** @throws {GraphRoutingConfigError} everything that is wrong with a request. */
function checkRequest(request: unknown): asserts request is GraphRoutingRequest {
  const fields: object = typeof request === 'object' && request !== null ? request : {}
  const problems: string[] = []
  const input: unknown = Reflect.get(fields, 'input')
  if (typeof input !== 'string' || input.trim() === '') problems.push('route needs input, a request text')
  const signal: unknown = Reflect.get(fields, 'signal')
  if (signal !== undefined && !(signal instanceof AbortSignal)) problems.push('signal must be an AbortSignal')
  const history: unknown = Reflect.get(fields, 'history')
  if (history !== undefined && !isHistory(history)) problems.push('history must be a list of messages')
  if (problems.length > 0) throw new GraphRoutingConfigError(problems)
}
