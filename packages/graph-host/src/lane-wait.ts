/** What holds up an operator's run that has its permit: the lane that all operators of a host share. */
import type { AgentLoopHost } from 'dsh-agent-loop-host'
import { OPERATOR_LANE } from './executor.ts'

/** In words; `undefined` for a session whose run is under way, or that has none. */
export function laneWaitOf(loop: AgentLoopHost, sessionId: string): string | undefined {
  const session = loop.lanes().find((lane) => lane.sessionId === sessionId)
  if (session === undefined || session.running !== undefined || session.queued.length === 0) return undefined
  const shared = loop.metrics().find(({ lane }) => lane === OPERATOR_LANE)
  if (shared === undefined || shared.active < shared.width) return undefined
  return `a slot of lane ${OPERATOR_LANE}: all ${shared.width} are taken, ${shared.depth} in line`
}
