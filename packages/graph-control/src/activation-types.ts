/** Who does a work and how one doing of it goes: operators, claims, settlements, records. */

/** A durable actor of the graph: one child session. */
export interface Operator {
  readonly operatorId: string
  readonly provisionId: string
  readonly provisionFingerprint: string
  readonly workId: string
  readonly targetSessionId: string
  readonly initialTurnId: string
  readonly initialRunId: string
  readonly edges?: readonly OperatorEdge[]
  readonly provisionedAt: number
}

/** A way between operators, as other stores keep it. Kept and given back, never interpreted. */
export interface OperatorEdge {
  readonly edgeId: string
  readonly fromOperatorId: string
  readonly toOperatorId: string
}

export interface ProvisionRequest {
  readonly provisionId: string
  readonly provisionFingerprint: string
  readonly graphId: string
  readonly workId: string
  readonly operatorId: string
  readonly targetSessionId: string
  readonly initialTurnId: string
  readonly initialRunId: string
  readonly edges?: readonly OperatorEdge[]
  readonly expectedScheduleRevision: number
}

/** The git worktree an operator works in. One per operator; the same lease is adopted on retry. */
export interface BindingRequest {
  readonly graphId: string
  readonly provisionId: string
  readonly leaseKey: string
  /** Absolute path of the worktree. */
  readonly path: string
  readonly branch: string
  readonly baseCommit?: string
}

export interface OperatorBinding extends Omit<BindingRequest, 'graphId'> {
  readonly operatorId: string
  readonly workId: string
  readonly boundAt: number
}

export interface ClaimRequest {
  readonly schemaVersion: 1
  readonly claimId: string
  readonly graphId: string
  readonly intentId: string
  readonly workId: string
  readonly intentFingerprint: string
  readonly readinessContextFingerprint?: string
  readonly targetOperatorId: string
  readonly targetSessionId: string
  readonly targetTurnId: string
  readonly targetRunId: string
}

export type AdmissionStatus = 'claimed' | 'executing' | 'settled' | 'cancelled'

/** What a held claim waits for before it goes on: a person's word, or a person's or the model's. */
export interface ClaimHold {
  readonly kind: 'person' | 'model'
  readonly reason: string
  readonly heldAt: number
}

export interface Claim extends ClaimRequest {
  readonly claimedAt: number
  readonly admissionStatus: AdmissionStatus
  readonly cancellationReason?: string
  /** Attempts begun, from 1; 0 before the first. The run of attempt n>1 is `<targetRunId>#<n>`. */
  readonly attempt: number
  /** Why the attempt before this one was given up. */
  readonly retryReason?: string
  /** The attempt is not to be started before this time, epoch milliseconds. */
  readonly notBefore?: number
  /** Set while the claim may not go on by itself. */
  readonly hold?: ClaimHold
  /** How it ended, once `settled`. */
  readonly outcome?: ActivationOutcome
  /** The conclusion it left, once `settled` with one. */
  readonly recordId?: string
}

export interface AdmissionTransition {
  readonly state: AdmissionStatus
  readonly previousState: AdmissionStatus
  readonly changed: boolean
}

export type ActivationOutcome = 'completed' | 'failed' | 'aborted' | 'cancelled'

/** Tokens of one or more model calls, as the provider counted them. */
export interface TokenUsage {
  readonly inputTokens: number
  readonly outputTokens: number
}

/** What a settled activation left. Its text lives in the stream `result/<graph>/<record>/<digest>`. */
export interface GraphRecord {
  readonly recordId: string
  readonly workId: string
  readonly operatorId: string
  readonly activationId: string
  readonly kind: 'conclusion' | 'artifact'
  /** Of an artifact. */
  readonly name?: string
  /** The first 512 characters, cut at a code point. */
  readonly summary: string
  readonly summaryTruncated: boolean
  /** Bytes of the whole text, UTF-8. */
  readonly bytes: number
  /** `sha256:` of the whole text. */
  readonly digest: string
  /** The stored text was cut at the cap of one result; it says so at its end. */
  readonly textTruncated: boolean
  readonly committedAt: number
}

/** A piece of an operator's result with a name of its own; what a `forEach` goes over. */
export interface ArtifactText {
  /** One line of 1 to 200 characters, unique within the settlement. */
  readonly name: string
  readonly text: string
}

export interface SettleRequest {
  readonly graphId: string
  readonly claimId: string
  /** Must be the claim's live attempt; a late result of a revoked attempt is refused. */
  readonly attempt: number
  readonly outcome: ActivationOutcome
  /** The operator's whole conclusion; absent where there is none. */
  readonly conclusion?: string
  /** At most 64. */
  readonly artifacts?: readonly ArtifactText[]
  readonly usage?: TokenUsage
  /** Why it did not complete, for everything but `completed`. */
  readonly reason?: string
}

/** A page of an operator's whole conclusion. */
export interface ResultPage {
  readonly recordId: string
  readonly text: string
  /** Character offset of this page. */
  readonly offset: number
  /** Offset of the next page; absent at the end. */
  readonly nextOffset?: number
  readonly totalChars: number
}
