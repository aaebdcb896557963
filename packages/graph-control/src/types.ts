/**
 * The vocabulary of an agent graph and its store.
 *
 * A *root session* supervises a graph through *updates*. An update adds *works*. A work is done by
 * an *operator* (one durable child session), which is *provisioned* for it; a *claim* admits the
 * work's *activation* (one run of that operator). An activation ends by being *settled*, and leaves
 * *records*. A *wake* asks for one turn of the root. An *epoch* numbers the graphs of a root.
 */

export type { JsonValue } from 'dsh-durable-log'

/** Who does a work: a catalog agent, a preset, an existing operator, or a code graph. */
export interface WorkTarget {
  readonly kind: 'agent' | 'preset' | 'operator' | 'graph'
  readonly id: string
}

/** A committed result of an earlier epoch of the same root. */
export interface SelectedResultInput {
  readonly sourceGraphId: string
  readonly resultId: string
}

/** What an update asks for. */
export interface WorkRequest {
  readonly workId: string
  readonly target: WorkTarget
  /** 1 to 60,000 characters. */
  readonly instruction: string
  /**
   * At most 64 ids, each a work of this graph (also of the same update) or a committed record of it.
   * A work whose input ended without a record fails with `input <id> <status>`.
   */
  readonly inputIds: readonly string[]
  readonly selectedResultInputs?: readonly SelectedResultInput[]
  /** What to do with a running activation after a crash; default `safe` (run it again). */
  readonly replay?: 'safe' | 'confirm'
  /** A work that this one supersedes. */
  readonly replaces?: string
  readonly title?: string
}

export interface StopRequest {
  /** A work, an operator (all its works), or the graph id (all works); there before the update. */
  readonly targetId: string
  /** 1 to 4,000 characters. */
  readonly reason: string
}

export interface FinishRequest {
  /** At most 64 committed record ids. */
  readonly resultIds: readonly string[]
  readonly reason: string
}

/** The tool call an update came from. */
export interface UpdateSource {
  readonly sessionId: string
  readonly runId: string
  readonly turnId: string
  readonly toolCallId: string
}

/** One decision of the supervisor, as it is committed. */
export interface ScheduleUpdateRequest {
  readonly schemaVersion: 1
  readonly updateId: string
  readonly updateFingerprint: string
  readonly graphId: string
  readonly source: UpdateSource
  readonly addWork: readonly WorkRequest[]
  readonly stop: readonly StopRequest[]
  readonly finish?: FinishRequest
}

export interface ScheduleUpdate extends ScheduleUpdateRequest {
  /** 1, 2, …: the position of this update among the updates of its graph. */
  readonly revision: number
  /** Epoch milliseconds. */
  readonly committedAt: number
}

/**
 * `waiting` for inputs → `ready` → `claimed` → `running` → one of the terminal five.
 * Derived by the fold, never stored.
 */
export type WorkStatus =
  | 'waiting'
  | 'ready'
  | 'claimed'
  | 'running'
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'stopped'
  | 'superseded'

export const TERMINAL_WORK_STATUSES: ReadonlySet<WorkStatus> = new Set<WorkStatus>([
  'completed',
  'failed',
  'cancelled',
  'stopped',
  'superseded',
])

export interface Work extends WorkRequest {
  readonly status: WorkStatus
  readonly revision: number
  readonly addedAt: number
  /** What it waits for: input ids without a record yet. Empty unless `waiting`. */
  readonly waitingFor: readonly string[]
  /** Why it is `failed`, `cancelled`, `stopped` or `superseded`. */
  readonly reason?: string
  readonly claimId?: string
  readonly operatorId?: string
  /** Ids of the records its activation left, in order. */
  readonly recordIds: readonly string[]
  readonly startedAt?: number
  readonly endedAt?: number
  /** The change sequence at which it ended: what a root that looked earlier has not seen. */
  readonly endedChangeSeq?: number
}

/** A durable actor of the graph: one child session. */
export interface Operator {
  readonly operatorId: string
  readonly provisionId: string
  readonly provisionFingerprint: string
  readonly workId: string
  readonly targetSessionId: string
  readonly initialTurnId: string
  readonly initialRunId: string
  readonly provisionedAt: number
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
  readonly expectedScheduleRevision: number
}

export interface ClaimRequest {
  readonly schemaVersion: 1
  readonly claimId: string
  readonly graphId: string
  readonly intentId: string
  readonly workId: string
  readonly intentFingerprint: string
  readonly targetOperatorId: string
  readonly targetSessionId: string
  readonly targetTurnId: string
  readonly targetRunId: string
}

