/**
 * What is read from and written to a log in PostgreSQL.
 *
 * Owns: the statements, and the order of this host's writes. Does not own: connections and their
 * repetition (postgres-connection), the tables (postgres-schema), listeners (postgres-log). It keeps
 * no copy of anything in memory.
 */
import type { CheckedAppend, CheckedEntry, CheckedList, CheckedRead, CheckedSnapshot } from './checks.ts'
import {
  decodeEntry,
  decodeSnapshot,
  type EntryRow,
  placelessChecksum,
  snapshotChecksum,
  type SnapshotRow,
} from './entry-format.ts'
import type { DurableLogError } from './errors.ts'
import type { PostgresConnection, Statement } from './postgres-connection.ts'
import type { PostgresNews } from './postgres-news.ts'
import { type PostgresStatements, postgresStatements } from './postgres-statements.ts'
import { aborted, appendConflict, snapshotAhead, snapshotOlder } from './refusals.ts'
import { compareStreams } from './stream-order.ts'
import type { Snapshot, SqlWork, StoredEntry, StreamHead, StreamPage } from './types.ts'
import { WriteBatches } from './write-batches.ts'

/** Bounds of one page of a read; the first entry of a page may exceed the bytes. */
const PAGE_ENTRIES = 1000
const PAGE_BYTES = 4 * 1024 * 1024
const ANY = -1

/** The entry that a page follows. */
type Last = Pick<PlacedRow, 'seq' | 'xact'>

type PlacedRow = EntryRow & { readonly xact: string }

export class PostgresMedium {
  private readonly connection: PostgresConnection
  private readonly news: PostgresNews
  private readonly sql: PostgresStatements
  private readonly batches = new WriteBatches((requests) => this.sendAppends(requests))

  constructor(connection: PostgresConnection, schema: string, news: PostgresNews) {
    this.connection = connection
    this.news = news
    this.sql = postgresStatements(schema)
  }

  append(request: CheckedAppend): Promise<number> {
    return this.batches.append(request)
  }

  /** One transaction, which this host's other writes wait for. */
  appendWith(request: CheckedAppend, work: SqlWork): Promise<number> {
    return this.batches.alone(async () => {
      const { stream, signal } = request
      if (signal?.aborted === true) throw aborted(stream, signal.reason)
      const head = await this.connection.transaction(async (execute) => {
        await work(execute)
        const { text, values } = this.appendCall([request])
        const [row] = (await execute(text, values)).rows as readonly { accepted: boolean; head: number }[]
        const { accepted = false, head: seq = 0 } = row ?? {}
        if (!accepted) throw appendConflict(stream, Number(request.expectedSeq), seq)
        return seq
      })
      this.news.committed(stream, head)
      return head
    })
  }

  /** Reads in pages. When the stream is removed between two pages, the reading begins anew. */
  async read({ stream, afterSeq, limit }: CheckedRead): Promise<readonly StoredEntry[]> {
    let entries: StoredEntry[] = []
    let last: Last | undefined
    while (entries.length < limit) {
      const count = Math.min(PAGE_ENTRIES, limit - entries.length)
      const rows = await this.readPage(stream, last === undefined ? afterSeq + 1 : last.seq, count, last)
      if (rows === undefined) {
        entries = []
        last = undefined
        continue
      }
      for (const row of rows) entries.push(decodeEntry(stream, afterSeq + entries.length + 1, row))
      last = rows.at(-1) ?? last
      // A page that bytes have cut short is followed by another one; an empty page is the last one.
      if (rows.length === 0) break
    }
    return entries
  }

  async list({ prefix, cursor, limit }: CheckedList): Promise<StreamPage> {
    const resumes = cursor !== undefined && compareStreams(cursor, prefix) >= 0
    const statement = resumes ? this.sql.listAfter : this.sql.listFrom
    const rows = await this.connection.read<StreamHead & { stream: string; seq: number }>(statement, [
      resumes ? cursor : prefix,
      prefix,
      limit + 1,
    ])
    const streams = rows.slice(0, limit).map(({ stream, seq }): StreamHead => Object.freeze({ stream, seq }))
    const last = streams.at(-1)
    return rows.length > limit && last !== undefined ? { streams, cursor: last.stream } : { streams }
  }

