/**
 * Streams in memory: entries, heads, the order of names, snapshots, and the conditions of a write.
 *
 * Shared by adapters that hold everything in memory. Owns no medium and no listeners: an adapter
 * asks whether a write is allowed, makes it durable, and only then changes the table.
 */
import type { CheckedAppend, CheckedList, CheckedRead, CheckedSnapshot } from './checks.ts'
import { DurableLogError } from './errors.ts'
import { appendConflict, snapshotAhead, snapshotOlder } from './refusals.ts'
import { positionOf } from './stream-order.ts'
import type { Snapshot, StoredEntry, StreamHead, StreamPage } from './types.ts'

/** What one stream holds. */
export interface StreamContent {
  /** Seq of the newest entry. */
  readonly head: number
  /** Entries in order. Throws `corrupt` where one of them is damaged. */
  read(afterSeq: number, limit: number): readonly StoredEntry[]
  /** @throws `corrupt` when its head is not certain. */
  assertAppendable(): void
  /** Adds entries that follow the head. */
  push(entries: readonly StoredEntry[]): void
}

export class StreamTable {
  private readonly contents = new Map<string, StreamContent>()
  /** The keys of `contents`, sorted. */
  private readonly names: string[] = []
  private readonly snapshots = new Map<string, Snapshot | DurableLogError>()

  /** Puts a stream in its place; it must not be there yet. */
  add(stream: string, content: StreamContent): void {
    this.contents.set(stream, content)
    this.names.splice(positionOf(this.names, stream), 0, stream)
  }

  /** Whether anything is kept under the name, whole or damaged, entries or a snapshot. */
  has(stream: string): boolean {
    return this.contents.has(stream) || this.snapshots.has(stream)
  }

  remove(stream: string): void {
    this.snapshots.delete(stream)
    if (this.contents.delete(stream)) this.names.splice(positionOf(this.names, stream), 1)
  }

  headOf(stream: string): number {
    return this.contents.get(stream)?.head ?? 0
  }

  /**
   * @returns the seq an append to the stream would follow.
   * @throws `conflict`, `corrupt`.
   */
  assertAppendable({ stream, expectedSeq }: CheckedAppend): number {
    const current = this.headOf(stream)
    this.contents.get(stream)?.assertAppendable()
    if (expectedSeq !== 'any' && expectedSeq !== current) throw appendConflict(stream, expectedSeq, current)
    return current
  }

  push(stream: string, entries: readonly StoredEntry[]): void {
    let content = this.contents.get(stream)
    if (content === undefined) this.add(stream, (content = new WholeStream([])))
    content.push(entries)
  }

  /** @throws `corrupt`. */
  read({ stream, afterSeq, limit }: CheckedRead): readonly StoredEntry[] {
    return this.contents.get(stream)?.read(afterSeq, limit) ?? []
  }

  list({ prefix, cursor, limit }: CheckedList): StreamPage {
    let index = positionOf(this.names, prefix)
    if (cursor !== undefined) {
      const after = positionOf(this.names, cursor)
      index = Math.max(index, this.names[after] === cursor ? after + 1 : after)
    }
    const streams: StreamHead[] = []
    for (let name = this.names[index]; name?.startsWith(prefix) === true; name = this.names[++index]) {
      if (streams.length === limit) return { streams, cursor: streams.at(-1)?.stream ?? name }
      streams.push(Object.freeze({ stream: name, seq: this.headOf(name) }))
    }
    return { streams }
  }

  /** @throws `conflict` for a snapshot ahead of its stream or behind the stored one. */
  assertSnapshot({ stream, seq }: CheckedSnapshot): void {
    const current = this.headOf(stream)
    const stored = this.snapshots.get(stream)
    // A damaged snapshot is in nobody's way.
    const storedSeq = stored === undefined || stored instanceof DurableLogError ? 0 : stored.seq
    if (seq > current) throw snapshotAhead(stream, seq, current)
    if (seq < storedSeq) throw snapshotOlder(stream, seq, storedSeq, current)
  }

  /** Keeps a snapshot, or the error that stands in the place of a damaged one. */
  keepSnapshot(stream: string, snapshot: Snapshot | DurableLogError): void {
    this.snapshots.set(stream, snapshot)
  }

  /** @throws `corrupt`. */
  loadSnapshot(stream: string): Snapshot | undefined {
    const snapshot = this.snapshots.get(stream)
    if (snapshot instanceof DurableLogError) throw snapshot
    return snapshot
  }
}

/** The entries of an append as they follow seq `after`. */
export function storedEntries(request: CheckedAppend, after: number, appendedAt: number): StoredEntry[] {
  return request.entries.map(({ type, data }, index) =>
    Object.freeze({ seq: after + index + 1, type, data: data.value, appendedAt }),
  )
}

/** A stream whose entries are all there: entry `seq` at index `seq - 1`. */
export class WholeStream implements StreamContent {
  private readonly entries: StoredEntry[]

  constructor(entries: StoredEntry[]) {
    this.entries = entries
  }

  get head(): number {
    return this.entries.length
  }

  read(afterSeq: number, limit: number): readonly StoredEntry[] {
    return this.entries.slice(afterSeq, afterSeq + limit)
  }

  assertAppendable(): void {}

  push(entries: readonly StoredEntry[]): void {
    for (const entry of entries) this.entries.push(entry)
  }
}

/**
 * A stream with damaged or missing entries. Readers get what is whole up to the damage or after it;
 * nobody appends, because the place of the next entry is not certain.
 */
export class DamagedStream implements StreamContent {
  readonly head: number
  private readonly entries: ReadonlyMap<number, StoredEntry>
  private readonly errorAt: (seq: number) => DurableLogError
  private readonly first: DurableLogError

  /**
   * @param entries the whole ones, by seq.
   * @param first the error of the first damaged entry.
   * @param errorAt the error of any seq that has no whole entry.
   */
  constructor(
    head: number,
    entries: ReadonlyMap<number, StoredEntry>,
    first: DurableLogError,
    errorAt: (seq: number) => DurableLogError,
  ) {
    this.head = head
    this.entries = entries
    this.first = first
    this.errorAt = errorAt
  }

  read(afterSeq: number, limit: number): readonly StoredEntry[] {
    const found: StoredEntry[] = []
    for (let seq = afterSeq + 1; seq <= this.head && found.length < limit; seq += 1) {
      const entry = this.entries.get(seq)
      if (entry === undefined) throw this.errorAt(seq)
      found.push(entry)
    }
    return found
  }

  assertAppendable(): void {
    throw this.first
  }

  push(): void {
    throw this.first
  }
}
