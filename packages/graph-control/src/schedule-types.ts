/** What a supervisor decides: updates, the works they add, and how a work stands. */
import type { JsonValue } from 'dsh-durable-log'
import type { TokenUsage } from './activation-types.ts'

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

/**
 * When a work with inputs runs, judged once they have all ended: `all` of them completed, `any` of
 * them did, or `always`. Otherwise the work is `skipped`.
 */
export type WorkCondition = 'all' | 'any' | 'always'

/** What an update asks for. */
export interface WorkRequest {
  readonly workId: string
  readonly target: WorkTarget
  /** 1 to 60,000 characters. */
  readonly instruction: string
  /** At most 64 ids, each a work of this graph (also of the same update) or a committed record of it. */
  readonly inputIds: readonly string[]
  readonly selectedResultInputs?: readonly SelectedResultInput[]
  /** Default `all`; under `all` the work is skipped as soon as one input ended otherwise. */
  readonly when?: WorkCondition
  /**
   * One of `inputIds`: the work is done once for each record of it, at most {@link LIMITS.items}
   * times, and joined when all of those have ended. The works of the items are `<workId>#1`, `#2`, …
   */
  readonly forEach?: string
  /**
   * What to do with a running activation after a crash: run it again (`safe`, the default), or hold
   * until a person (`confirm`) or a person or the model (`model`) says so.
   */
  readonly replay?: 'safe' | 'confirm' | 'model'
  /** A work that this one supersedes; what waits for that one waits for this one. */
  readonly replaces?: string
  /** Accepted from suites of other stores; `none` forbids `replaces`. */
  readonly replacementMode?: 'none' | 'replace'
  readonly title?: string
  /** The model to work with, and its effort; default: the operator's own. */
  readonly model?: string
  readonly effort?: string
  /** Arguments of a code graph, at most 64 KiB of JSON. */
  readonly args?: JsonValue
}

export interface StopRequest {
  /** A work, an operator (all its works), or the graph id (all works); there before the update. */
  readonly targetId: string
  /** 1 to 4,000 characters. */
  readonly reason: string
  /** Whether whatever waits for the target stops as well, whatever its condition. */
  readonly cascadeDownstream?: boolean
}

/** A work that failed, or was cancelled, stopped or skipped, is to be done after all. */
export interface RetryRequest {
  readonly workId: string
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
  readonly orchestrationMode?: string
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
  readonly retry?: readonly RetryRequest[]
  readonly finish?: FinishRequest
  /**
   * `open`: the graph is a draft, none of its works runs. Only for its first update, and for later
   * ones while it is a draft. `commit`: the draft is over, and its works run.
   */
  readonly draft?: 'open' | 'commit'
}

export interface ScheduleUpdate extends ScheduleUpdateRequest {
  /** 1, 2, …: the position of this update among the updates of its graph. */
  readonly revision: number
  /** Epoch milliseconds. */
  readonly committedAt: number
}

/**
 * `waiting` for inputs (or for the works of its items) → `ready` → `claimed` → `running` → one of the
 * terminal six. Derived by the fold, never stored. A retry leads from `failed`, `cancelled`,
 * `stopped` and `skipped` back to the beginning.
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
  | 'skipped'

export const TERMINAL_WORK_STATUSES: ReadonlySet<WorkStatus> = new Set<WorkStatus>([
  'completed',
  'failed',
  'cancelled',
  'stopped',
  'superseded',
  'skipped',
])

export interface Work extends WorkRequest {
  readonly status: WorkStatus
  /** Place among the works of its graph in order of addition, from 1. Never changes. */
  readonly ordinal: number
  readonly revision: number
  readonly addedAt: number
  /** Works that have to end first. Empty unless `waiting`. */
  readonly waitingFor: readonly string[]
  /** How often it was retried; the admission of each retry is another intent. */
  readonly retries: number
  /** Why it is `failed`, `cancelled`, `stopped`, `superseded` or `skipped`. */
  readonly reason?: string
  /** Why it is done once more, after a retry. */
  readonly retryReason?: string
  readonly claimId?: string
  readonly operatorId?: string
  /** Ids of the records its activation left, in order; of all its items, for a joined work. */
  readonly recordIds: readonly string[]
  /** The works of its items, once a `forEach` work began. */
  readonly itemWorkIds?: readonly string[]
  /** The `forEach` work that this one does an item of. */
  readonly joinedBy?: string
  /** The work that took its place. */
  readonly replacedBy?: string
  readonly usage?: TokenUsage
  readonly startedAt?: number
  readonly endedAt?: number
  /** The change sequence at which it ended: what a root that looked earlier has not seen. */
  readonly endedChangeSeq?: number
}

/** Bounds of an update, enforced at the append. */
export const LIMITS = {
  addWork: 32,
  inputIds: 64,
  selectedResults: 64,
  instructionChars: 60_000,
  stop: 20,
  retry: 20,
  finishResults: 64,
  reasonChars: 4_000,
  idChars: 256,
  titleChars: 200,
  /** Items of one `forEach`. */
  items: 256,
  /** Artifacts of one activation. */
  artifacts: 64,
  argsBytes: 64 * 1024,
  edges: 64,
} as const
