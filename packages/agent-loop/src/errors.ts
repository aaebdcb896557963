/** The one error class of the agent-loop host. */
import { HarnessError } from '@deepseek-ai/dsh-llm'

/**
 * - `invalid`: the request is malformed; the message names every problem.
 * - `conflict`: the idempotency key or run id is taken by another request.
 * - `run-not-found`: no such run.
 * - `session-not-found`: nobody can open the session.
 * - `quarantined`: the session's run stream holds an entry this version cannot read; `cause` says which.
 * - `hook-failed`: a hook that fails closed failed or was late; what it guards does not happen.
 * - `lagging`: a subscription missed the beginnings of too many runs.
 * - `closed`: the host is shutting down.
 */
export type AgentLoopErrorCode =
  | 'invalid'
  | 'conflict'
  | 'run-not-found'
  | 'session-not-found'
  | 'quarantined'
  | 'hook-failed'
  | 'lagging'
  | 'closed'

export class AgentLoopError extends HarnessError {
  declare readonly code: AgentLoopErrorCode

  constructor(code: AgentLoopErrorCode, message: string, options?: ErrorOptions) {
    super(message, code, options)
  }
}
