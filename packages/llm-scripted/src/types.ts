/**
 * The vocabulary of a script: what an author writes (the `…Source` types, YAML or an object) and what
 * `parseScript` makes of it. Nothing runs here.
 *
 * ```yaml
 * tracks:
 *   - name: root
 *     match: { firstUser: 'count the words' }
 *     steps:
 *       - toolCalls: [{ name: count, arguments: { text: one two three } }]
 *       - when: { lastToolResult: { name: count } }
 *         capture: { total: { from: lastToolResult, pattern: '"words":(\d+)' } }
 *         text: 'There are ${total} words.'
 * ```
 */
import type { JsonTemplate, Template } from './templates.ts'

/**
 * A regular expression of JavaScript: its source, or source with flags (any but `g` and `y`), or in code
 * a `RegExp`. It is searched for, not anchored. How long a pattern runs is its author's own risk: one
 * that backtracks without end stops the process.
 */
export type PatternSource = string | RegExp | { readonly pattern: string; readonly flags?: string }

/** One pattern, or several that must all hold. */
export type PatternsSource = PatternSource | readonly PatternSource[]

/** A script: tracks in order of precedence. `tracks: []` is a script that answers nothing. */
export interface ScriptSource {
  readonly tracks: readonly TrackSource[]
}

/**
 * One role of the script. A conversation is bound to the first track that matches its first request and
 * stays with it; each conversation has its own position and its own captured values.
 */
export interface TrackSource {
  /** Unique in the script; names the track in errors and reports. */
  readonly name: string
  /** Which conversations it plays; `{}` is every ordinary one. */
  readonly match: MatchSource
  /**
   * `false` (default): the steps are played in order. `true`: no position is kept; at every request the
   * first step whose `when` holds is played, so that a conversation goes on after a restart of the
   * process. Captured values do not survive one: let such a step capture what it uses from
   * `conversation`.
   */
  readonly stateless?: boolean
  /** After this many conversations the track matches no new one. Default: no limit. */
  readonly maxConversations?: number
  /** At least one. */
  readonly steps: readonly StepSource[]
}

/** All that is given must hold. */
export interface MatchSource {
  /** On the system prompt. */
  readonly system?: PatternsSource
  /** On the text of the user messages before the first answer. */
  readonly firstUser?: PatternsSource
  /** Each pattern must hold for the name of some offered tool. */
  readonly tools?: PatternsSource
  /** Auxiliary calls of the host go only to a track that asks for them; without it: ordinary requests. */
  readonly purpose?: RequestPurpose
}

export type RequestPurpose = 'compaction' | 'session-title'

/**
 * One answer. In order, the next step whose `when` holds is played; a step may be passed over only when
 * it is `optional` or `repeat`. Anything else is an unexpected request.
 *
 * `text`, `reasoning` and every string in `arguments` are templates: `${name}` stands for a captured
 * value (the items of a list joined by `, `), `$${` for a literal `${`. An argument that is exactly
 * `${name}` becomes the value itself, a list included. Keys of arguments are not templates.
 *
 * It needs at least one of `text`, `reasoning`, `toolCalls` and `fault`; they are streamed in that order.
 */
export interface StepSource {
  /** Names the step in errors and reports, beside its number. */
  readonly name?: string
  /** Absent: the step always holds. */
  readonly when?: WhenSource
  /** May be played any number of times, none included, while its `when` holds. Not for `stateless` tracks. */
  readonly repeat?: boolean
  /** May be passed over, and is not missed when nobody asked for it. */
  readonly optional?: boolean
  /** Values taken from the request before the answer is made; kept for the rest of the conversation. */
  readonly capture?: Readonly<Record<string, CaptureSource>>
  readonly text?: string
  readonly reasoning?: string
  readonly toolCalls?: readonly ToolCallSource[]
  /** Milliseconds before the first chunk; an abort ends them. */
  readonly delayMs?: number
  /** Text and reasoning come in deltas of this many characters. Default: one delta. */
  readonly chunkChars?: number
  readonly fault?: FaultSource
}

/** Conditions on a request; all that is given must hold. */
export interface WhenSource {
  /** On the newest input: the text of all user messages since the last answer, tool results included. */
  readonly lastUser?: PatternsSource
  /** On the last tool result of the newest input; does not hold when there is none. */
  readonly lastToolResult?: { readonly name?: PatternsSource; readonly text?: PatternsSource }
  /**
   * On the text of all messages, one a line: user text, answers, calls as `name(arguments)`, tool
   * results. Neither the system prompt nor reasoning is part of it.
   */
  readonly conversation?: PatternsSource
}

export type CaptureOrigin = 'conversation' | 'lastUser' | 'lastToolResult' | 'system'

/** A capture that finds nothing ends the request with `SCRIPT_CAPTURE_FAILED`; with `all` it is `[]`. */
export interface CaptureSource {
  readonly from: CaptureOrigin
  readonly pattern: PatternSource
  /** Number or name of the group. Default: the first group, or the whole match where there is none. */
  readonly group?: number | string
  /** Every match, as a list, in order of appearance. Default: the first match. */
  readonly all?: boolean
  /** With `all`: each value once. */
  readonly unique?: boolean
  /** What the captured text becomes. Default `text`. */
  readonly as?: 'text' | 'number'
}

export interface ToolCallSource {
  readonly name: string
  /** Any JSON. Default `{}`. */
  readonly arguments?: unknown
}

/** The failure with which the request ends, or a stream that stays silent until it is aborted. */
export type FaultSource =
  | {
      readonly code: string
      readonly message: string
      /** Default `error`. */
      readonly kind?: 'error' | 'aborted'
      /** How many chunks of the step's answer are sent before it. Default: none, and no answer is given. */
      readonly after?: number
    }
  | { readonly hang: true }

// What parseScript returns: checked, compiled, frozen.

declare const parsed: unique symbol

/** A checked script. Only `parseScript` makes one. */
export interface Script {
  readonly [parsed]: true
  readonly tracks: readonly Track[]
}

export interface Track {
  readonly name: string
  readonly match: Match
  readonly stateless: boolean
  readonly maxConversations: number
  readonly steps: readonly Step[]
}

export interface Match {
  readonly system: readonly RegExp[]
  readonly firstUser: readonly RegExp[]
  readonly tools: readonly RegExp[]
  readonly purpose: RequestPurpose | undefined
}

export interface Step {
  readonly name: string | undefined
  readonly when: When | undefined
  readonly repeat: boolean
  readonly optional: boolean
  readonly captures: readonly Capture[]
  readonly text: Template | undefined
  readonly reasoning: Template | undefined
  readonly toolCalls: readonly ToolCallTemplate[]
  readonly delayMs: number
  readonly chunkChars: number
  readonly fault: Fault | undefined
}

export interface When {
  readonly lastUser: readonly RegExp[]
  readonly lastToolResult: { readonly name: readonly RegExp[]; readonly text: readonly RegExp[] } | undefined
  readonly conversation: readonly RegExp[]
}

export interface Capture {
  readonly name: string
  readonly from: CaptureOrigin
  readonly pattern: RegExp
  readonly group: number | string
  readonly all: boolean
  readonly unique: boolean
  readonly as: 'text' | 'number'
}

export interface ToolCallTemplate {
  readonly name: string
  readonly arguments: JsonTemplate
}

export type Fault =
  | {
      readonly kind: 'error' | 'aborted'
      readonly code: string
      readonly message: string
      readonly after: number
    }
  | { readonly kind: 'hang' }
