/**
 * The vocabulary of runs.
 *
 * A *run* is one accepted request to a session. A *lane* runs the runs of one session, one after
 * the other; a *global lane* says how many sessions run at a time. To *accept* a run is to make it
 * durable; to *settle* it is to write its one terminal entry. A *session opener* makes the agent of a
 * session live when it is not. An *observed* run is a turn that DSH started itself. Queues are in
 * `queue-types.ts`.
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { HookHandler, HookName, HookOptions } from './hooks/types.ts'
import type { QueueDoor, QueueMode, RunPriority, SessionDefaults, SessionSettings } from './queue-types.ts'
import type { MessagingTool, PayloadKind } from './replies/types.ts'
import type { AgentEvent, EventBlock, SubscribeRequest } from './streams/types.ts'

/**
 * `accepted`: durable, and driven by another process or by none yet. `queued`: in its lane here.
 * The rest after `running` is terminal.
 */
export type RunState =
  | 'accepted'
  | 'queued'
  | 'running'
  | 'ok'
  | 'error'
  | 'aborted'
  | 'timed-out'
  | 'interrupted'
  | 'superseded'

export const TERMINAL_RUN_STATES: ReadonlySet<RunState> = new Set<RunState>([
  'ok',
  'error',
  'aborted',
  'timed-out',
  'interrupted',
  'superseded',
])

/** Who a run's message comes from; becomes the source of the session's user message. */
export type RunProvenance =
  | { readonly kind: 'user' }
  /** A notice of a plugin: shown as context, never taken for a person's words. */
  | { readonly kind: 'plugin'; readonly plugin: string; readonly summary: string }

/** An image, stored through DSH's attachment service when the run begins. */
export interface RunAttachment {
  readonly kind: 'image'
  readonly mediaType: 'image/png' | 'image/jpeg' | 'image/webp' | 'image/gif'
  /** Canonical base64; all attachments of a request together at most 2,800,000 characters. */
  readonly data: string
  readonly name?: string
}

export interface RunModel {
  readonly provider: string
  readonly model: string
}

/** How much of the model's thinking a run asks for and shows. */
export type ThinkingLevel = 'off' | 'minimal' | 'low' | 'medium' | 'high'
/** How much of its tool use a run tells in its payloads. */
export type VerboseLevel = 'off' | 'on' | 'full'

/** Exactly one of `sessionId` and `sessionKey` is there. */
export interface RunRequest {
  readonly sessionId?: string
  /**
   * A name of the caller's for a session, such as `mail:someone`; the same key always means the same
   * session, which is made when it does not exist yet.
   */
  readonly sessionKey?: string
  /** The text of the turn, 1 to 1,000,000 characters, not blank. */
  readonly message: string
  readonly attachments?: readonly RunAttachment[]
  /**
   * Same key and same request: the same run, also after a restart. Same key, other request:
   * `conflict`. 1 to 256 characters.
   */
  readonly idempotencyKey: string
  /** Chosen by the caller; default derived from session and key. */
  readonly runId?: string
  /**
   * The id that the message has where it comes from. A second request of the session with the same
   * one is the same message again and gets the run of the first, whatever its key.
   */
  readonly messageId?: string
  readonly provenance?: RunProvenance
  /** How it joins what the session does; default the session's. `queue` is `steer`. */
  readonly queueMode?: QueueMode | 'queue'
  /** A declared global lane, or `nested`; default `subagent` for sessions of subagents, else `main`. */
  readonly lane?: string
  /** Between sessions that wait for the same global lane; default `default`. */
  readonly priority?: RunPriority
  /** `front`: before the messages of persons; for plugins only. */
  readonly placement?: 'front'
  /** Replaces a queued run of the session with the same key, at its place. 1 to 256 characters. */
  readonly supersedeKey?: string
  /** Epoch milliseconds; a run still queued by then is dropped. */
  readonly expiresAt?: number
  /** The run's deadline from its start, milliseconds; default that of its lane. */
  readonly timeoutMs?: number
  /** Ends the run when it has made no progress for so long, milliseconds; default: no such limit. */
  readonly idleTimeoutMs?: number
  /** For this run only; default the session's. */
  readonly model?: RunModel
  /** An effort the model offers; wins over `thinking`. */
  readonly effort?: string
  readonly thinking?: ThinkingLevel
  readonly verbose?: VerboseLevel
  /** Told to the model before the message, as instructions for this run; at most 100,000 characters. */
  readonly extraSystemPrompt?: string
  /** Absolute. That of a new session, by default the process's; a session elsewhere refuses the run. */
  readonly cwd?: string
}

