/** A graph as a whole: its folded state, its epoch, its summary, and what a driver is to do. */
import type { Claim, GraphRecord, Operator, OperatorBinding, TokenUsage } from './activation-types.ts'
import type { FinishRequest, Work } from './schedule-types.ts'
import type { Wait, Wake } from './wake-types.ts'

export interface GraphCounts {
  readonly works: number
  readonly pending: number
  readonly terminal: number
}

/** `draft`: nothing runs yet. `open`: it is worked on. `closed`: finished, for good. */
export type GraphPhase = 'draft' | 'open' | 'closed'

/**
 * What is not over yet, kept incrementally, so that a driver's pass costs O(live) and not O(graph).
 * Works in order of their places in the graph, the rest in order of arrival.
 */
export interface GraphLive {
  /** Works that are not terminal. */
  readonly pending: ReadonlyMap<string, true>
  /** Works that are `ready`. */
  readonly ready: ReadonlyMap<string, true>
  /**
   * Claims that are `claimed` or `executing`, also those of works that were stopped meanwhile; a held
   * one that is let go arrives anew. The first of those that are not held have the permits.
   */
  readonly claims: ReadonlyMap<string, true>
  /** Operators with a live claim, and that claim: an operator does one thing at a time. */
  readonly busyOperators: ReadonlyMap<string, string>
  /** The wake that is `pending` and due, `running`, `waiting_permission` or `retryable_failed`. */
  readonly openWakeId: string | undefined
  /** Wakes for a time to come, begun by nobody yet. */
  readonly scheduledWakes: ReadonlyMap<string, true>
  /** The highest change sequence any wake reports up to, whatever became of it. */
  readonly wokenChangeSeq: number
}

/** The newest holder of the root's lease that committed anything; older ones are refused. */
export interface GraphFence {
  readonly epoch: number
  readonly holderId: string
}

/**
 * The folded state of one graph. Frozen, and it stays what it was: a later commit leads to another
 * state, and the two share what did not change.
 */
export interface GraphState {
  readonly graphId: string
  readonly rootSessionId: string | undefined
  /** Position in the graph's stream: grows with every committed transition. */
  readonly seq: number
  /** Number of updates. */
  readonly revision: number
  /** Change sequence: grows by one with every work that ends or is held; wakes are keyed by it. */
  readonly changeSeq: number
  /** The change sequence the root has been shown. */
  readonly seenChangeSeq: number
  readonly phase: GraphPhase
  readonly closed: boolean
  readonly finish: (FinishRequest & { readonly finishedAt: number }) | undefined
  readonly createdAt: number | undefined
  readonly fence: GraphFence | undefined
  /** Tokens of all settled activations that told them. */
  readonly usage: TokenUsage
  readonly works: ReadonlyMap<string, Work>
  readonly operators: ReadonlyMap<string, Operator>
  /** By provision id. */
  readonly bindings: ReadonlyMap<string, OperatorBinding>
  /** By claim id. */
  readonly claims: ReadonlyMap<string, Claim>
  readonly records: ReadonlyMap<string, GraphRecord>
  readonly wakes: ReadonlyMap<string, Wake>
  readonly wait: Wait | undefined
  readonly counts: GraphCounts
  readonly live: GraphLive
}

/** One graph in a listing. */
export interface GraphSummary {
  readonly graphId: string
  readonly rootSessionId: string | undefined
  readonly phase: GraphPhase
  readonly revision: number
  readonly seq: number
  readonly counts: GraphCounts
  readonly createdAt: number | undefined
  readonly finishedAt: number | undefined
}

export interface GraphPage {
  readonly graphs: readonly GraphSummary[]
  /** Graphs that cannot be read, with the reason; they are listed nowhere else. */
  readonly unreadable: readonly { readonly graphId: string; readonly reason: string }[]
  readonly cursor?: string
}

export interface GraphEpoch {
  readonly rootSessionId: string
  /** From 1. */
  readonly epoch: number
  readonly graphId: string
  readonly createdAt: number
}

/** What the driver should do next; see `reconcile`. */
export type GraphAction =
  | { readonly kind: 'provision'; readonly workId: string }
  | { readonly kind: 'claim'; readonly workId: string; readonly operatorId: string }
  | { readonly kind: 'start'; readonly claimId: string; readonly attempt: number }
  | { readonly kind: 'observe'; readonly claimId: string; readonly attempt: number }
  | { readonly kind: 'cancel'; readonly claimId: string; readonly reason: string }
  | { readonly kind: 'wake'; readonly snapshotVersion: number }
  | { readonly kind: 'deliver'; readonly wakeId: string }
  | { readonly kind: 'look-again'; readonly at: number }