  saveSnapshot({ stream, seq, snapshot }: CheckedSnapshot): Promise<void> {
    return this.batches.alone(async () => {
      const checksum = snapshotChecksum(stream, seq, snapshot.text)
      const [row] = await this.connection.write<{ head: number; stored: number }>(this.sql.saveSnapshot, [
        stream,
        seq,
        snapshot.text,
        checksum,
      ])
      const { head = 0, stored = 0 } = row ?? {}
      if (seq > head) throw snapshotAhead(stream, seq, head)
      if (seq < stored) throw snapshotOlder(stream, seq, stored, head)
    })
  }

  async loadSnapshot(stream: string): Promise<Snapshot | undefined> {
    const [row] = await this.connection.read<SnapshotRow & Record<string, unknown>>(this.sql.loadSnapshot, [
      stream,
    ])
    return row === undefined ? undefined : decodeSnapshot(stream, row)
  }

  remove(stream: string): Promise<void> {
    return this.batches.alone(async () => {
      const [row] = await this.connection.write<{ removal: string | null }>(this.sql.remove, [stream])
      if (typeof row?.removal === 'string') this.news.committed(stream, 0, row.removal)
    })
  }

  /** @returns undefined when the entry that the page follows is not there any more. */
  private async readPage(
    stream: string,
    first: number,
    count: number,
    last: Last | undefined,
  ): Promise<readonly PlacedRow[] | undefined> {
    const isFirst = last === undefined
    const rows = await this.connection.read<PlacedRow & Record<string, unknown>>(this.sql.entries, [
      stream,
      first,
      isFirst ? count : count + 1,
      PAGE_BYTES,
      isFirst ? 0 : 1,
    ])
    if (isFirst) return rows
    const [known, ...page] = rows
    // Seqs come again after a removal, transactions do not.
    return known?.seq === last.seq && known.xact === last.xact ? page : undefined
  }

  private async sendAppends(
    requests: readonly CheckedAppend[],
  ): Promise<readonly (number | DurableLogError)[]> {
    const [request, ...others] = requests
    const [entry, ...more] = request?.entries ?? []
    if (request === undefined || entry === undefined) return []
    return others.length === 0 && more.length === 0
      ? [await this.sendOne(request, entry)]
      : this.sendAll(requests)
  }

  private async sendOne(
    { stream, expectedSeq }: CheckedAppend,
    { type, data }: CheckedEntry,
  ): Promise<number | DurableLogError> {
    const appendedAt = Date.now()
    const [row] = await this.connection.write<{ seq: number }>(this.sql.appendOne, [
      stream,
      expectedSeq === 'any' ? ANY : expectedSeq,
      appendedAt,
      type,
      data.text,
      placelessChecksum({ stream, appendedAt, type }, data.text),
    ])
    const { seq = 0 } = row ?? {}
    return this.outcomeOf(stream, expectedSeq, seq > 0, seq > 0 ? seq : -1 - seq)
  }

  /** One transaction for all of them. */
  private async sendAll(requests: readonly CheckedAppend[]): Promise<readonly (number | DurableLogError)[]> {
    const { name, text, values } = this.appendCall(requests)
    const rows = await this.connection.write<{ accepted: boolean; head: number }>({ name, text }, values)
    return requests.map(({ stream, expectedSeq }, index) => {
      const { accepted = false, head = 0 } = rows[index] ?? {}
      return this.outcomeOf(stream, expectedSeq, accepted, head)
    })
  }

  private appendCall(
    requests: readonly CheckedAppend[],
  ): Statement & { readonly values: readonly unknown[] } {
    const appendedAt = Date.now()
    const entries = requests.flatMap(({ stream, entries: own }) =>
      own.map(({ type, data }) => ({
        type,
        text: data.text,
        checksum: placelessChecksum({ stream, appendedAt, type }, data.text),
      })),
    )
    const values = [
      requests.map(({ stream }) => stream),
      requests.map(({ expectedSeq }) => (expectedSeq === 'any' ? ANY : expectedSeq)),
      requests.map((request) => request.entries.length),
      appendedAt,
      entries.map(({ type }) => type),
      entries.map(({ text }) => text),
      entries.map(({ checksum }) => checksum),
    ]
    return { ...this.sql.append, values }
  }

  private outcomeOf(
    stream: string,
    expectedSeq: number | 'any',
    accepted: boolean,
    head: number,
  ): number | DurableLogError {
    if (!accepted) return appendConflict(stream, Number(expectedSeq), head)
    this.news.committed(stream, head)
    return head
  }

  /** Resolves when every write submitted so far has ended. */
  idle(): Promise<void> {
    return this.batches.idle()
  }
}
