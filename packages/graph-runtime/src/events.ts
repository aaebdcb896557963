/**
 * Events of a router, as Cordis waterfalls: `graphTools/pre-execute` before a chosen graph runs,
 * `graphTools/post-execute` after it settled. Listeners run in the order of their registration; one
 * that answers without calling `next()` has the last word. Vocabulary only; the router dispatches.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { JsonValue } from '@deepseek-ai/dsh-tools'

/**
 * One attempt to run the graph that the model chose. The four fields cannot be changed; whatever a
 * listener wants to keep between the two events may hang on the object.
 */
export interface GraphToolsExecution {
  /** Name of the chosen graph. */
  readonly tool: string
  /** The model's arguments: a JSON object, not yet held against the graph's schema. Deep-frozen. */
  readonly args: Readonly<Record<string, JsonValue>>
  /** The original request text. */
  readonly request: string
  /** Aborts with the caller, for the same reason. */
  readonly signal: AbortSignal
}

/** Lets the graph run, or sends the model the reason why not. */
export type GraphToolsPreDecision =
  | { readonly kind: 'allow' }
  | { readonly kind: 'deny'; readonly reason: string }

/** How an attempt settled: refused arguments are errors too. */
export type GraphToolsOutcome = { readonly result: JsonValue } | { readonly error: unknown }

/** Keeps the outcome, puts a result in its place, or sends the model the reason why it is no good. */
export type GraphToolsPostDecision =
  | { readonly kind: 'accept'; readonly result?: JsonValue }
  | { readonly kind: 'block'; readonly reason: string }

type MaybePromise<T> = T | Promise<T>

declare module '@deepseek-ai/cordis' {
  interface Events {
    /**
     * Before a chosen graph runs, once for each attempt. `deny` goes to the model as the reason to
     * choose again. Without a listener: allow. A listener that throws ends the routing.
     *
     * @mode waterfall
     */
    'graphTools/pre-execute'(
      this: Context,
      execution: GraphToolsExecution,
      next: () => MaybePromise<GraphToolsPreDecision>,
    ): MaybePromise<GraphToolsPreDecision>
    /**
     * After an attempt settled, however it did; not after a denied one. `block` makes the model choose
     * again, `accept` with `result` replaces what the caller gets, failures included. Without a
     * listener: accept. A listener that throws ends the routing.
     *
     * @mode waterfall
     */
    'graphTools/post-execute'(
      this: Context,
      execution: GraphToolsExecution,
      outcome: GraphToolsOutcome,
      next: () => MaybePromise<GraphToolsPostDecision>,
    ): MaybePromise<GraphToolsPostDecision>
  }
}
