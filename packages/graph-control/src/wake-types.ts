/** How the root of a graph gets its turns: wakes, their attempts, and the root's own waits. */

/**
 * `pending` → `running` → `delivered`, or back through `retryable_failed`; `waiting_permission`, and
 * back to `running`, while the turn waits for a person; `exhausted` and `superseded` are ends without a turn.
 */
export type WakeStatus =
  | 'pending'
  | 'running'
  | 'waiting_permission'
  | 'delivered'
  | 'retryable_failed'
  | 'exhausted'
  | 'superseded'

/**
 * A durable request for one turn of the root. At most one is open per graph: neither over nor
 * scheduled for a time to come.
 */
export interface Wake {
  readonly wakeId: string
  /** The change sequence it reports up to; a scheduled one reports all there is when it is due. */
  readonly snapshotVersion: number
  readonly rootSessionId: string
  readonly status: WakeStatus
  readonly attempts: number
  readonly currentAttemptId?: string
  readonly failureReason?: string
  /** Not to be delivered before; epoch milliseconds. */
  readonly dueAt?: number
  /** Once it is over the next one is due this much after `dueAt`, missed times left out. */
  readonly recurMs?: number
  /** When the next attempt should be made, after a failed one. */
  readonly retryAt?: number
  readonly createdAt: number
  readonly updatedAt: number
}

export interface WakeAttempt {
  readonly attemptId: string
  readonly wakeId: string
  readonly turnId?: string
  readonly status:
    | 'running'
    | 'waiting_permission'
    | 'delivered'
    | 'superseded'
    | 'retryable_failed'
    | 'exhausted'
  readonly failureReason?: string
  readonly startedAt: number
  readonly completedAt?: number
}

/** The root yielded and waits. One per graph; a newer one replaces it. */
export interface Wait {
  readonly waitId: string
  readonly until: 'any' | 'all'
  readonly reason?: string
  readonly registeredAt: number
}
