/**
 * The prepared statements of one connection. Owns the SQL of reading and writing, and nothing else.
 *
 * Removals are kept as entries of the stream with the empty name, which no caller can name: its
 * entries hold the names of removed streams. So a removal has its position among the commits, which
 * other processes find it by, and a position is never given twice.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** The stream of removals. */
export const REMOVALS = ''

export interface Statements {
  readonly begin: StatementSync
  readonly commit: StatementSync
  readonly rollback: StatementSync
  /** `(stream) → { seq }`, null for an unknown stream. */
  readonly head: StatementSync
  /** `(stream, seq, format, appendedAt, type, data, checksum)`. */
  readonly insertEntry: StatementSync
  /** `(stream, firstSeq, limit) → EntryRow & { position }…` */
  readonly entries: StatementSync
  /** `(stream)`. */
  readonly deleteEntries: StatementSync
  readonly deleteSnapshot: StatementSync
  /** `(stream, upToSeq)`. */
  readonly deleteEntriesUpTo: StatementSync
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
  /** `(position) → { stream, seq, position }…`; for a removal `stream` is the JSON text of its name and `seq` 0. */
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
    entries:
      prepare(`SELECT seq, format, appended_at AS appendedAt, type, data, checksum, position FROM entries
                      WHERE stream = ? AND seq >= ? ORDER BY seq LIMIT ?`),
    deleteEntries: prepare('DELETE FROM entries WHERE stream = ?'),
    deleteSnapshot: prepare('DELETE FROM snapshots WHERE stream = ?'),
    deleteEntriesUpTo: prepare('DELETE FROM entries WHERE stream = ? AND seq <= ?'),
    streamFrom: firstStream('>='),
    streamAfter: firstStream('>'),
    snapshot: prepare('SELECT seq, format, data, checksum FROM snapshots WHERE stream = ?'),
    replaceSnapshot:
      prepare(`INSERT INTO snapshots (stream, seq, format, data, checksum) VALUES (?, ?, ?, ?, ?)
                              ON CONFLICT (stream) DO UPDATE SET seq = excluded.seq, format = excluded.format,
                                data = excluded.data, checksum = excluded.checksum`),
    dataVersion: prepare('PRAGMA data_version'),
    newestPosition: prepare('SELECT max(position) AS position FROM entries'),
    // One statement, so that both halves see the same commits. The plus keeps the search by position.
    headsSince: prepare(`SELECT data AS stream, 0 AS seq, position FROM entries
                         WHERE position > ?1 AND +stream = '${REMOVALS}'
                         UNION ALL
                         SELECT stream, max(seq) AS seq, max(position) AS position FROM entries
                         WHERE position > ?1 AND +stream <> '${REMOVALS}' GROUP BY stream`),
  }
}
