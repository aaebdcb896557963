/**
 * The runs of one session and the order in which they wait, folded from its entries. Knows which entry
 * may follow which; knows no clock, no log and no agent.
 *
 *     accepted ──► running (attempt 1, 2, …) ──► ok | error | aborted | timed-out | interrupted
 *       │  ▲ └─ deferred ─┘                                                  ▲
 *       └──┴───────────────────────────────────────────────────► superseded ─┘ (without running)
 */
import type { AcceptedData, DescribedData, RunEntry } from './entries.ts'
import { AgentLoopError } from './errors.ts'
import { DROP_CODES, type DropReason, type QueueMode } from './queue-types.ts'
import type { DefaultsChange, StoredRequest } from './request-schemas.ts'
import {
  accepted,
  deferred,
  forgotten,
  isPending,
  joined,
  settled,
  started,
  type Digest,
  type RunRecord,
} from './run-record.ts'
import { QueueNode, RunQueue } from './run-queue.ts'
import { mergedDefaults } from './session-settings.ts'

/** How many dropped runs stay listed. */
const DROPS_KEPT = 50
/** How many dropped messages a digest names. */
const PREVIEWS_KEPT = 20

class Node extends QueueNode {
  readonly runId: string

  constructor(runId: string) {
    super()
    this.runId = runId
  }
}

/** A run that was dropped from the queue. */
export interface DroppedRun {
  readonly runId: string
  readonly mode: QueueMode
  readonly acceptedAt: number
  readonly preview: string
  readonly reason: DropReason
}

/** Where a run's request puts it. */
export function isPlacedInFront(request: Pick<StoredRequest, 'mode' | 'placement'>): boolean {
  return request.placement === 'front' || request.mode === 'interrupt'
}

/** The beginning of a message on one line. */
export function previewOf(message: string): string {
  const line = message.slice(0, 1000).replaceAll(/\s+/gu, ' ').trim()
  return line.length <= 160 ? line : `${line.slice(0, 159).toWellFormed()}…`
}

export class RunFold {
  readonly sessionId: string
  /** Position of the newest entry folded. */
  seq = 0
  /** Of the newest lease under which a run was started. */
  epoch = 0
  /** Defaults of the session that were set and not taken back. */
  defaults: DefaultsChange = {}
  described: DescribedData | undefined
  /** The host that ran it last, as lane engines name it. */
  host: string | undefined
  /** Dropped messages that no turn has told about yet. */
  digest: Digest | undefined
  private readonly records = new Map<string, RunRecord>()
  private readonly runIdByKey = new Map<string, string>()
  private readonly runIdByMessage = new Map<string, string>()
  private readonly runIdByOwnMessage = new Map<string, string>()
  private readonly nodes = new Map<string, Node>()
  private readonly order = new RunQueue<Node>()
  private readonly dropped: DroppedRun[] = []
  /** Settled runs whose results are still there, in the order of their ends. */
  private readonly retained = new Set<string>()

  constructor(sessionId: string) {
    this.sessionId = sessionId
  }

  get(runId: string): RunRecord | undefined {
    return this.records.get(runId)
  }

  withKey(key: string): RunRecord | undefined {
    const runId = this.runIdByKey.get(key)
    return runId === undefined ? undefined : this.records.get(runId)
  }

  /** The run of a message that came from elsewhere under this id. */
  withMessage(messageId: string): RunRecord | undefined {
    const runId = this.runIdByMessage.get(messageId)
    return runId === undefined ? undefined : this.records.get(runId)
  }

  /** The open run that puts a message with this id into the session. */
  withOwnMessage(messageId: string): RunRecord | undefined {
    const runId = this.runIdByOwnMessage.get(messageId)
    return runId === undefined ? undefined : this.records.get(runId)
  }

  /** Every run, in the order of acceptance. */
  all(): Iterable<RunRecord> {
    return this.records.values()
  }

  /** How many runs have no settlement. */
  get openCount(): number {
    return this.order.size
  }

