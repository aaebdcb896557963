/** The one error class of the graph tools. */
import { HarnessError } from '@deepseek-ai/dsh-llm'

/**
 * - `invalid_input`: the call cannot be meant; the text names the field and what is allowed.
 * - `unknown_graph`: no such graph belongs to this session.
 * - `graph_closed`: the graph is finished; leave out `graphId` to open the next one.
 * - `nothing_to_yield`: nothing is pending that could wake the session.
 * - `limit_reached`: a ceiling of the graph or of its root; the text names it.
 * - `polling`: the same call came too often in one turn without any effect.
 * - `not_root_session`: only the root session of the graph may call.
 * - `nested_call`: the tools are called directly by the model, not from code.
 * - `configuration`: the host is set up wrongly.
 * - `agent-graph-unavailable`: no controller serves this session.
 * - `supervision-not-kept`: there is no durable log that would keep a person's choice.
 */
export type AgentGraphErrorCode =
  | 'invalid_input'
  | 'unknown_graph'
  | 'graph_closed'
  | 'nothing_to_yield'
  | 'limit_reached'
  | 'polling'
  | 'not_root_session'
  | 'nested_call'
  | 'configuration'
  | 'agent-graph-unavailable'
  | 'supervision-not-kept'

export class AgentGraphError extends HarnessError {
  declare readonly code: AgentGraphErrorCode

  constructor(code: AgentGraphErrorCode, message: string, options?: ErrorOptions) {
    // The model sees the text only, so the code stands in it.
    super(`[${code}] ${message}`, code, options)
  }
}
