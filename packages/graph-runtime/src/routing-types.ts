/** Vocabulary of the router: how it is set up, what it is asked, what it answers. */
import type { Message, TokenUsage } from '@deepseek-ai/dsh-llm'
import type { JsonValue, ToolDefinition } from '@deepseek-ai/dsh-tools'
import type { CallingAgent, GraphDefinition } from './types.ts'

/** Which graphs are offered: `allow` keeps only these, `deny` takes these away; both together intersect. */
export interface GraphRoutingFilter {
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
}

/** Messages before the request, oldest first, as DSH builds them. */
export type GraphRoutingHistory = readonly Message[]

export interface GraphRoutingConfig {
  /** Provider route on `ctx.llm`. */
  readonly provider: string
  readonly model: string
  /** Checked at each `route`, since graphs come and go. Default: every graph. */
  readonly filter?: GraphRoutingFilter
  /** How often the model is called again after a rejected choice. Default: 3; 0 gives it one try. */
  readonly maxRetries?: number
  /** Runs with `{}` when the model chose no tool. Default: `graph_routing_fallback`, which returns `{}`. */
  readonly fallback?: ToolDefinition | GraphDefinition
  /** An answer with several calls: `first` takes the first, `reject` makes the model choose again. Default: `first`. */
  readonly multiple?: 'first' | 'reject'
  /**
   * Undoes known faults of providers: arguments encoded twice or wrapped in `arguments` or `input`, and
   * a name that differs only in case, separators or a `functions.` in front. Default: for DeepSeek routes.
   */
  readonly repair?: boolean
  /** Gives up when the model repeats a rejected call to the byte. Default: `false`, it is told so. */
  readonly stopOnRepeat?: boolean
  /** Context of the request; `route` may bring its own instead. Default: none. */
  readonly history?: GraphRoutingHistory
  /** System prompt in place of the built-in one. */
  readonly system?: string
  /** Sampling temperature. Default: the provider's. */
  readonly temperature?: number
  /** Output cap of one model call. Default: the provider's. */
  readonly maxTokens?: number
  /** Reasoning effort, an id the model's adapter knows. Default: the adapter's. */
  readonly reasoningEffort?: string
}

export interface GraphRoutingRequest {
  /** The request text. */
  readonly input: string
  /** Cancels the model call and the graph. */
  readonly signal?: AbortSignal
  /** Takes the place of the configured history. */
  readonly history?: GraphRoutingHistory
  /** On whose behalf: its own graphs are offered too, and graphs see it in `threadId`. */
  readonly agent?: CallingAgent
}

/** Why a choice was rejected. */
export type GraphRoutingRejection =
  | 'UNKNOWN_TOOL'
  | 'MULTIPLE_CALLS'
  | 'INVALID_JSON'
  | 'INVALID_ARGS'
  | 'GRAPH_VALIDATION'
  | 'DENIED'
  | 'BLOCKED'

/** What was undone before a choice was judged. */
export type GraphRoutingRepair = 'name' | 'encoding' | 'wrapper'

/** One answer of the model, and what became of it. Frozen. */
export interface GraphRoutingAttempt {
  /** `ran`: what came of it is the outcome. `no-tool`: the fallback took over. */
  readonly outcome: 'ran' | 'rejected' | 'no-tool'
  /** The name as the model gave it; absent when it chose no tool. */
  readonly tool?: string
  /** The argument text as the model gave it. */
  readonly arguments?: string
  /** What it said besides, without its reasoning; absent when it said nothing. */
  readonly text?: string
  /** How many tools it called. */
  readonly calls: number
  /** Kind of the finish reason, as the adapter reported it. */
  readonly finish: string
  /** Absent when the provider did not tell. */
  readonly usage?: TokenUsage
  readonly repaired: readonly GraphRoutingRepair[]
  /** For a rejected choice: why, for programs. */
  readonly rejection?: GraphRoutingRejection
  /** For a rejected choice: why, as the model was told. */
  readonly reason?: string
  /** The same call was rejected before. */
  readonly repeated?: true
}

export interface GraphRoutingOutcome {
  readonly tool: string
  /** The arguments that the graph ran with, after repairs. */
  readonly args: Readonly<Record<string, JsonValue>>
  /** The graph's final state, or what a listener put in its place. */
  readonly result: JsonValue
  /** The model chose no tool and the fallback ran. Otherwise there is no such key. */
  readonly fallback?: true
  /** Tokens of all model calls of this routing. */
  readonly usage: TokenUsage
  /** Every answer of the model, in order. */
  readonly attempts: readonly GraphRoutingAttempt[]
}
