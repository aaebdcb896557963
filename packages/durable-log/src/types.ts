/**
 * The vocabulary of the durable log: streams of entries, appended under a condition.
 *
 * A *stream* is named and ordered; an *entry* is what a caller appends; a *stored entry* carries its
 * `seq`, the position in its stream, counted from 1 without holes. Seq 0 is the empty stream.
 */

/** Any lossless JSON value. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue }

/** What a caller appends. */
export interface Entry {
  /** A short kind such as `graph/updated`; at most 64 characters, no control characters. */
  readonly type: string
  /** Lossless JSON. */
  readonly data: JsonValue
}

/** An entry in its place. Frozen. */
export interface StoredEntry extends Entry {
  /** Position in the stream, from 1. */
  readonly seq: number
  /** When it was appended, epoch milliseconds. */
  readonly appendedAt: number
}

/** The last position of a stream. */
export interface StreamHead {
  readonly stream: string
  /** Seq of the newest entry; 0, which only listeners hear of, when the stream was removed. */
  readonly seq: number
}

/** A folded state saved at a position, which bounds the cost of opening. */
export interface Snapshot {
  readonly seq: number
  readonly snapshot: JsonValue
}

export interface ReadOptions {
  /** Return entries after this position; default 0. */
  readonly afterSeq?: number
  /** At most this many; default all. */
  readonly limit?: number
}

export interface ListOptions {
  readonly prefix?: string
  /** The `cursor` of the page before. */
  readonly cursor?: string
  /** Streams a page, 1 to 1000; default 200. */
  readonly limit?: number
}

/**
 * Streams in code-point order of their names, which is the byte order of UTF-8; `cursor` is there
 * when more follow.
 */
export interface StreamPage {
  readonly streams: readonly StreamHead[]
  readonly cursor?: string
}

export interface AppendOptions {
  /** Aborts a write that has not begun; a write under way is finished. */
  readonly signal?: AbortSignal
}

/** Runs one statement in a transaction that somebody else begins and ends; rejects as its client does. */
export type ExecuteSql = (
  text: string,
  values?: readonly unknown[],
) => Promise<{ readonly rows: readonly unknown[] }>

/** What is done in one transaction with an append. */
export type SqlWork = (execute: ExecuteSql) => Promise<void>

/**
 * Append-only streams with compare-and-append.
 *
 * Every method rejects with a {@link DurableLogError}: `closed` after {@link close}, `invalid` for a
 * malformed argument (nothing is written), `unavailable` when the medium does not answer.
 */
export interface DurableLog {
  /**
   * Appends all `entries` or none, and resolves when they are durable.
   *
   * @param stream 1 to 512 characters, no control characters.
   * @param expectedSeq the seq the stream must be at (0: it must not exist yet), or `'any'`.
   * @param entries at least one.
   * @returns the seq of the last entry appended.
   * @throws `conflict` with `currentSeq` when the stream is elsewhere; `too-large` when an entry
   *   exceeds 4 MiB of JSON; `aborted` when the signal fired before the write began; `corrupt` when
   *   the stream is damaged and its head is not certain.
   */
  append(
    stream: string,
    expectedSeq: number | 'any',
    entries: readonly Entry[],
    options?: AppendOptions,
  ): Promise<number>
  /**
   * {@link append} in one transaction with `work`, which runs before it on the same database: both
   * are stored or neither. Only a log in PostgreSQL has it. `work` is done anew when the transaction
   * is, so it must not keep what it saw.
   *
   * @throws as `append`, and what `work` throws; then nothing is stored. `unavailable` may mean, as
   *   there, that the answer to the commit was lost.
   */
  appendWith?(
    stream: string,
    expectedSeq: number | 'any',
    entries: readonly Entry[],
    work: SqlWork,
    options?: AppendOptions,
  ): Promise<number>
  /** Entries in order; an unknown stream is an empty one. Throws `corrupt` for a damaged entry. */
  read(stream: string, options?: ReadOptions): Promise<readonly StoredEntry[]>
  list(options?: ListOptions): Promise<StreamPage>
  /** Keeps the newest snapshot only; an older seq than the stored one is refused with `conflict`. */
  saveSnapshot(stream: string, seq: number, snapshot: JsonValue): Promise<void>
  loadSnapshot(stream: string): Promise<Snapshot | undefined>
  /**
   * Removes a stream with all its entries and its snapshot, and resolves when that is durable. A
   * crash leaves it whole or gone. An unknown stream is no error; a damaged one is removed as well,
   * which ends its quarantine. The name is free again: its next entry has seq 1, so whoever still
   * quotes a seq of the removed stream may meet a new one of that length.
   */
  remove(stream: string): Promise<void>
  /**
   * Tells about appends to streams with this prefix and about their removal (a head with seq 0),
   * also those of other processes on the same medium. Calls may be coalesced: only the newest head
   * of a stream is certain to arrive, and a removal before the appends that followed it.
   * A listener that throws is contained.
   *
   * @returns the undo.
   */
  subscribe(prefix: string, listener: (head: StreamHead) => void): () => void
  /** Waits for writes under way, then refuses everything. Idempotent. */
  close(): Promise<void>
}