export interface AcceptedRun {
  readonly runId: string
  readonly status: 'accepted'
  /** Epoch milliseconds. */
  readonly acceptedAt: number
}

export interface RunError {
  /**
   * `run-timeout`, `run-idle`, `aborted`, `interrupted`, `superseded`, `queue-full`, `expired`,
   * `open-failed`, or the code of the model's failure.
   */
  readonly code: string
  readonly message: string
}

export interface RunUsage {
  readonly inputTokens: number
  readonly outputTokens: number
}

/** What the prompt of a run's turn was made of; sizes are characters. */
export interface PromptReport {
  readonly model?: RunModel
  readonly effort?: string
  readonly systemPrompt: number
  readonly tools: number
  /** Messages of the conversation in front of the run's own. */
  readonly history: number
  /** Messages that came into the turn with the run's own: context, steers, instructions. */
  readonly joined: number
  readonly message: number
  readonly attachments: number
  readonly extraSystemPrompt: number
  /** Runs whose messages were collected into the turn, this one among them. */
  readonly collected: number
  /** Earlier messages that were told as a digest only: superseded or dropped. */
  readonly digested: number
}

/** One message to a person: what the run says, a line about a tool call, or why it failed. */
export interface RunPayload {
  readonly kind: PayloadKind
  readonly text: string
  readonly images?: readonly EventBlock[]
}

/** What is known of how a run ended. */
export interface RunResult {
  /**
   * What there is to show, in order: the error, a line for each tool call when the run is `verbose`, the
   * reasoning when it asks for `thinking`, the answers.
   */
  readonly payloads: readonly RunPayload[]
  readonly durationMs: number
  /** Why the turn stopped, in DSH's word, or why the run did. */
  readonly stopReason: string
  readonly usage?: RunUsage
  readonly prompt?: PromptReport
}

/** What is known of a run. */
export interface RunView {
  readonly runId: string
  readonly sessionId: string
  readonly state: RunState
  readonly acceptedAt: number
  readonly startedAt?: number
  readonly endedAt?: number
  /** The turn of the session that answered it. */
  readonly turn?: number
  /** The last text of the assistant in that turn. */
  readonly reply?: string
  readonly usage?: RunUsage
  readonly error?: RunError
  /** Once it has ended and while its result is retained. */
  readonly result?: RunResult
}

export interface RunOutcome {
  /** `timeout` means only that the waiting window passed; `state` says where the run is. */
  readonly status: 'ok' | 'error' | 'timeout'
  readonly state: RunState
  readonly startedAt?: number
  readonly endedAt?: number
  readonly reply?: string
  readonly usage?: RunUsage
  readonly error?: RunError
  readonly result?: RunResult
}

/** A turn of the session that is not a run of ours. */
export interface ObservedTurn {
  readonly runId: string
  readonly turn: number
}

export interface LaneSnapshot {
  readonly sessionId: string
  readonly running: string | undefined
  readonly queued: readonly string[]
  readonly observed?: ObservedTurn
}

/** One global lane and what it has seen since the host was loaded. */
export interface LaneMetrics {
  readonly lane: string
  readonly width: number
  readonly active: number
  /** Runs that wait for it. */
  readonly depth: number
  /** How long the oldest of them has waited, milliseconds. */
  readonly ageMs: number
  readonly started: number
  /** How long started runs have waited, milliseconds. */
  readonly meanWaitMs: number
  readonly longestWaitMs: number
  /** Runs dropped from a queue: no room, superseded, expired. */
  readonly drops: number
  /** Slots taken from runs that did not end in time. */
  readonly forcedReleases: number
}

