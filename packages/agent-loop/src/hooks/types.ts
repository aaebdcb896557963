/**
 * The vocabulary of hooks: their names, what each handler is told, and what it may answer.
 *
 * A *run* hook fires once in a turn, whoever started the turn. An *attempt* hook may fire several times
 * in one and tells which attempt it belongs to: 1, and one more each time a model request is made anew.
 * Events are frozen; a handler changes something by its answer, never by writing into the event.
 */
import type { ContentBlock, Message } from '@deepseek-ai/dsh-llm'

/** Where an event happened. */
export interface SessionFacts {
  readonly sessionId: string
  /** The session it was forked or delegated from. */
  readonly parentSessionId?: string
  readonly isSubagent: boolean
}

export interface RunFacts extends SessionFacts {
  readonly turn: number
  /** The run that the turn answers; absent when DSH started the turn by itself. */
  readonly runId?: string
}

export interface AttemptFacts extends RunFacts {
  readonly attempt: number
}

/** A tool call need not belong to an agent; then only the call itself is known. */
export interface ToolCallFacts extends Partial<AttemptFacts> {
  readonly toolName: string
  readonly toolCallId: string
  /** Whether a program of the model made the call (code mode), not the model itself. */
  readonly isNested: boolean
}

export interface ModelChoice {
  readonly providerOverride?: string
  readonly modelOverride?: string
}

export interface PromptAddition {
  /** Takes the place of every section of the system prompt, for this turn. */
  readonly systemPrompt?: string
  readonly prependSystemContext?: string
  readonly appendSystemContext?: string
  /** Becomes a message of its own in front of the prompt. */
  readonly prependContext?: string
  readonly appendContext?: string
}

export interface ToolCallVerdict {
  /** The arguments the tool gets; any lossless JSON. */
  readonly params?: unknown
  readonly block?: boolean
  readonly blockReason?: string
  /** A person is asked before the call; without an approval service it is refused. */
  readonly requireApproval?: { readonly title: string; readonly description?: string }
}

export interface ToolResultView {
  readonly content: readonly ContentBlock[]
  readonly isError: boolean
}

export interface MessageVerdict {
  readonly content?: string
  readonly cancel?: boolean
}

/** A named text that goes to the model as context of the session. */
export interface BootstrapFile {
  name: string
  text: string
}

export type SessionEndReason = 'disposed' | 'shutdown'

/** What each hook tells its handlers. `earlier` is what the handlers before this one decided. */
export interface HookEvents {
  before_model_resolve: RunFacts & { readonly prompt: string; readonly earlier: ModelChoice }
  before_prompt_build: RunFacts & {
    readonly prompt: string
    readonly messages: readonly Message[]
    readonly earlier: PromptAddition
  }
  before_agent_start: RunFacts & {
    readonly prompt: string
    readonly messages: readonly Message[]
    readonly earlier: ModelChoice & PromptAddition
  }
  agent_end: AttemptFacts & {
    readonly messages: readonly Message[]
    readonly success: boolean
    /** How the turn ended: `completed`, `error`, `aborted`, `blocked`, `max-tokens`, … */
    readonly reason: string
    readonly error?: { readonly code: string; readonly message: string }
    readonly durationMs: number
  }
  before_compaction: SessionFacts & {
    readonly compactionId: string
    /** Absent when a person compacts between turns. */
    readonly turn?: number
    readonly runId?: string
    readonly attempt?: number
    readonly messageCount: number
  }
  after_compaction: SessionFacts & {
    readonly compactionId: string
    readonly turn?: number
    readonly runId?: string
    readonly attempt?: number
    readonly messageCount: number
    readonly success: boolean
    readonly error?: string
    /** How many messages the summary took the place of. */
    readonly compactedCount: number
    /** Their size as the host estimated it, when it told. */
    readonly tokenCount?: number
  }
  before_tool_call: ToolCallFacts & { readonly params: unknown; readonly earlier: ToolCallVerdict }
  after_tool_call: ToolCallFacts & {
    /** As the tool got them. */
    readonly params: unknown
    readonly result: ToolResultView
    readonly error?: string
    readonly durationMs: number
    /** SHA-256 of the arguments of the model and of those that ran, when a hook changed them. */
    readonly rewritten?: { readonly before: string; readonly after: string }
  }
  tool_result_persist: ToolCallFacts & { readonly message: ToolResultView }
  message_received: SessionFacts & {
    /** `user`, or the plugin that sent it. */
    readonly from: string
    readonly content: string
    /** Epoch milliseconds. */
    readonly timestamp: number
    readonly metadata: { readonly messageId: string }
  }
  message_sending: OutgoingMessage
  message_sent: OutgoingMessage & { readonly success: boolean; readonly error?: string }
  session_start: SessionFacts & {
    readonly source: 'startup' | 'resume' | 'clear' | 'compact'
    readonly resumedFrom?: string
  }
  session_end: SessionFacts & {
    readonly messageCount: number
    /** Since the session became live here. */
    readonly durationMs: number
    readonly reason: SessionEndReason
  }
  gateway_start: { readonly port?: number }
  gateway_stop: { readonly reason: 'shutdown' | 'unload' }
  'agent:bootstrap': RunFacts & {
    /** The one thing of an event that is written into: add, remove and change entries in place. */
    readonly bootstrapFiles: BootstrapFile[]
  }
  [command: `command:${string}`]: CommandEvent
}

