/** The one error class of the agent-loop host. */
import { HarnessError } from '@deepseek-ai/dsh-llm'

/**
 * - `invalid`: the request is malformed; the message names every problem.
 * - `conflict`: the idempotency key or run id is taken by another request.
 * - `busy`: the queue has no room; `retryAfterMs` says when to ask again.
 * - `draining`: the host takes nothing new before its restart.
 * - `run-not-found`: no such run.
 * - `session-not-found`: nobody can open the session.
 * - `self-wait`: the wait would hold the lane that the run needs.
 * - `lease-lost`: another process has taken the session over.
 * - `quarantined`: the session's run stream holds an entry this version cannot read; `cause` says which.
 * - `hook-failed`: a hook that fails closed failed or was late; what it guards does not happen.
 * - `lagging`: a subscription missed the beginnings of too many runs.
 * - `closed`: the host is shutting down.
 */
export type AgentLoopErrorCode =
  | 'invalid'
  | 'conflict'
  | 'busy'
  | 'draining'
  | 'run-not-found'
  | 'session-not-found'
  | 'self-wait'
  | 'lease-lost'
  | 'quarantined'
  | 'hook-failed'
  | 'lagging'
  | 'closed'

export interface AgentLoopErrorOptions extends ErrorOptions {
  /** Of a `busy`: after how many milliseconds there is likely room. */
  readonly retryAfterMs?: number
}

export class AgentLoopError extends HarnessError {
  declare readonly code: AgentLoopErrorCode
  readonly retryAfterMs: number | undefined

  constructor(code: AgentLoopErrorCode, message: string, options: AgentLoopErrorOptions = {}) {
    const { retryAfterMs, ...rest } = options
    super(message, code, rest)
    this.retryAfterMs = retryAfterMs
  }
}
