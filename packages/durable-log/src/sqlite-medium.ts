/**
 * One open SQLite file: what is read from it, and what a transaction writes.
 *
 * Owns: the connection, its statements, the commit queue and the watch of heads. Does not own: who
 * uses it (sqlite-media), arguments and the closed state of a log (sqlite-log), layout (sqlite-schema).
 * It keeps no copy of anything in memory, so it can never be ahead of the disk.
 */
import type { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextMacrotask } from 'node:timers/promises'
import type { CheckedAppend, CheckedList, CheckedRead, CheckedSnapshot } from './checks.ts'
import { CommitQueue } from './commit-queue.ts'
import { decodeSnapshot, entryChecksum, FORMAT, snapshotChecksum, type SnapshotRow } from './entry-format.ts'
import { DurableLogError } from './errors.ts'
import { type Announce, HeadWatch, type Placed } from './head-watch.ts'
import { isBusy } from './node-sqlite.ts'
import { patiently } from './patience.ts'
import { appendConflict, snapshotAhead, snapshotOlder } from './refusals.ts'
import { rebuildIndex } from './sqlite-repair.ts'
import { type FileIdentity, identityOf, unavailable } from './sqlite-schema.ts'
import { type Place, readPage } from './sqlite-page.ts'
import { type HeadRow, readHeadRows, removeStream } from './sqlite-removal.ts'
import { prepareStatements, REMOVALS, type Statements } from './sqlite-statements.ts'
import { compareStreams } from './stream-order.ts'
import type { Snapshot, StoredEntry, StreamHead, StreamPage } from './types.ts'

export interface SqliteMediumOptions {
  readonly path: string
  /** The file that `path` led to when it was opened. */
  readonly identity: FileIdentity
  readonly database: DatabaseSync
  /** How long reads and writes wait for a lock of another process, in ms. */
  readonly patienceMs: number
  /** How often other processes' commits are looked for while somebody watches, in ms. */
  readonly pollIntervalMs: number
}

/** A read hands the event loop back after this many entries. */
const PAGE_ENTRIES = 512
/** How long a removed or replaced file may go unnoticed while appends follow each other closely. */
const IDENTITY_CHECK_MS = 50

export class SqliteMedium {
  private readonly path: string
  private readonly identity: FileIdentity
  private readonly database: DatabaseSync
  private readonly patienceMs: number
  private readonly sql: Statements
  private readonly queue: CommitQueue
  private readonly heads: HeadWatch
  private identityCheckedAt = 0

  /** @throws what SQLite throws while another process holds a lock: try again later. */
  constructor(options: SqliteMediumOptions) {
    this.path = options.path
    this.identity = options.identity
    this.database = options.database
    this.patienceMs = options.patienceMs
    this.sql = prepareStatements(options.database)
    const { sql } = this
    this.heads = new HeadWatch(
      {
        version: () => Number(sql.dataVersion.get()?.['data_version']),
        position: () => Number(sql.newestPosition.get()?.['position'] ?? 0),
        headsSince: (position) => readHeadRows(sql.headsSince.all(position) as unknown as HeadRow[]),
      },
      options.pollIntervalMs,
    )
    this.queue = new CommitQueue(
      {
        begin: () => this.begin(),
        commit: () => void sql.commit.run(),
        rollback: () => this.rollback(),
        isBusy,
        failure: (error) => this.failure(error),
      },
      options.patienceMs,
    )
  }

  /** Appends when the stream is where the request expects it. */
  append(request: CheckedAppend): Promise<number> {
    let placed: Placed | undefined
    return this.queue.submit({
      stream: request.stream,
      signal: request.signal,
      run: () => {
        placed = this.insert(request)
        return placed.seq
      },
      committed: () => {
        if (placed !== undefined) this.heads.placed(placed)
      },
    })
  }

  /**
   * Reads in pages, so that a long stream does not hold the event loop. When the stream is removed
   * between two pages, the reading begins anew.
   */
  async read({ stream, afterSeq, limit }: CheckedRead): Promise<readonly StoredEntry[]> {
    let entries: StoredEntry[] = []
    let last: Place = { seq: afterSeq }
    while (entries.length < limit) {
      const count = Math.min(PAGE_ENTRIES, limit - entries.length)
      const page = await this.attempt(() => readPage(this.sql, stream, last, count))
      if (page === undefined) {
        entries = []
        last = { seq: afterSeq }
        continue
      }
      for (const entry of page.entries) entries.push(entry)
      if (page.isLast) break
      last = page.last
      await nextMacrotask()
    }
    return entries
  }

