/** Which agents are roots. `ctx.agents.roots()` lists children too, so the session header decides. */
import type { Agent } from '@deepseek-ai/dsh-agent'

/** A session that nobody delegated: the only kind that may supervise a graph. */
export function isRootAgent(agent: Agent): boolean {
  const { delegationDepth, origin } = agent.session.header
  return (delegationDepth ?? 0) === 0 && origin !== 'subagent'
}

/** Number of the newest turn of a session, 0 before the first. */
export function lastTurn(agent: Agent): number {
  const start = agent.session.events.findLast((event) => event.type === 'turn/start')
  return start?.type === 'turn/start' ? start.data.turn : 0
}