export type AdmissionStatus = 'claimed' | 'executing' | 'settled' | 'cancelled'

export interface Claim extends ClaimRequest {
  readonly claimedAt: number
  readonly admissionStatus: AdmissionStatus
  readonly cancellationReason?: string
  /** Attempts begun, from 1; 0 before the first. The run of attempt n>1 is `<targetRunId>#<n>`. */
  readonly attempt: number
  /** Why the attempt before this one was given up. */
  readonly retryReason?: string
  /** How it ended, once `settled`. */
  readonly outcome?: ActivationOutcome
  /** The record it left, once `settled` with one. */
  readonly recordId?: string
}

export interface AdmissionTransition {
  readonly state: AdmissionStatus
  readonly previousState: AdmissionStatus
  readonly changed: boolean
}

export type ActivationOutcome = 'completed' | 'failed' | 'aborted' | 'cancelled'

/** What a settled activation left. Its text lives in the stream `result/<graph>/<record>`. */
export interface GraphRecord {
  readonly recordId: string
  readonly workId: string
  readonly operatorId: string
  readonly activationId: string
  readonly kind: 'conclusion'
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

export interface SettleRequest {
  readonly graphId: string
  readonly claimId: string
  /** Must be the claim's live attempt; a late result of a revoked attempt is refused. */
  readonly attempt: number
  readonly outcome: ActivationOutcome
  /** The operator's whole conclusion; absent where there is none. */
  readonly conclusion?: string
  /** Why it did not complete, for everything but `completed`. */
  readonly reason?: string
}

export type WakeStatus = 'pending' | 'running' | 'delivered' | 'retryable_failed' | 'exhausted' | 'superseded'

/** A durable request for one turn of the root. At most one is open (not delivered) per graph. */
export interface Wake {
  readonly wakeId: string
  /** The change sequence it reports up to. */
  readonly snapshotVersion: number
  readonly rootSessionId: string
  readonly status: WakeStatus
  readonly attempts: number
  readonly currentAttemptId?: string
  readonly failureReason?: string
  readonly createdAt: number
  readonly updatedAt: number
}

/** The root yielded and waits. One per graph; a newer one replaces it. */
export interface Wait {
  readonly waitId: string
  readonly until: 'any' | 'all'
  readonly reason?: string
  readonly registeredAt: number
}

export interface GraphCounts {
  readonly works: number
  readonly pending: number
  readonly terminal: number
}

/**
 * What is not over yet, kept incrementally, so that a driver's pass costs O(live) and not O(graph).
 * Each in order of arrival.
 */
export interface GraphLive {
  /** Works that are not terminal. */
  readonly pending: ReadonlyMap<string, true>
  /** Works that are `ready`. */
  readonly ready: ReadonlyMap<string, true>
  /** Claims that are `claimed` or `executing`, also those of works that were stopped meanwhile. */
  readonly claims: ReadonlyMap<string, true>
  /** Operators with a live claim, and that claim: an operator does one thing at a time. */
  readonly busyOperators: ReadonlyMap<string, string>
  /** The wake that is `pending`, `running` or `retryable_failed`. */
  readonly openWakeId: string | undefined
  /** The highest change sequence any wake reports up to, whatever became of it. */
  readonly wokenChangeSeq: number
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
  /** Change sequence: grows by one with every work that ends; wakes are keyed by it. */
  readonly changeSeq: number
  /** The change sequence the root has been shown. */
  readonly seenChangeSeq: number
  readonly closed: boolean
  readonly finish: (FinishRequest & { readonly finishedAt: number }) | undefined
  readonly createdAt: number | undefined
  readonly works: ReadonlyMap<string, Work>
  readonly operators: ReadonlyMap<string, Operator>
  /** By claim id. */
  readonly claims: ReadonlyMap<string, Claim>
  readonly records: ReadonlyMap<string, GraphRecord>
  readonly wakes: ReadonlyMap<string, Wake>
  readonly wait: Wait | undefined
  readonly counts: GraphCounts
  readonly live: GraphLive
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

/** Bounds of an update, enforced at the append. */
export const LIMITS = {
  addWork: 32,
  inputIds: 64,
  selectedResults: 64,
  instructionChars: 60_000,
  stop: 20,
  finishResults: 64,
  reasonChars: 4_000,
  idChars: 256,
  titleChars: 200,
} as const
