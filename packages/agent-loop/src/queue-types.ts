/**
 * The vocabulary of queues: how a message joins what its session does, and what is waiting there.
 */
import type { RunModel, ThinkingLevel, VerboseLevel } from './types.ts'

/**
 * - `followup`: a turn of its own, in order.
 * - `collect`: one turn together with those of its kind next to it, after a pause in their coming.
 * - `steer`: into the open turn at its next step; a turn of its own, at its place, when that closes.
 * - `steer-backlog`: into the open turn, and a turn of its own as well.
 * - `interrupt`: stops the run under way, drops what persons have queued, and is next.
 */
export type QueueMode = 'followup' | 'collect' | 'steer' | 'steer-backlog' | 'interrupt'

/**
 * What gives way when a queue is full: `old` drops the oldest messages, `summarize` does and tells the
 * next turn what they were about, `new` refuses the arrival. Runs of plugins never give way.
 */
export type DropPolicy = 'summarize' | 'old' | 'new'

export type RunPriority = 'foreground' | 'default' | 'background'

export interface QueueSettings {
  readonly mode: QueueMode
  /** How long no message must have come before a busy session's messages are collected. */
  readonly debounceMs: number
  /** After how long they are collected all the same. */
  readonly maxDebounceMs: number
  /** Queued messages of persons, at most. */
  readonly cap: number
  readonly drop: DropPolicy
}

/** What a session does when a request does not say; null in a change goes back to the configuration. */
export interface SessionDefaults {
  readonly queue?: { readonly [K in keyof QueueSettings]?: QueueSettings[K] | null }
  readonly model?: RunModel | null
  readonly effort?: string | null
  readonly thinking?: ThinkingLevel | null
  readonly verbose?: VerboseLevel | null
}

export interface SessionSettings {
  readonly queue: QueueSettings
  readonly model?: RunModel
  readonly effort?: string
  readonly thinking?: ThinkingLevel
  readonly verbose?: VerboseLevel
}

export interface QueuedItem {
  readonly runId: string
  /**
   * `steering`: on its way into the open turn. `deferred`: failed to be delivered and is tried again at
   * `retryAt`. `dropped`: gone, `reason` says why.
   */
  readonly status: 'queued' | 'steering' | 'deferred' | 'dropped'
  readonly mode: QueueMode
  readonly acceptedAt: number
  /** The beginning of its message, on one line. */
  readonly preview: string
  readonly expiresAt?: number
  readonly retryAt?: number
  readonly reason?: 'queue-full' | 'superseded' | 'expired'
}

/** All idempotent and durable before they resolve. */
export interface QueueDoor {
  /** What waits, in order; then what was dropped lately, newest last. */
  list(sessionId: string): Promise<readonly QueuedItem[]>
  /** @returns whether it was waiting; a run that has begun is not touched. */
  cancel(runId: string): Promise<boolean>
  /** @returns the runs it took out. */
  clear(sessionId: string): Promise<readonly string[]>
  /**
   * Puts a waiting run before another one of its session, or at the end.
   *
   * @returns whether both were waiting.
   */
  move(runId: string, before?: string): Promise<boolean>
}

/** Runs end as dropped in one of these ways. */
export const DROP_CODES: ReadonlySet<string> = new Set(['queue-full', 'superseded', 'expired'])

export type DropReason = 'queue-full' | 'superseded' | 'expired'

/** A queue mode as callers may spell it. */
export function queueModeOf(spelled: QueueMode | 'queue'): QueueMode {
  return spelled === 'queue' ? 'steer' : spelled
}