/** Makes the agent of a session live, or answers `undefined` when the session is not its own. */
export type SessionOpener = (sessionId: string, signal: AbortSignal) => Promise<Agent | undefined>

/**
 * Told about runs in this process, in order for each run; what it throws is contained. An observed run
 * has an id of its own and is in no log.
 */
export interface RunListener {
  accepted?(run: RunView): void
  /** A turn of the session took the run's message, or an observed turn began. */
  started?(run: { runId: string; sessionId: string; turn: number; observed: boolean }): void
  settled?(run: RunView): void
  /** An observed turn is over; `reason` is DSH's. */
  observedEnded?(run: { runId: string; sessionId: string; turn: number; reason: string }): void
}

export interface AgentLoopHost {
  /**
   * Durable before it resolves; the run starts later, in the order of its session's lane. Rejects with
   * `invalid`, `conflict`, `busy`, `draining`, `quarantined` or `closed`, or with the durable log's
   * error: then the same request may be made again.
   */
  accept(request: RunRequest): Promise<AcceptedRun>
  /**
   * Waiting never cancels. `timeoutMs` default 30,000; 0 asks for the state. Rejects with
   * `run-not-found` for an unknown id, with `self-wait` inside a turn that holds the lane which the run
   * needs, with the signal's reason, or with `closed`.
   */
  wait(request: { runId: string; timeoutMs?: number; signal?: AbortSignal }): Promise<RunOutcome>
  /**
   * Queued runs are settled `aborted` at once, the running one is cancelled and settles when its turn
   * ends. Idempotent; `runIds` are the open runs it touched. Other turns of the session go on.
   */
  abort(request: {
    runId?: string
    sessionId?: string
    cause?: string
  }): Promise<{ aborted: boolean; runIds: readonly string[] }>
  read(runId: string): Promise<RunView | undefined>
  /** Sessions with anything in their lanes. */
  lanes(): readonly LaneSnapshot[]
  metrics(): readonly LaneMetrics[]
  readonly queue: QueueDoor
  /** Durable defaults of a session; null takes one back. @returns all of them as they are then. */
  configure(sessionId: string, changes: SessionDefaults): Promise<SessionSettings>
  settings(sessionId: string): Promise<SessionSettings>
  /**
   * From now on `accept` is refused with `draining` and nothing more is started; what runs may go on for
   * `limitMs` (default 30,000). Queued runs and those left stay open in the log.
   */
  drain(options?: { limitMs?: number }): Promise<{ left: readonly string[] }>
  /** Whether it was told to drain. It stays so until its end. */
  isDraining(): boolean
  /**
   * Calls back when lanes, queues or metrics may be others than before: after the fact, and once for all
   * that happened in one go. Returns the undo.
   */
  watchLanes(listener: () => void): () => void
  /** Returns the undo. */
  observe(listener: RunListener): () => void
  /** Openers are asked in the order of registration; the default one comes last. Returns the undo. */
  registerOpener(opener: SessionOpener): () => void
  /**
   * Calls `handler` at a point of an agent's life; an effect of the calling plugin. Returns the undo.
   * Throws `invalid` or `closed`. The hooks and their rules are in the README.
   */
  hook<N extends HookName>(name: N, handler: HookHandler<N>, options?: HookOptions): () => void
  /**
   * The events of a run or a session as they happen. Goes on after `afterSeq` from memory, then from
   * the durable log; what neither has any more is told as a gap. Reading slowly merges deltas and costs
   * nothing here; ending the iteration, or the signal, ends nothing else.
   *
   * @throws AgentLoopError `invalid` at once. The iteration rejects with `run-not-found`, `lagging`,
   *   `closed`, or with the durable log's error.
   */
  subscribe(request: SubscribeRequest): AsyncIterable<AgentEvent>
  /** What this tool sends to people is not said again by the run's replies. Returns the undo. */
  registerMessagingTool(tool: MessagingTool): () => void
}
