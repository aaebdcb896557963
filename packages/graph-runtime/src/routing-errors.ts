/** Errors of the router. A graph's own failure and a throwing listener are not among them: they pass unchanged. */
import { LlmError, type LlmErrorOptions, type LlmFailure, type TokenUsage } from '@deepseek-ai/dsh-llm'
import { GraphError } from './errors.ts'
import type { GraphRoutingAttempt } from './routing-types.ts'

/** What the model had cost and said when a routing failed. */
export interface GraphRoutingTrace {
  readonly usage: TokenUsage
  readonly attempts: readonly GraphRoutingAttempt[]
}

/** The model made no acceptable choice; `reason` is why the last one was rejected. */
export class GraphRoutingError extends GraphError implements GraphRoutingTrace {
  readonly reason: string
  readonly usage: TokenUsage
  readonly attempts: readonly GraphRoutingAttempt[]

  constructor(reason: string, trace: GraphRoutingTrace, options?: ErrorOptions) {
    const calls = trace.attempts.length
    const times = calls === 1 ? '1 model call' : `${calls} model calls`
    super('GRAPH_ROUTING', undefined, `no graph was chosen in ${times}; the last reason: ${reason}`, options)
    this.reason = reason
    this.usage = trace.usage
    this.attempts = trace.attempts
  }
}

/** The router cannot work as it is set up or asked. Thrown before the model is called; `problems` lists why. */
export class GraphRoutingConfigError extends GraphError {
  readonly problems: readonly string[]

  constructor(problems: readonly string[], options?: ErrorOptions) {
    super('GRAPH_ROUTING_CONFIG', undefined, `the graph router cannot route: ${problems.join('; ')}`, options)
    this.problems = problems
  }
}

/** The model call itself failed; `code` and `failure` are the provider's, as `ctx.llm` reports them. */
export class GraphRoutingModelError extends LlmError implements GraphRoutingTrace {
  /** Kind of the finish reason. */
  readonly finish: string
  readonly usage: TokenUsage
  readonly attempts: readonly GraphRoutingAttempt[]

  constructor(finish: string, failure: LlmFailure, trace: GraphRoutingTrace) {
    super(failure.message || 'the model call failed', failure.code || 'UNKNOWN', factsOf(failure))
    this.name = 'GraphRoutingModelError'
    this.finish = finish
    this.usage = trace.usage
    this.attempts = trace.attempts
  }
}

/** The facts of a failure that are what they should be; an adapter may report anything. */
function factsOf({ status, providerRetryAfterMs, requestId }: LlmFailure): LlmErrorOptions {
  const isStatus = Number.isInteger(status) && Number(status) >= 100 && Number(status) <= 599
  const isDelay = Number.isFinite(providerRetryAfterMs) && Number(providerRetryAfterMs) > 0
  return {
    ...(status !== undefined && isStatus ? { status } : {}),
    ...(providerRetryAfterMs !== undefined && isDelay ? { providerRetryAfterMs } : {}),
    ...(requestId ? { requestId } : {}),
  }
}
