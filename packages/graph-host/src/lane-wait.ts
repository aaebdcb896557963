/** What holds up an operator's run that has its permit: the lane that all operators of a host share. */
import type { AgentLoopHost } from 'dsh-agent-loop-host'
import { OPERATOR_LANE } from './executor.ts'

/** All slots of the lane are taken. */
export interface LaneWait {
  readonly lane: string
  readonly width: number
  /** Runs in line, this one among them. */
  readonly depth: number
}

/** By session; `undefined` for one whose run is under way, or that has none. */
export type LaneWaits = (sessionId: string) => LaneWait | undefined

type Lanes = Pick<AgentLoopHost, 'lanes' | 'metrics'>

/** One look at the lanes, at the first question, for all that are asked in one go. */
export function laneWaits(loop: Lanes): LaneWaits {
  let waiting: ReadonlyMap<string, LaneWait> | undefined
  return (sessionId) => {
    waiting ??= new Map(lookAt(loop))
    return waiting.get(sessionId)
  }
}

function* lookAt(loop: Lanes): Generator<readonly [string, LaneWait], void> {
  const held = loop.lanes().filter(({ running, queued }) => running === undefined && queued.length > 0)
  if (held.length === 0) return
  const shared = loop.metrics().find(({ lane }) => lane === OPERATOR_LANE)
  if (shared === undefined || shared.active < shared.width) return
  const { depth, width } = shared
  for (const { sessionId } of held) yield [sessionId, { lane: OPERATOR_LANE, width, depth }]
}

export function laneWaitText({ depth, lane, width }: LaneWait): string {
  return `a slot of lane ${lane}: all ${width} are taken, ${depth} in line`
}

/** In words. */
export function laneWaitOf(loop: Lanes, sessionId: string): string | undefined {
  const wait = laneWaits(loop)(sessionId)
  return wait === undefined ? undefined : laneWaitText(wait)
}