  /** Ids of the runs without a settlement: what has begun first, then what waits, in its order. */
  open(): readonly string[] {
    const ids = Array.from(this.order, (node) => node.runId)
    const hasBegun = (runId: string): boolean => (this.records.get(runId)?.attempt ?? 0) > 0
    return [...ids.filter(hasBegun), ...ids.filter((runId) => !hasBegun(runId))]
  }

  /** Runs that wait and were never handed over, in order. */
  *pending(): Generator<RunRecord, void> {
    for (const { runId } of this.order) {
      const record = this.records.get(runId)
      if (record !== undefined && isPending(record)) yield record
    }
  }

  /**
   * Where a run stands: in which part of the queue, and in front of which other one.
   *
   * @param counts whether a run that stands behind it is one to name.
   */
  placeOf(
    runId: string,
    counts: (runId: string) => boolean,
  ): { readonly before: string | undefined; readonly inFront: boolean } {
    const node = this.nodes.get(runId)
    let next = node?.next
    while (next instanceof Node && !counts(next.runId)) next = next.next
    return { before: next instanceof Node ? next.runId : undefined, inFront: node?.inFront ?? false }
  }

  /** Runs dropped lately, the newest last. */
  drops(): readonly DroppedRun[] {
    return this.dropped
  }

  /** Forgets the results of runs that ended before this moment. */
  forgetBefore(endedAt: number): void {
    for (const runId of this.retained) {
      const record = this.records.get(runId)
      if (record?.endedAt !== undefined && record.endedAt >= endedAt) return
      this.retained.delete(runId)
      if (record !== undefined) this.records.set(runId, forgotten(record))
    }
  }

  /** Whether the entries may come next, one after the other. @throws as {@link admit}. */
  admitAll(entries: readonly RunEntry[]): void {
    const fresh = new Set<string>()
    for (const entry of entries) {
      // What begins in the append that accepts it has nothing before it that could be in the way.
      if (entry.type !== 'run/started' || entry.data.attempt !== 1 || !fresh.has(entry.data.runId)) {
        this.admit(entry)
      }
      if (entry.type === 'run/accepted') fresh.add(entry.data.runId)
    }
  }

  /**
   * Whether the entry may come next. Called before an entry is stored, so that none is ever stored
   * which the fold refuses.
   *
   * @throws `quarantined` with the rule that the entry breaks.
   */
  admit(entry: RunEntry): void {
    if (isOfSession(entry)) return
    const known = this.records.get(entry.data.runId)
    if (entry.type === 'run/accepted') {
      if (known !== undefined) throw broken(entry, 'the run was accepted before')
      if (this.runIdByKey.has(entry.data.key)) throw broken(entry, 'its key belongs to another run')
      return
    }
    if (known === undefined) throw broken(entry, 'the run was never accepted')
    if (known.settled !== undefined) throw broken(entry, 'the run is settled')
    if (entry.type === 'run/started') this.admitStart(entry, known)
  }

  /** Folds the entry at `seq`. @throws `quarantined`, and then nothing has changed. */
  apply(entry: RunEntry, seq: number): RunRecord | undefined {
    this.admit(entry)
    this.seq = seq
    switch (entry.type) {
      case 'session/configured':
        this.defaults = mergedDefaults(this.defaults, entry.data.changes)
        return undefined
      case 'session/described':
        this.described = entry.data
        return undefined
      case 'session/hosted':
        this.host = entry.data.host
        return undefined
      case 'run/accepted':
        return this.accept(entry.data)
      default:
        return this.change(entry)
    }
  }

  private admitStart(entry: RunEntry & { type: 'run/started' }, known: RunRecord): void {
    const { attempt, members = [], runId } = entry.data
    if (attempt !== known.attempt + 1) {
      throw broken(entry, `attempt ${attempt} follows attempt ${known.attempt}`)
    }
    for (const member of members) {
      const record = this.records.get(member)
      const isFree = record?.settled === undefined && (record?.leader ?? runId) === runId
      if (record === undefined || !isFree || member === runId) {
        throw broken(entry, `run ${member} cannot be told with it`)
      }
    }
  }

