/**
 * Keeps a model from going round in one turn: the same view again and again, an update that is refused
 * and tried again. First it is told, then it is refused with a code until its turn ends.
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import { AgentGraphError } from './errors.ts'
import type { ViewInput } from './types.ts'

/** From this many same views of one turn on the answer says to yield; at the last one it is refused. */
export const TOLD_VIEWS = 3
export const REFUSED_VIEWS = 10
/** All views of one turn, whatever they ask for; going on to a further page is not looking again. */
export const MAX_VIEWS = 100
/** Refusals in a row. */
export const TOLD_REFUSALS = 3
export const MAX_REFUSALS = 12

interface TurnRecord {
  readonly turn: number
  readonly views: Map<string, number>
  allViews: number
  refusals: number
}

const ADVICE = 'Works go on while you do not look: call yield_agent_graph and end your turn'

export class TurnLoops {
  private readonly records = new WeakMap<Agent, TurnRecord>()

  /**
   * Counts a view. @returns what to tell the model with the answer, if anything.
   *
   * @throws AgentGraphError `polling`.
   */
  view(agent: Agent, turn: number, args: ViewInput): string | undefined {
    const record = this.recordOf(agent, turn)
    const key = JSON.stringify(args)
    const times = (record.views.get(key) ?? 0) + 1
    record.views.set(key, times)
    if (args.cursor === undefined) record.allViews += 1
    if (times >= REFUSED_VIEWS || record.allViews > MAX_VIEWS)
      throw new AgentGraphError(
        'polling',
        `you looked ${Math.max(times, record.allViews)} times in this turn. ${ADVICE}`,
      )
    return times < TOLD_VIEWS ? undefined : `You looked ${times} times in this turn. ${ADVICE}.`
  }

  /**
   * Runs an update or a yield, and counts its refusals.
   *
   * @throws AgentGraphError `polling` once there were too many; what `doing` throws, with advice.
   */
  async attempt<T>(agent: Agent, turn: number, doing: () => Promise<T>): Promise<T> {
    const record = this.recordOf(agent, turn)
    if (record.refusals >= MAX_REFUSALS)
      throw new AgentGraphError(
        'polling',
        `${record.refusals} calls in a row were refused in this turn; end it, and tell the user what you could not do`,
      )
    try {
      const done = await doing()
      record.refusals = 0
      return done
    } catch (error) {
      record.refusals += 1
      if (record.refusals >= TOLD_REFUSALS && error instanceof Error)
        error.message += ` (refusal ${record.refusals} in a row: change what you ask for, or yield if works are pending)`
      throw error
    }
  }

  private recordOf(agent: Agent, turn: number): TurnRecord {
    const known = this.records.get(agent)
    if (known?.turn === turn) return known
    const record = { turn, views: new Map<string, number>(), allViews: 0, refusals: 0 }
    this.records.set(agent, record)
    return record
  }
}
