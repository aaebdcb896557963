/** Whether an update keeps the ceilings; asked before anything is written. */
import type { GraphState } from 'dsh-graph-control'
import { AgentGraphError } from './errors.ts'
import { operatorsNeeded, roomOf, type GraphLimits } from './limits.ts'
import type { UpdateInput } from './types.ts'

export interface LimitedUpdate {
  readonly limits: GraphLimits
  readonly state: GraphState | undefined
  readonly input: UpdateInput
  /** Graphs that the root has opened before this update, if it opens one. */
  readonly opened: number | undefined
  readonly now: number
}

/** @throws AgentGraphError `limit_reached`, naming the ceiling and the cure. */
export function requireWithinLimits({ limits, state, input, opened, now }: LimitedUpdate): void {
  const { maxGraphs, maxOperators } = limits
  if (opened !== undefined && maxGraphs !== undefined && opened >= maxGraphs)
    throw limit(`this session has opened ${opened} graphs, at most ${maxGraphs} are allowed; answer the user`)
  const { addWork = [], retry = [] } = input
  if (addWork.length + retry.length === 0) return
  const exhausted = state === undefined ? undefined : roomOf(state, limits, now).exhausted
  if (exhausted !== undefined)
    throw limit(`${exhausted}; finish it with what there is, the user may raise the limit`)
  const fresh = addWork.filter(({ operatorId }) => operatorId === undefined).length
  const needed = operatorsNeeded(state) + fresh
  if (maxOperators !== undefined && fresh > 0 && needed > maxOperators)
    throw limit(
      `the graph would need ${needed} operators, at most ${maxOperators} are allowed; ` +
        'give works to operators that it has (operatorId)',
    )
}

function limit(text: string): AgentGraphError {
  return new AgentGraphError('limit_reached', text)
}
