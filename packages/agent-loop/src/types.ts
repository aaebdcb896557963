/**
 * The vocabulary of the agent-loop host.
 *
 * A *run* is one accepted request to a session. A *lane* runs the runs of one session, one after
 * the other. To *accept* a run is to make it durable; to *settle* it is to write its one terminal
 * entry. A *session opener* makes the agent of a session live when it is not.
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { HookHandler, HookName, HookOptions } from './hooks/types.ts'
import type { MessagingTool } from './replies/types.ts'
import type { AgentEvent, SubscribeRequest } from './streams/types.ts'

export type RunState = 'accepted' | 'running' | 'ok' | 'error' | 'aborted' | 'timed-out' | 'interrupted'

export const TERMINAL_RUN_STATES: ReadonlySet<RunState> = new Set<RunState>([
  'ok',
  'error',
  'aborted',
  'timed-out',
  'interrupted',
])

/** Who a run's message comes from; becomes the source of the session's user message. */
export type RunProvenance =
  | { readonly kind: 'user' }
  /** A notice of a plugin: shown as context, never taken for a person's words. */
  | { readonly kind: 'plugin'; readonly plugin: string; readonly summary: string }

export interface RunRequest {
  readonly sessionId: string
  /** The text of the turn, 1 to 1,000,000 characters, not blank. */
  readonly message: string
  /**
   * Same key and same request: the same run, also after a restart. Same key, other request:
   * `conflict`. 1 to 256 characters.
   */
  readonly idempotencyKey: string
  /** Chosen by the caller; default derived from session and key. */
  readonly runId?: string
  readonly provenance?: RunProvenance
  /** The run's deadline from its start, milliseconds; default 600,000. */
  readonly timeoutMs?: number
}

export interface AcceptedRun {
  readonly runId: string
  readonly status: 'accepted'
  /** Epoch milliseconds. */
  readonly acceptedAt: number
}

export interface RunError {
  /** `run-timeout`, `aborted`, `interrupted`, `open-failed`, or the code of the model's failure. */
  readonly code: string
  readonly message: string
}

export interface RunUsage {
  readonly inputTokens: number
  readonly outputTokens: number
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
}

export interface LaneSnapshot {
  readonly sessionId: string
  readonly running: string | undefined
  readonly queued: readonly string[]
}

/** Makes the agent of a session live, or answers `undefined` when the session is not its own. */
export type SessionOpener = (sessionId: string, signal: AbortSignal) => Promise<Agent | undefined>

export interface AgentLoopHost {
  /**
   * Durable before it resolves; the run starts later, in the order of its session's lane. Rejects with
   * `invalid`, `conflict`, `quarantined` or `closed`, or with the durable log's error: then the same
   * request may be made again.
   */
  accept(request: RunRequest): Promise<AcceptedRun>
  /**
   * Waiting never cancels. `timeoutMs` default 30,000; 0 asks for the state. Rejects with
   * `run-not-found` for an unknown id, with the signal's reason, or with `closed`.
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
  lanes(): readonly LaneSnapshot[]
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