export interface OutgoingMessage extends Partial<RunFacts> {
  readonly to: string
  readonly content: string
  readonly metadata: Readonly<Record<string, unknown>>
}

export interface CommandEvent extends SessionFacts {
  readonly action: string
  /** What stood behind the command, when DSH recorded it. */
  readonly args?: string
}

export interface HookResults {
  before_model_resolve: ModelChoice
  before_prompt_build: PromptAddition
  before_agent_start: ModelChoice & PromptAddition
  before_tool_call: ToolCallVerdict
  tool_result_persist: { readonly message?: ToolResultView }
  message_sending: MessageVerdict
}

export type CommandHookName = `command:${string}`
export type FixedHookName = Exclude<keyof HookEvents, CommandHookName | number>
export type HookName = FixedHookName | CommandHookName
export type ModifyingHookName = Exclude<keyof HookResults, 'tool_result_persist'>

export type HookEvent<N extends HookName> = N extends FixedHookName ? HookEvents[N] : CommandEvent

export type HookAnswer<N extends HookName> = N extends keyof HookResults
  ? HookResults[N] | null | undefined | void
  : void

/** What a handler gets beside the event. */
export interface HookContext {
  readonly hook: HookName
  /** The plugin the handler belongs to, as warnings name it. */
  readonly plugin: string
  /** Fires at the handler's deadline, at the end of the turn it holds up, and when the hook is undone. */
  readonly signal: AbortSignal
}

/** `tool_result_persist` is synchronous: a promise is refused. */
export type HookHandler<N extends HookName> = N extends 'tool_result_persist'
  ? (event: HookEvent<N>, context: HookContext) => HookAnswer<N>
  : (event: HookEvent<N>, context: HookContext) => HookAnswer<N> | Promise<HookAnswer<N>>

export type FailMode = 'open' | 'closed'

export interface HookOptions {
  /** Higher first, default 0; equal ones in the order of their registration. */
  readonly priority?: number
  /** The handler's deadline, 1 to 600,000 milliseconds; settings of the profile go before it. */
  readonly timeoutMs?: number
  /**
   * What a handler that fails or is late means. `open`: it had no opinion. `closed`: the call is denied,
   * the turn ends, the message is not sent, the result is withheld. Default `closed` for
   * `before_tool_call`, else `open`. A hook that only observes is always open.
   */
  readonly failMode?: FailMode
}
