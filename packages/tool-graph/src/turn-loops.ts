/**
 * Keeps a model from going round in one turn: the same view again and again, a call that is refused
 * and tried again, an update that was committed long ago. First it is told, then it is refused with a code until its turn ends.
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import { AgentGraphError } from './errors.ts'
import type { ViewInput } from './types.ts'

/** From this many same views of one turn on the answer says to yield; at the last one it is refused. */
export const TOLD_VIEWS = 3
export const REFUSED_VIEWS = 10
/** All views of one turn, whatever they ask for; going on to a further page is not looking again. */
export const MAX_VIEWS = 100
/** Further pages of one turn: more than the largest graph has. */
export const MAX_PAGES = 2_000
/** Calls in a row that had no effect: they were refused, or repeated what was committed already. */
export const TOLD_REFUSALS = 3
export const MAX_REFUSALS = 12

interface TurnRecord {
  readonly turn: number
  readonly views: Map<string, number>
  allViews: number
  pages: number
  /** Views in a row that were refused, and updates and yields that had no effect. */
  refusedViews: number
  refusals: number
}

const ADVICE = 'Works go on while you do not look: call yield_agent_graph and end your turn'

export class TurnLoops {
  private readonly records = new WeakMap<Agent, TurnRecord>()
  /** What errors said before the advice: a host may throw the same one again and again. */
  private readonly plainTexts = new WeakMap<Error, string>()

  /**
   * Counts a view. @returns what to tell the model with the answer, if anything.
   *
   * @throws AgentGraphError `polling`.
   */
  view(agent: Agent, turn: number, args: ViewInput): string | undefined {
    const record = this.recordOf(agent, turn)
    const key = JSON.stringify(args)
    const times = (record.views.get(key) ?? 0) + 1
    if (args.cursor === undefined) record.allViews += 1
    else record.pages += 1
    if (times >= REFUSED_VIEWS || record.allViews > MAX_VIEWS || record.pages > MAX_PAGES)
      throw new AgentGraphError(
        'polling',
        `you looked ${Math.max(times, record.allViews, record.pages)} times in this turn. ${ADVICE}`,
      )
    record.views.set(key, times)
    return times < TOLD_VIEWS ? undefined : `You looked ${times} times in this turn. ${ADVICE}.`
  }

  /**
   * Runs a view, and counts its refusals. What it shows is no effect: updates that are refused stay counted.
   *
   * @throws AgentGraphError `polling` once there were too many; what `doing` throws, with advice.
   */
  async look<T>(agent: Agent, turn: number, doing: () => Promise<T>): Promise<T> {
    const record = this.recordOf(agent, turn)
    requirePatience(record.refusedViews)
    try {
      const shown = await doing()
      record.refusedViews = 0
      return shown
    } catch (error) {
      record.refusedViews += 1
      throw this.advised(error, record.refusedViews)
    }
  }

  /**
   * Runs an update or a yield, and counts those without effect.
   *
   * @param hadEffect false for an answer that only repeats an earlier one.
   * @throws AgentGraphError `polling` once there were too many; what `doing` throws, with advice.
   */
  async attempt<T>(
    agent: Agent,
    turn: number,
    { doing, hadEffect }: { doing: () => Promise<T>; hadEffect: (done: T) => boolean },
  ): Promise<T> {
    const record = this.recordOf(agent, turn)
    requirePatience(record.refusals)
    try {
      const done = await doing()
      record.refusals = hadEffect(done) ? 0 : record.refusals + 1
      return done
    } catch (error) {
      record.refusals += 1
      throw this.advised(error, record.refusals)
    }
  }

  private advised(error: unknown, refusals: number): unknown {
    if (refusals < TOLD_REFUSALS || !(error instanceof Error)) return error
    const plain = this.plainTexts.get(error) ?? error.message
    this.plainTexts.set(error, plain)
    const advice = `(refusal ${refusals} in a row: change what you ask for, or yield if works are pending)`
    // One that takes no advice is passed on as it is.
    Reflect.set(error, 'message', `${plain} ${advice}`)
    return error
  }

  private recordOf(agent: Agent, turn: number): TurnRecord {
    const known = this.records.get(agent)
    if (known?.turn === turn) return known
    const counts = { allViews: 0, pages: 0, refusedViews: 0, refusals: 0 }
    const record = { turn, views: new Map<string, number>(), ...counts }
    this.records.set(agent, record)
    return record
  }
}

/** @throws AgentGraphError `polling`. */
function requirePatience(refusals: number): void {
  if (refusals < MAX_REFUSALS) return
  throw new AgentGraphError(
    'polling',
    `${refusals} calls in a row were refused in this turn, or changed nothing; end it, and tell the user what you could not do`,
  )
}
