/**
 * The one place that finds the controller of a session. It looks at call time, so a host that
 * appears or reloads later works without remounting the tools.
 */
import type { Context } from '@deepseek-ai/cordis'
import { AgentGraphError } from './errors.ts'
import {
  AGENT_GRAPH_CONTROLLER_SERVICE,
  type AgentGraphController,
  type AgentGraphControllers,
} from './types.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    agentGraphController: AgentGraphController | AgentGraphControllers
  }
}

/**
 * @throws AgentGraphError `agent-graph-unavailable` when nobody serves this session. A controller of
 *   one other root is returned as it is: it refuses the call itself. `configuration` for a service
 *   that is none.
 */
export function resolveController(ctx: Context, sessionId: string): AgentGraphController {
  const service = ctx.get(AGENT_GRAPH_CONTROLLER_SERVICE) as
    | AgentGraphController
    | AgentGraphControllers
    | undefined
  if (service === undefined)
    throw new AgentGraphError(
      'agent-graph-unavailable',
      'no host provides agent graphs in this profile; do the work yourself, or ask the user to install dsh-graph-host',
    )
  if (!('forSession' in service)) return requireController(service)
  const controller = service.forSession(sessionId)
  if (controller === undefined)
    throw new AgentGraphError(
      'agent-graph-unavailable',
      'agent graphs are not available to this session; do the work yourself',
    )
  return controller
}

function requireController(service: AgentGraphController): AgentGraphController {
  const lacks = (['view', 'update', 'yield'] as const).filter((verb) => typeof service[verb] !== 'function')
  if (lacks.length === 0) return service
  throw new AgentGraphError(
    'configuration',
    `${AGENT_GRAPH_CONTROLLER_SERVICE} is no controller: it lacks ${lacks.join(', ')}; the host has to provide what createAgentGraphController returns`,
  )
}
