/** The history of a graph as others read it: one event for each committed transition. */
import type { JsonValue } from 'dsh-durable-log'

export type TimelineKind =
  | 'graph_opened'
  | 'schedule_committed'
  | 'schedule_finished'
  | 'operator_provisioned'
  | 'operator_bound'
  | 'intent_claimed'
  | 'intent_cancelled'
  | 'activation_started'
  | 'activation_retried'
  | 'activation_held'
  | 'activation_terminal'
  | 'supervisor_waiting'
  | 'supervisor_seen'
  | 'supervisor_wake_claimed'
  | 'supervisor_wake_scheduled'
  | 'supervisor_wake_attempted'
  | 'supervisor_wake_settled'
  | 'lease_taken'

export interface TimelineEvent {
  /** Position in the graph's stream. */
  readonly seq: number
  readonly kind: TimelineKind
  /** Epoch milliseconds. */
  readonly at: number
  /** The ids and words of the transition, as the kind has them. */
  readonly detail: { readonly [key: string]: JsonValue }
}

export interface TimelineRequest {
  readonly graphId: string
  /** Events after this position, oldest first. */
  readonly afterSeq?: number
  /** Events before this position, newest first. Not together with `afterSeq`. */
  readonly beforeSeq?: number
  /** 1 to 256; default 100. */
  readonly limit?: number
}

export interface TimelinePage {
  readonly events: readonly TimelineEvent[]
  /** Events of the graph before the first, and after the last one of this page. */
  readonly omittedBefore: number
  readonly omittedAfter: number
}
