/** The durable log as it lies on disk, read with SQLite alone. */
import { DatabaseSync } from 'node:sqlite'

export interface LoggedEntry {
  readonly stream: string
  readonly seq: number
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Every entry, in the order of commits. */
export function readLog(path: string): readonly LoggedEntry[] {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    return database
      .prepare('SELECT stream, seq, type, data FROM entries ORDER BY position')
      .all()
      .map((row) => ({
        stream: String(row['stream']),
        seq: Number(row['seq']),
        type: String(row['type']),
        data: JSON.parse(String(row['data'])) as Record<string, unknown>,
      }))
  } finally {
    database.close()
  }
}

/** Entries by stream, each in order. */
export function streamsOf(entries: readonly LoggedEntry[]): ReadonlyMap<string, readonly LoggedEntry[]> {
  return Map.groupBy(entries, ({ stream }) => stream)
}