  list({ prefix, cursor, limit }: CheckedList): Promise<StreamPage> {
    const resumes = cursor !== undefined && compareStreams(cursor, prefix) >= 0
    return this.attempt(() => {
      const streams: StreamHead[] = []
      let row = this.firstOf(resumes ? cursor : prefix, resumes)
      for (;;) {
        const { stream, seq } = row ?? {}
        if (typeof stream !== 'string' || !stream.startsWith(prefix)) return { streams }
        if (streams.length === limit) return { streams, cursor: streams.at(-1)?.stream ?? stream }
        streams.push(Object.freeze({ stream, seq: Number(seq) }))
        row = this.sql.streamAfter.get(stream)
      }
    })
  }

  saveSnapshot(request: CheckedSnapshot): Promise<void> {
    return this.queue.submit({
      stream: request.stream,
      signal: undefined,
      run: () => this.putSnapshot(request),
      committed: () => undefined,
    })
  }

  loadSnapshot(stream: string): Promise<Snapshot | undefined> {
    return this.attempt(() => {
      const row = this.sql.snapshot.get(stream) as unknown as SnapshotRow | undefined
      return row === undefined ? undefined : decodeSnapshot(stream, row)
    })
  }

  /** Removes the stream in one transaction, in the order of the calls. */
  remove(stream: string): Promise<void> {
    let placed: Placed | undefined
    return this.queue.submit({
      stream,
      signal: undefined,
      run: () => void (placed = removeStream(this.sql, stream, () => void rebuildIndex(this.database))),
      committed: () => {
        if (placed !== undefined) this.heads.placed(placed)
      },
    })
  }

  /** @returns the undo. */
  watch(announce: Announce): () => void {
    return this.heads.watch(announce)
  }

  /** To be called when nothing is under way. */
  close(): void {
    this.heads.stop()
    this.database.close()
  }

  private insert({ stream, expectedSeq, entries }: CheckedAppend): Placed {
    const current = this.headOf(stream)
    if (expectedSeq !== 'any' && expectedSeq !== current) throw appendConflict(stream, expectedSeq, current)
    const appendedAt = Date.now()
    let seq = current
    let lastPosition = 0
    for (const { type, data } of entries) {
      seq += 1
      const checksum = entryChecksum({ stream, seq, appendedAt, type }, data.text)
      const inserted = this.sql.insertEntry.run(stream, seq, FORMAT, appendedAt, type, data.text, checksum)
      lastPosition = Number(inserted.lastInsertRowid)
    }
    // Positions of one append follow each other: the transaction holds the write lock.
    return { stream, seq, firstPosition: lastPosition - entries.length + 1, lastPosition }
  }

  private putSnapshot({ stream, seq, snapshot }: CheckedSnapshot): void {
    const current = this.headOf(stream)
    const storedSeq = Number(this.sql.snapshot.get(stream)?.['seq'] ?? 0)
    if (seq > current) throw snapshotAhead(stream, seq, current)
    if (seq < storedSeq) throw snapshotOlder(stream, seq, storedSeq, current)
    const checksum = snapshotChecksum(stream, seq, snapshot.text)
    this.sql.replaceSnapshot.run(stream, seq, FORMAT, snapshot.text, checksum)
  }

  /** The first stream at a name or, when that was seen already, after it. */
  private firstOf(name: string, isSeen: boolean): Record<string, unknown> | undefined {
    const skips = isSeen || name === REMOVALS
    return (skips ? this.sql.streamAfter : this.sql.streamFrom).get(name)
  }

  private headOf(stream: string): number {
    return Number(this.sql.head.get(stream)?.['seq'] ?? 0)
  }

  private async attempt<T>(read: () => T): Promise<T> {
    try {
      return await patiently(this.patienceMs, read)
    } catch (error) {
      throw this.failure(error)
    }
  }

  private begin(): void {
    const now = performance.now()
    if (now - this.identityCheckedAt >= IDENTITY_CHECK_MS) {
      // An open file outlives its name: writes to a deleted one would be acknowledged and lost.
      if (identityOf(this.path) !== this.identity) {
        throw unavailable(this.path, 'was removed or replaced while it was open; open it again')
      }
      this.identityCheckedAt = now
    }
    this.sql.begin.run()
  }

  private rollback(): void {
    if (!this.database.isTransaction) return
    try {
      this.sql.rollback.run()
    } catch {
      // Some failures end the transaction by themselves; then there is nothing to undo.
    }
  }

  private failure(error: unknown): DurableLogError {
    if (error instanceof DurableLogError) return error
    if (error === undefined || isBusy(error)) {
      return unavailable(
        this.path,
        `was locked by another process for more than ${this.patienceMs} ms; try again`,
      )
    }
    return unavailable(this.path, 'does not answer', error)
  }
}
