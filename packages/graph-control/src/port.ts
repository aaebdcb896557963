/**
 * The port of the graph store: what `ctx.graphControl` offers, by what it is about. Every method
 * rejects with a GraphControlError (`invalid` for a malformed request, `closed` after the end,
 * `quarantined` for a graph whose stream cannot be folded) or with what the log throws.
 */
import type { ActivationControl } from './port-activations.ts'
import type { WakeControl } from './port-wakes.ts'
import type {
  GraphEpoch,
  GraphPage,
  GraphState,
  Operator,
  Claim,
  ResultPage,
  ScheduleUpdate,
  ScheduleUpdateRequest,
  TimelinePage,
  TimelineRequest,
  Wake,
  OperatorBinding,
  Work,
} from './types.ts'

/** Which graphs there are, and whose. */
export interface GraphRegistry {
  /** The graphs of a root, oldest first. */
  listEpochs(rootSessionId: string): Promise<readonly GraphEpoch[]>
  currentEpoch(rootSessionId: string): Promise<GraphEpoch | undefined>
  /**
   * Opens epoch `expectedEpoch + 1` (0: the root's first). Its graph id is derived from root and
   * epoch. A retry returns the epoch that is there with `created: false`; any other current epoch
   * throws `epoch-conflict`, an unfinished current graph `graph-exists`.
   */
  advanceEpoch(request: {
    rootSessionId: string
    expectedEpoch: number
  }): Promise<{ epoch: GraphEpoch; created: boolean }>
  /**
   * Registers a graph with an id of the caller's, outside of the root's epochs. The same graph of the
   * same root is answered with `created: false`; one of another root throws `graph-exists`.
   */
  createGraph(request: {
    graphId: string
    rootSessionId: string
  }): Promise<{ graph: GraphState; created: boolean }>
  /** A page of graphs in order of their ids, all or those of one root; `limit` 1 to 200, default 50. */
  listGraphs(request?: { rootSessionId?: string; cursor?: string; limit?: number }): Promise<GraphPage>
  /** Ids of graphs that have entries and are not finished. */
  listOpenGraphs(): Promise<readonly { graphId: string; rootSessionId: string | undefined }[]>
  readGraph(graphId: string): Promise<GraphState | undefined>
  /** What happened, at the cost of the page. */
  readTimeline(request: TimelineRequest): Promise<TimelinePage>
  /**
   * The works whose view changed after `sinceSeq`, newest change first, each once; `undefined` when
   * that is too long ago to be known, so that the caller reads the whole graph.
   */
  readChanges(graphId: string, sinceSeq: number): Promise<readonly Work[] | undefined>
}

export interface ScheduleControl {
  /**
   * Commits one decision: its stops first, then its works and replacements, its retries, its finish.
   * A retry of the call (same update id, fingerprint and payload) answers the row that is there,
   * `created: false`.
   */
  commitScheduleUpdate(request: ScheduleUpdateRequest): Promise<{ update: ScheduleUpdate; created: boolean }>
  listScheduleUpdates(graphId: string): Promise<readonly ScheduleUpdate[]>
  readScheduleUpdate(graphId: string, updateId: string): Promise<ScheduleUpdate | undefined>
}

/** A right to act for one root session that others may have taken over; `Lease` of dsh-durable-log fits. */
export interface GraphLease {
  readonly rootSessionId: string
  /** Grows with every acquisition. */
  readonly epoch: number
  readonly holderId: string
  /** @throws when it is not held any more. */
  assertHeld(): unknown
}

export interface RetentionControl {
  /**
   * Removes every stream of a root: its graphs, their results, its registry. Refused with
   * `work-conflict` while an activation of one of them is live.
   *
   * @returns how many graphs were removed.
   */
  purge(rootSessionId: string): Promise<number>
  /**
   * Removes the texts of results that nothing can need any more: of finished graphs, those with which
   * the graph was not finished. Records, summaries and digests stay.
   *
   * @returns how many texts were removed.
   */
  compact(rootSessionId: string): Promise<number>
}

/** Everything the store holds of one graph. */
export interface GraphSnapshot {
  readonly scheduleUpdates: readonly ScheduleUpdate[]
  readonly intentClaims: readonly Claim[]
  readonly operatorProvisions: readonly Operator[]
  readonly operatorBindings: readonly OperatorBinding[]
  readonly supervisorWakes: readonly Wake[]
}

export interface GraphControl
  extends GraphRegistry, ScheduleControl, ActivationControl, WakeControl, RetentionControl {
  readResult(
    graphId: string,
    recordId: string,
    page?: { offset?: number; limit?: number },
  ): Promise<ResultPage>
  /** Of all graphs in this process's memory, or of one. For inspection; the cost is that of the whole. */
  snapshot(graphId?: string): Promise<GraphSnapshot>
  /**
   * The same store under a lease: every commit is refused with `lease-lost` once the lease is gone or
   * a later holder committed to the graph.
   */
  leased(lease: GraphLease): LeasedGraphControl
  /**
   * Called after each commit, with the state it led to; commits of other processes to graphs that were
   * read here may come together. Returns the undo.
   */
  onCommitted(listener: (state: GraphState) => void): () => void
  /** Refuses new operations with `closed`; resolves when the commits under way are done. */
  close(): Promise<void>
}

export interface LeasedGraphControl extends GraphControl {
  /** Commits that this lease holds the graph now, so that no earlier holder commits any more. */
  takeGraph(graphId: string): Promise<void>
}
