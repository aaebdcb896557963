/**
 * DSH's `ctx.userQuestions`, as far as a graph uses it, by shape: the package that provides it is in no
 * way needed, and no profile must have it. Also what its refusals mean for a graph that asked.
 */
import type { CallingAgent } from './types.ts'

export interface QuestionOption {
  readonly label: string
  readonly description?: string
}

/** One question as a person sees it. */
export interface Question {
  readonly id: string
  readonly question: string
  readonly detail?: string
  readonly header?: string
  readonly options?: readonly QuestionOption[]
  readonly multiSelect?: boolean
}

/** What came back; from a user interface, so nothing of it is sure. */
export interface Answers {
  readonly answers: readonly {
    readonly id: string
    readonly selected: readonly string[]
    readonly custom?: string
  }[]
}

export interface Person {
  ask(request: {
    readonly questions: readonly Question[]
    readonly agent?: CallingAgent
    readonly signal?: AbortSignal
  }): Promise<Answers>
}

const MEANINGS: Readonly<Record<string, string>> = {
  NO_PROVIDER:
    'nobody is there to answer: no user-questions provider is registered; run it where a person can be asked',
  DELEGATED_CALLER:
    'the calling agent belongs to another agent and may not ask a person; put the question into its final result',
  CALLER_NOT_LIVE: 'the calling agent is not live any more; start it again',
  ASK_ABORTED: 'the question was closed without an answer; call it again to be asked again',
}

/** What a refusal of `ask` means, a clause that also says what to do. */
export function refusalText(error: unknown): string {
  const code: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined
  const meaning = typeof code === 'string' ? MEANINGS[code] : undefined
  return meaning ?? 'asking a person failed, see the cause; call it again'
}
