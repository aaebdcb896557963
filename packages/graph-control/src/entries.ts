/**
 * The entries of a graph stream, `graph/<graphId>`, and of a root stream, `root/<rootSessionId>`.
 *
 * One entry is one committed transition. Each carries `v`, the version of its form, and `at`, the
 * time of the decision in epoch milliseconds: a fold never asks a clock. Ids that the fold can look
 * up are not repeated. What a stream may hold is checked strictly when it is read; an entry that
 * does not pass makes its stream unreadable, and no other.
 */
import type { Entry } from 'dsh-durable-log'
import {
  artifactName,
  binding,
  claim,
  failure,
  id,
  position,
  provisioned,
  reason,
  scheduleUpdate,
  tokenUsage,
} from './request-shapes.ts'
import { type Checked, flag, integer, list, object, oneOf, ShapeError, string } from './shape.ts'
import { LIMITS } from './types.ts'

export const SUMMARY_CHARS = 512

const stamp = { v: oneOf(1), at: position }

const text = {
  recordId: id,
  summary: string(SUMMARY_CHARS),
  summaryTruncated: flag,
  bytes: position,
  digest: id,
  textTruncated: flag,
}

const record = object({ ...text, kind: oneOf('conclusion') })

const artifact = object({ ...text, kind: oneOf('artifact'), name: artifactName })

const GRAPH_ENTRIES = {
  /** Whose graph this is; written by the epoch that names it. */
  'graph/opened': object({ ...stamp, graphId: id, rootSessionId: id }),
  /** One decision of the supervisor: work added, targets stopped, the graph finished. */
  update: object({ ...stamp, update: scheduleUpdate }),
  /** A work got its operator. */
  provision: object({ ...stamp, provision: provisioned }),
  /** An activation of a work was admitted; its turn and run ids are fixed here. */
  claim: object({ ...stamp, claim }),
  /** An operator got its worktree. */
  bind: object({ ...stamp, binding }),
  /** The next attempt may run; the first, or the one after a rearming. */
  begin: object({ ...stamp, claimId: id }),
  /** The attempt before is lost; `attempt` is the one that may run, from `notBefore` on. */
  retry: object({ ...stamp, claimId: id, attempt: integer(2), reason: failure }, { notBefore: position }),
  /** The attempt before is lost; whether another begins is to be decided. */
  rearm: object({ ...stamp, claimId: id }),
  /** The attempt may not go on before somebody says so. */
  hold: object({
    ...stamp,
    claimId: id,
    attempt: integer(1),
    kind: oneOf('person', 'model'),
    reason: failure,
  }),
  /** From here on only this holder of the root's lease, or a later one, commits under a lease. */
  fence: object({ ...stamp, epoch: integer(1), holderId: id }),
  /** The admission was taken back. */
  cancel: object({ ...stamp, claimId: id, reason }),
  /** An activation ended, with what it left. */
  settle: object(
    {
      ...stamp,
      claimId: id,
      attempt: position,
      outcome: oneOf('completed', 'failed', 'aborted', 'cancelled'),
    },
    { reason: failure, record, artifacts: list(artifact, LIMITS.artifacts), usage: tokenUsage },
  ),
  /** The root yielded. */
  wait: object({ ...stamp, waitId: id, until: oneOf('any', 'all') }, { reason }),
  /** The root was shown everything up to `changeSeq`. */
  seen: object({ ...stamp, changeSeq: position }),
  /** The root is to get a turn; with `dueAt` not before then, with `recurMs` again and again. */
  wake: object(
    { ...stamp, wakeId: id, snapshotVersion: position, rootSessionId: id },
    { dueAt: position, recurMs: integer(1) },
  ),
  /** A delivery began. */
  'wake-attempt': object({ ...stamp, wakeId: id, attemptId: id }, { turnId: id }),
  /** A delivery ended; without an attempt, the wake was given up before one. */
  'wake-settled': object(
    {
      ...stamp,
      wakeId: id,
      status: oneOf('waiting_permission', 'delivered', 'superseded', 'retryable_failed', 'exhausted'),
    },
    { attemptId: id, failureReason: failure, retryAt: position },
  ),
  /** Every wake that is open or scheduled is given up. */
  'wakes-superseded': object({ ...stamp, reason }),
} as const

export type GraphEntryType = keyof typeof GRAPH_ENTRIES
export type GraphEntryData<T extends GraphEntryType> = Checked<(typeof GRAPH_ENTRIES)[T]>
export type GraphEntry = {
  [T in GraphEntryType]: { readonly type: T; readonly data: GraphEntryData<T> }
}[GraphEntryType]

/** What a settle entry keeps of a record; the rest follows from the claim. */
export type StoredRecord = Checked<typeof record>
export type StoredArtifact = Checked<typeof artifact>

/** An entry of a graph stream in its current form. */
export function graphEntry<T extends GraphEntryType>(
  type: T,
  data: Omit<GraphEntryData<T>, 'v'>,
): GraphEntry {
  return { type, data: { v: 1, ...data } } as unknown as GraphEntry
}

/**
 * Reads an entry of a graph stream.
 *
 * @throws ShapeError for an unknown kind, a foreign version, or a malformed field.
 */
export function parseGraphEntry(entry: Entry): GraphEntry {
  if (!Object.hasOwn(GRAPH_ENTRIES, entry.type)) throw new ShapeError('is of an unknown kind')
  const type = entry.type as GraphEntryType
  return { type, data: GRAPH_ENTRIES[type](entry.data) } as GraphEntry
}

const epoch = object({ ...stamp, rootSessionId: id, epoch: integer(1), graphId: id })

export type EpochEntryData = Checked<typeof epoch>

/** @throws ShapeError as {@link parseGraphEntry}. */
export function parseEpochEntry(entry: Entry): EpochEntryData {
  if (entry.type !== 'epoch') throw new ShapeError('is of an unknown kind')
  return epoch(entry.data)
}

export const GRAPH_PREFIX = 'graph/'

export function graphStream(graphId: string): string {
  return `${GRAPH_PREFIX}${graphId}`
}

/** Streams of epochs, one for each root session. */
export const ROOT_PREFIX = 'root/'

export function rootStream(rootSessionId: string): string {
  return `${ROOT_PREFIX}${rootSessionId}`
}
