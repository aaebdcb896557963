/** The baseline of a durable commit: a prepared INSERT, with the same layout and the same pragmas. */
import { DatabaseSync } from 'node:sqlite'
import { sqliteLog } from 'dsh-durable-log'

export interface RawTable {
  insert(type: string, text: string): void
  close(): void
}

/** A file laid out by the log itself, then written to with nothing in between. */
export async function openRaw(path: string): Promise<RawTable> {
  const log = sqliteLog({ path })
  await log.append('first', 0, [{ type: 'first', data: 1 }])
  await log.close()
  const database = new DatabaseSync(path)
  database.exec('PRAGMA journal_mode = WAL')
  database.exec('PRAGMA synchronous = FULL')
  const statement = database.prepare(
    `INSERT INTO entries (stream, seq, format, appended_at, type, data, checksum) VALUES (?, ?, 1, ?, ?, ?, ?)`,
  )
  let seq = 0
  return {
    insert: (type, text) => {
      seq += 1
      statement.run('graph/raw', seq, Date.now(), type, text, 0x9e3779b9)
    },
    close: () => database.close(),
  }
}
