/**
 * The corpus of malformed and over-filled calls: one call, and what has to come of it, written down
 * before the call is made.
 *
 * The graph that each call meets: `gather` is completed, `broken` failed, `running` runs, `later`
 * waits for `running`; an earlier graph of the session was finished with the result of `old`, and not
 * with that of `scrap`. Agents `default` and `writer`, preset `reviewer`, code graph `digest`, model
 * `m1` with efforts `low` and `high`.
 */
import type { AgentGraphErrorCode } from '../../src/index.ts'
import type { GraphControlErrorCode } from 'dsh-graph-control'

/** Ids that only the run knows. */
export interface Ids {
  readonly current: string
  readonly earlier: string
  /** The conclusion of `gather`, and of `old`. */
  readonly record: string
  readonly earlierRecord: string
}

export type Tool = 'view' | 'update' | 'yield'

export interface Understood {
  /** Works as they are afterwards, in part. */
  readonly works?: Readonly<Record<string, object>>
  /** Works that must not be there. */
  readonly absent?: readonly string[]
  /** Part of the answer. */
  readonly value?: object
  /** Each stands in one line of `adjusted`; none: the call was meant as it came. */
  readonly adjusted?: readonly string[]
}

export interface Refused {
  readonly code: AgentGraphErrorCode | GraphControlErrorCode
  /** What was wrong, and the cure. */
  readonly says: readonly string[]
}

export interface Case {
  readonly title: string
  readonly tool: Tool
  readonly args: (ids: Ids) => unknown
  readonly outcome: { readonly understood: Understood } | { readonly refused: Refused }
}

export interface CorpusClass {
  readonly name: string
  /** Where such calls were reported. */
  readonly source: string
  readonly cases: readonly Case[]
}

type Args = object | string | number | boolean | null | ((ids: Ids) => unknown)

function argsOf(args: Args): Case['args'] {
  return typeof args === 'function' ? (args as Case['args']) : () => args
}

export function understood(title: string, args: Args, outcome: Understood, tool: Tool = 'update'): Case {
  return { title, tool, args: argsOf(args), outcome: { understood: outcome } }
}

export function refused(
  title: string,
  args: Args,
  says: readonly string[],
  { code = 'invalid_input', tool = 'update' }: { code?: Refused['code']; tool?: Tool } = {},
): Case {
  return { title, tool, args: argsOf(args), outcome: { refused: { code, says } } }
}

/** A well-formed work. */
export function work(workId: string, rest: object = {}): object {
  return { workId, instruction: `do ${workId}`, ...rest }
}

export const AGENT = { kind: 'agent', id: 'default' }
export const WRITER = { kind: 'agent', id: 'writer' }
export const REVIEWER = { kind: 'preset', id: 'reviewer' }
