/**
 * The questions of one call and their answers: asks a person what the graph asked, as often as it
 * takes, and makes of the answers what the graph resumes with. Whether a graph can resume at all is
 * told by its thread; who the person is, by the host.
 */
import type { CallScope } from './call-scope.ts'
import { messageOf, type GraphInterrupt } from './errors.ts'
import { breakpointError, unansweredError } from './interrupts.ts'
import { refusalText, type Answers, type Person } from './person.ts'
import { questionOf, type TypedQuestion } from './questions.ts'
import type { CallingAgent } from './types.ts'

export interface ConversationParts {
  readonly graph: string
  /** How often a person may be asked in this call. */
  readonly rounds: number
  readonly scope: CallScope
  readonly agent?: CallingAgent | undefined
  readonly person: () => Person | undefined
  /** What keeps the graph from resuming, a clause with the cure; absent when it can. */
  readonly obstacle?: string | undefined
}

/** LangGraph's mark on the error of a resume value that its schema refused; the question stays open. */
const INVALID_RESUME = Symbol.for('langgraph.invalid_resume')

/** How far an error's causes are followed. */
const CAUSES = 10

const NOBODY =
  'nobody can be asked: there is no ctx.userQuestions; load a plugin that provides it, or let the parameters carry the answer'

/** One open question with the way back from its answer. */
interface Open extends TypedQuestion {
  readonly interrupt: GraphInterrupt
}

export class Conversation {
  private readonly parts: ConversationParts
  private asked = 0
  private complaint: string | undefined

  constructor(parts: ConversationParts) {
    this.parts = parts
  }

  /**
   * Asks until every question has an answer that fits.
   *
   * @returns LangGraph's resume value: the answers by the ids of the questions, or the one answer to a
   *   question without an id.
   * @throws {GraphInterruptedError} when there will be no answer; the abort's reason, when the call is
   *   aborted meanwhile.
   */
  async resumeValue(interrupts: readonly GraphInterrupt[]): Promise<unknown> {
    const person = this.requirePerson(interrupts)
    const found = new Map<string, unknown>()
    let open = this.open(interrupts, this.complaint)
    this.complaint = undefined
    while (open.length > 0) {
      const answers = await this.ask(person, interrupts, open)
      const left: Open[] = []
      for (const { item, interrupt, read } of open) {
        const reading = read(answers)
        if (reading.kind === 'value') found.set(item.id, reading.value)
        else if (reading.kind === 'unfit') left.push(this.again(interrupt, item.id, reading.reason))
        else
          throw this.unanswered(interrupts, 'the person left it unanswered; call it again to be asked again')
      }
      open = left
    }
    const alone = interrupts.length === 1 && interrupts[0]?.id === undefined
    return alone ? Array.from(found.values())[0] : Object.fromEntries(found)
  }

  /** Whether a failed resume only means that an answer was refused; the next question then says so. */
  isRefusal(failure: unknown): boolean {
    let error = failure
    for (let depth = 0; depth < CAUSES && typeof error === 'object' && error !== null; depth++) {
      if (Reflect.get(error, INVALID_RESUME) === true) {
        this.complaint = refusedText(error)
        return true
      }
      error = Reflect.get(error, 'cause')
    }
    return false
  }

  private requirePerson(interrupts: readonly GraphInterrupt[]): Person {
    const { graph, obstacle } = this.parts
    if (interrupts.length === 0) throw breakpointError(graph)
    if (obstacle !== undefined) throw this.unanswered(interrupts, obstacle)
    const person = this.parts.person()
    if (person === undefined) throw this.unanswered(interrupts, NOBODY)
    return person
  }

  /** Questions under the graph's own ids, which route the answers back. */
  private open(interrupts: readonly GraphInterrupt[], complaint: string | undefined): Open[] {
    const ids = interrupts.map((interrupt) => interrupt.id)
    const unroutable = interrupts.length > 1 && (ids.includes(undefined) || new Set(ids).size < ids.length)
    if (unroutable) {
      throw this.unanswered(
        interrupts,
        'its questions have no ids of their own; ask them one after the other',
      )
    }
    return interrupts.map((interrupt) => this.again(interrupt, interrupt.id ?? 'question', complaint))
  }

  private again(interrupt: GraphInterrupt, id: string, complaint: string | undefined): Open {
    return { interrupt, ...questionOf(interrupt, { header: this.parts.graph, id, complaint }) }
  }

  private async ask(
    person: Person,
    interrupts: readonly GraphInterrupt[],
    open: readonly Open[],
  ): Promise<Answers> {
    const { scope, agent, rounds } = this.parts
    if (++this.asked > rounds) {
      throw this.unanswered(
        interrupts,
        `it was asked ${rounds} times in this call; raise questionRounds to go on`,
      )
    }
    scope.check()
    try {
      return await scope.race(
        person.ask({
          questions: open.map(({ item }) => item),
          signal: scope.signal,
          ...(agent === undefined ? {} : { agent }),
        }),
      )
    } catch (error) {
      scope.check()
      throw this.unanswered(interrupts, refusalText(error), error)
    }
  }

  private unanswered(interrupts: readonly GraphInterrupt[], missing: string, cause?: unknown): Error {
    return unansweredError(this.parts.graph, interrupts, missing, cause)
  }
}

/** What the graph's schema said about the answer. */
function refusedText(error: object): string {
  const issues: unknown = Reflect.get(error, 'issues')
  const texts = Array.isArray(issues)
    ? issues.map((issue: unknown) =>
        messageOf(typeof issue === 'object' && issue !== null ? Reflect.get(issue, 'message') : issue),
      )
    : []
  return texts.length > 0 ? texts.join('; ') : messageOf(error)
}