  private accept(entry: AcceptedData): RunRecord {
    const replaced = entry.takesPlaceOf === undefined ? undefined : this.records.get(entry.takesPlaceOf)
    const superseded =
      replaced?.request?.supersedeKey !== undefined &&
      replaced.request.supersedeKey === entry.request.supersedeKey
        ? replaced.superseded + 1
        : 0
    const record = accepted(this.sessionId, entry, superseded)
    const node = new Node(record.runId)
    const other = replaced === undefined ? undefined : this.nodes.get(replaced.runId)
    if (other !== undefined) this.order.insertBefore(node, other)
    else if (isPlacedInFront(entry.request)) this.order.appendInFront(node)
    else this.order.append(node)
    this.nodes.set(record.runId, node)
    this.records.set(record.runId, record)
    this.runIdByKey.set(record.key, record.runId)
    this.runIdByOwnMessage.set(record.messageId, record.runId)
    const { messageId } = entry.request
    if (messageId !== undefined && !this.runIdByMessage.has(messageId)) {
      this.runIdByMessage.set(messageId, record.runId)
    }
    return record
  }

  private change(entry: Exclude<RunEntry, { type: 'run/accepted' | `session/${string}` }>): RunRecord {
    const known = this.records.get(entry.data.runId)
    if (known === undefined) throw broken(entry, 'the run was never accepted')
    const record = this.next(known, entry)
    this.records.set(record.runId, record)
    return record
  }

  private next(
    known: RunRecord,
    entry: Exclude<RunEntry, { type: 'run/accepted' | `session/${string}` }>,
  ): RunRecord {
    switch (entry.type) {
      case 'run/started': {
        const { data } = entry
        this.epoch = Math.max(this.epoch, data.epoch ?? 0)
        for (const member of data.members ?? []) this.join(member, data.runId, data.startedAt)
        if (data.via === 'steer') return started(known, data, undefined)
        const { digest } = this
        this.digest = undefined
        return started(known, data, digest)
      }
      case 'run/deferred':
        return deferred(known, entry.data)
      case 'queue/echoed':
        return { ...known, echoed: true }
      case 'queue/moved':
        this.move(entry.data.runId, entry.data.before)
        return known
      case 'run/settled': {
        const record = settled(known, entry.data)
        this.leave(known, record)
        return record
      }
    }
  }

  private join(member: string, leader: string, startedAt: number): void {
    const record = this.records.get(member)
    if (record !== undefined) this.records.set(member, joined(record, leader, startedAt))
  }

  private move(runId: string, before: string | undefined): void {
    const node = this.nodes.get(runId)
    const other = before === undefined ? undefined : this.nodes.get(before)
    if (node === undefined || node === other) return
    this.order.remove(node)
    if (other === undefined) this.order.append(node)
    else this.order.insertBefore(node, other)
  }

  private leave(known: RunRecord, record: RunRecord): void {
    const node = this.nodes.get(known.runId)
    if (node !== undefined) this.order.remove(node)
    this.nodes.delete(known.runId)
    this.runIdByOwnMessage.delete(known.messageId)
    this.retained.add(known.runId)
    const { error, preview } = record.settled ?? {}
    if (error !== undefined && DROP_CODES.has(error.code) && known.request !== undefined) {
      const { runId, acceptedAt } = known
      const { mode, message } = known.request
      const reason = error.code as DropReason
      this.dropped.push({ runId, mode, acceptedAt, preview: previewOf(message), reason })
      if (this.dropped.length > DROPS_KEPT) this.dropped.shift()
    }
    if (preview === undefined) return
    const { count = 0, previews = [] } = this.digest ?? {}
    this.digest = { count: count + 1, previews: [...previews, preview].slice(-PREVIEWS_KEPT) }
  }
}

function isOfSession(entry: RunEntry): entry is RunEntry & { readonly type: `session/${string}` } {
  return entry.type.startsWith('session/')
}

function broken(entry: { type: string; data: { runId: string } }, why: string): AgentLoopError {
  return new AgentLoopError('quarantined', `${entry.type} of run ${entry.data.runId} does not fit: ${why}`)
}
