/**
 * The prepared statements of one connection. Owns the SQL of reading and writing, and nothing else.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

export interface Statements {
  readonly begin: StatementSync
  readonly commit: StatementSync
  readonly rollback: StatementSync
  /** `(stream) → { seq }`, null for an unknown stream. */
  readonly head: StatementSync
  /** `(stream, seq, format, appendedAt, type, data, checksum)`. */
  readonly insertEntry: StatementSync
  /** `(stream, afterSeq, limit) → EntryRow…` */
  readonly entries: StatementSync
  /** `(name) → { stream, seq }` of the first stream not before `name`; nulls when there is none. */
  readonly streamFrom: StatementSync
  /** The same, after `name`. */
  readonly streamAfter: StatementSync
  /** `(stream) → SnapshotRow`. */
  readonly snapshot: StatementSync
  /** `(stream, seq, format, data, checksum)`. */
  readonly replaceSnapshot: StatementSync
  readonly dataVersion: StatementSync
  /** `() → { position }`, null when there are no entries. */
  readonly newestPosition: StatementSync
  /** `(position) → { stream, seq, position }…` */
  readonly headsSince: StatementSync
}

export function prepareStatements(database: DatabaseSync): Statements {
  const prepare = (sql: string) => database.prepare(sql)
  // `max(seq)` and `min(stream)` are seeks in the index, whatever the number of entries.
  const firstStream = (condition: string) =>
    prepare(`SELECT stream, max(seq) AS seq FROM entries
             WHERE stream = (SELECT min(stream) FROM entries WHERE stream ${condition} ?)`)
  return {
    begin: prepare('BEGIN IMMEDIATE'),
    commit: prepare('COMMIT'),
    rollback: prepare('ROLLBACK'),
    head: prepare('SELECT max(seq) AS seq FROM entries WHERE stream = ?'),
    insertEntry: prepare(`INSERT INTO entries (stream, seq, format, appended_at, type, data, checksum)
                          VALUES (?, ?, ?, ?, ?, ?, ?)`),
    entries: prepare(`SELECT seq, format, appended_at AS appendedAt, type, data, checksum FROM entries
                      WHERE stream = ? AND seq > ? ORDER BY seq LIMIT ?`),
    streamFrom: firstStream('>='),
    streamAfter: firstStream('>'),
    snapshot: prepare('SELECT seq, format, data, checksum FROM snapshots WHERE stream = ?'),
    replaceSnapshot:
      prepare(`INSERT INTO snapshots (stream, seq, format, data, checksum) VALUES (?, ?, ?, ?, ?)
                              ON CONFLICT (stream) DO UPDATE SET seq = excluded.seq, format = excluded.format,
                                data = excluded.data, checksum = excluded.checksum`),
    dataVersion: prepare('PRAGMA data_version'),
    newestPosition: prepare('SELECT max(position) AS position FROM entries'),
    headsSince: prepare(`SELECT stream, max(seq) AS seq, max(position) AS position FROM entries
                         WHERE position > ? GROUP BY stream`),
  }
}
