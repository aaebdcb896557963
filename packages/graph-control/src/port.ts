/**
 * The port of the graph store: what `ctx.graphControl` offers, operation by operation.
 */
import type {
  AdmissionTransition,
  Claim,
  ClaimRequest,
  GraphEpoch,
  GraphRecord,
  GraphState,
  Operator,
  ProvisionRequest,
  ResultPage,
  ScheduleUpdate,
  ScheduleUpdateRequest,
  SettleRequest,
  Wait,
  Wake,
  Work,
} from './types.ts'

export interface GraphControl {
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
  /** Ids of graphs that have entries and are not finished. */
  listOpenGraphs(): Promise<readonly { graphId: string; rootSessionId: string | undefined }[]>
  readGraph(graphId: string): Promise<GraphState | undefined>

  /**
   * Commits one decision: its stops first, then its replacements, its works, its finish. A retry
   * (same update id, fingerprint and payload) answers the row that is there, `created: false`.
   */
  commitScheduleUpdate(request: ScheduleUpdateRequest): Promise<{ update: ScheduleUpdate; created: boolean }>
  listScheduleUpdates(graphId: string): Promise<readonly ScheduleUpdate[]>
  readScheduleUpdate(graphId: string, updateId: string): Promise<ScheduleUpdate | undefined>

  provisionOperator(request: ProvisionRequest): Promise<{ provision: Operator; created: boolean }>
  /** The persisted turn and run ids win on retry: the caller uses those of the returned claim. */
  claimIntentAtScheduleRevision(
    request: ClaimRequest,
    expectedRevision: number,
  ): Promise<{ claim: Claim; created: boolean }>
  claimIntent(request: ClaimRequest): Promise<{ claim: Claim; created: boolean }>
  readAgentGraphIntentClaim(graphId: string, intentId: string): Promise<Claim | undefined>
  listAgentGraphIntentClaims(graphId: string): Promise<readonly Claim[]>
  /** claimed → executing, attempt 1. A cancelled claim answers `changed: false`: do not run it. */
  beginAgentGraphIntentExecutionAtScheduleRevision(
    graphId: string,
    intentId: string,
    expectedRevision: number,
  ): Promise<AdmissionTransition>
  /** executing → executing with the next attempt number: the run of the attempt before is lost. */
  retryActivation(graphId: string, claimId: string, lostAttempt: number, reason: string): Promise<Claim>
  cancelAgentGraphIntentExecution(
    graphId: string,
    intentId: string,
    reason: string,
  ): Promise<AdmissionTransition>
  /**
   * Ends an activation and commits its record in one append. Idempotent per claim and attempt: the
   * first answer stands. `completed` always leaves a record, other outcomes if there is a conclusion;
   * `aborted` and `cancelled` make the work `cancelled`. Attempt 0, a claim that never began, can be
   * failed but not completed.
   */
  settleActivation(
    request: SettleRequest,
  ): Promise<{ work: Work; record: GraphRecord | undefined; created: boolean }>
  readResult(
    graphId: string,
    recordId: string,
    page?: { offset?: number; limit?: number },
  ): Promise<ResultPage>

  registerWait(request: {
    graphId: string
    waitId: string
    until: 'any' | 'all'
    reason?: string
  }): Promise<Wait>
  /** The root has been shown everything up to this change sequence. */
  acknowledgeChanges(graphId: string, changeSeq: number): Promise<void>
  /**
   * Asks for one turn of the root. Refused with `wake-conflict` while another wake is open, and for
   * a change that has not happened. A wake that nobody has begun to deliver is superseded when the
   * root acknowledges all it reports, or finishes the graph.
   */
  claimSupervisorWake(request: {
    graphId: string
    wakeId: string
    snapshotVersion: number
    rootSessionId: string
  }): Promise<{ wake: Wake; created: boolean }>
  /**
   * Only the caller that gets `acquired: true` delivers; the root's wait is over with it. A wake that
   * has had `maxAttempts` becomes `exhausted` here.
   */
  beginSupervisorWakeAttempt(request: {
    graphId: string
    wakeId: string
    attemptId: string
    maxAttempts?: number
  }): Promise<{ wake: Wake; acquired: boolean }>
  /** Ends the current attempt; `delivered` also acknowledges what the wake reports. */
  completeSupervisorWakeAttempt(request: {
    graphId: string
    wakeId: string
    attemptId: string
    status: 'delivered' | 'superseded' | 'retryable_failed' | 'exhausted'
    failureReason?: string
  }): Promise<Wake>

  /** Called after each commit of this process, with the state it led to. Returns the undo. */
  onCommitted(listener: (state: GraphState) => void): () => void
  /** Refuses new operations with `closed`; resolves when the commits under way are done. */
  close(): Promise<void>
}
