/** The part of the port that is about operators, claims and how activations end. */
import type {
  AdmissionTransition,
  BindingRequest,
  Claim,
  ClaimRequest,
  GraphRecord,
  Operator,
  OperatorBinding,
  ProvisionRequest,
  SettleRequest,
  Work,
} from './types.ts'

export interface ActivationControl {
  /** Adopted on an identical fingerprint, before revision and closure are looked at. */
  provisionOperator(request: ProvisionRequest): Promise<{ provision: Operator; created: boolean }>
  listOperatorProvisions(graphId: string): Promise<readonly Operator[]>
  readOperatorProvision(graphId: string, provisionId: string): Promise<Operator | undefined>
  /** The same lease is adopted and keeps `boundAt`; another one throws `binding-conflict`. */
  bindOperatorWorktree(request: BindingRequest): Promise<{ binding: OperatorBinding; created: boolean }>
  readOperatorBinding(graphId: string, provisionId: string): Promise<OperatorBinding | undefined>
  readOperatorBindingByWork(graphId: string, workId: string): Promise<OperatorBinding | undefined>
  listOperatorBindings(graphId: string): Promise<readonly OperatorBinding[]>

  /** The persisted turn and run ids win on retry: the caller uses those of the returned claim. */
  claimIntentAtScheduleRevision(
    request: ClaimRequest,
    expectedRevision: number,
  ): Promise<{ claim: Claim; created: boolean }>
  claimIntent(request: ClaimRequest): Promise<{ claim: Claim; created: boolean }>
  readAgentGraphIntentClaim(graphId: string, intentId: string): Promise<Claim | undefined>
  listAgentGraphIntentClaims(graphId: string): Promise<readonly Claim[]>
  /** claimed → executing with the next attempt. A cancelled claim answers `changed: false`: do not run it. */
  beginAgentGraphIntentExecutionAtScheduleRevision(
    graphId: string,
    intentId: string,
    expectedRevision: number,
  ): Promise<AdmissionTransition>
  /** executing → claimed: the attempt is lost, and the next one begins when the caller says so. */
  rearmAgentGraphIntentForReplay(graphId: string, intentId: string): Promise<AdmissionTransition>
  cancelAgentGraphIntentExecution(
    graphId: string,
    intentId: string,
    reason: string,
  ): Promise<AdmissionTransition>
  /**
   * executing → executing with the next attempt number: the run of the attempt before is lost. Ends a
   * hold. With `notBefore`, `reconcile` starts the attempt then and not earlier.
   */
  retryActivation(
    graphId: string,
    claimId: string,
    lostAttempt: number,
    reason: string,
    options?: { notBefore?: number },
  ): Promise<Claim>
  /**
   * The attempt may not go on by itself: a person, or the model too, has to say so through
   * {@link retryActivation}. Counts as a change that the root is woken for.
   */
  holdActivation(request: {
    graphId: string
    claimId: string
    attempt: number
    kind: 'person' | 'model'
    reason: string
  }): Promise<Claim>
  /**
   * Ends an activation and commits its records in one append. Idempotent per claim and attempt: the
   * first answer stands. `completed` always leaves a conclusion, other outcomes if there is one;
   * `aborted` and `cancelled` make the work `cancelled`. Attempt 0, a claim that never began, can be
   * failed but not completed.
   */
  settleActivation(
    request: SettleRequest,
  ): Promise<{ work: Work; record: GraphRecord | undefined; created: boolean }>
}
