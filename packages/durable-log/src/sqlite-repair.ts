/**
 * The index of entries, compared with their table when a file is opened, and rebuilt where it lies.
 *
 * Entries have checksums and the index has none. A damaged name in it would hide entries without a
 * word: a stream that ends early, or is not there. The table is the truth, so nothing is lost.
 * Owns the comparison and the rebuilding. Does not own damage inside of entries, which their
 * checksums tell when they are read.
 *
 * Looked at: that the index holds each stream from 1 on without holes, and names its first entry as
 * the table does. This reads the index only, and hands the event loop back on the way.
 */
import type { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextMacrotask } from 'node:timers/promises'
import { entryChecksum, type EntryHead, type EntryRow } from './entry-format.ts'
import { isBusy, isDamage } from './node-sqlite.ts'
import { patiently } from './patience.ts'
import { CREATE_ENTRIES_INDEX, ENTRIES_INDEX, unavailable } from './sqlite-schema.ts'
import { REMOVALS } from './sqlite-statements.ts'

/** How long the comparison may hold the event loop at a time. */
const SLICE_MS = 10

interface Run {
  readonly stream: unknown
  readonly count: number
  /** Sum of all seqs. */
  readonly sum: number
  /** Where the index says that the entry with the lowest seq lies. */
  readonly position: number
}

/** Where an entry belongs. */
interface Address {
  readonly stream: string
  readonly seq: number
  readonly position: number
}

/**
 * Compares, rebuilds the index when it is at odds with the table, and warns of that.
 *
 * @param patienceMs how long to wait for the lock of another process.
 * @throws what SQLite throws while another process holds a lock; DurableLogError `unavailable` when the
 *   index cannot be rebuilt.
 */
export async function repairIndex(path: string, database: DatabaseSync, patienceMs: number): Promise<void> {
  if (!(await isSuspect(database))) return
  const found = await patiently(patienceMs, () => rebuild(path, database))
  if (found === 0) return
  warn(
    `the index of the log at ${path} was damaged and is built anew: it hid ${found} entries, none is lost; look after the disk`,
  )
}

async function isSuspect(database: DatabaseSync): Promise<boolean> {
  const runs = database.prepare(`SELECT stream, count(*) AS count, total(seq) AS sum, min(seq), position
                                 FROM entries INDEXED BY ${ENTRIES_INDEX} GROUP BY stream`)
  const named = database.prepare('SELECT stream FROM entries WHERE position = ?')
  let since = performance.now()
  try {
    for (const row of runs.iterate()) {
      const { stream, count, sum, position } = row as unknown as Run
      if (named.get(position)?.['stream'] !== stream) return true
      // Old removals are forgotten, so their stream begins anywhere.
      if (stream !== REMOVALS && sum !== (count * (count + 1)) / 2) return true
      if (performance.now() - since < SLICE_MS) continue
      await nextMacrotask()
      since = performance.now()
    }
    return false
  } catch (error) {
    if (isBusy(error) || !isDamage(error)) throw error
    return true
  }
}

/**
 * Builds the index anew from the table when entries are hidden from it, inside a transaction that
 * somebody else holds. An entry whose own name was damaged gets back the one that the index has for
 * it and its checksum confirms.
 *
 * @returns how many entries were hidden.
 */
export function rebuildIndex(database: DatabaseSync): number {
  const hidden = database
    .prepare(
      `SELECT position FROM entries AS entry NOT INDEXED WHERE NOT EXISTS
         (SELECT 1 FROM entries AS known INDEXED BY ${ENTRIES_INDEX}
          WHERE known.stream = entry.stream AND known.seq = entry.seq AND known.position = entry.position)`,
    )
    .all()
    .map(({ position }) => Number(position))
  if (hidden.length === 0) return 0
  const addresses = hidden.flatMap((position) => lostAddress(database, position))
  database.exec(`DROP INDEX ${ENTRIES_INDEX}`)
  const rename = database.prepare('UPDATE entries SET stream = ?, seq = ? WHERE position = ?')
  for (const { stream, seq, position } of addresses) rename.run(stream, seq, position)
  database.exec(CREATE_ENTRIES_INDEX)
  return hidden.length
}

/** The address of an entry that no longer says itself where it belongs. */
function lostAddress(database: DatabaseSync, position: number): readonly Address[] {
  const entry = database
    .prepare(
      'SELECT stream, seq, appended_at AS appendedAt, type, data, checksum FROM entries WHERE position = ?',
    )
    .get(position) as unknown as EntryRow & EntryHead
  const isOf = (stream: string, seq: number) =>
    entryChecksum({ ...entry, stream, seq }, entry.data) === entry.checksum
  if (isOf(entry.stream, entry.seq)) return []
  return database
    .prepare(`SELECT stream, seq FROM entries INDEXED BY ${ENTRIES_INDEX} WHERE +position = ?`)
    .all(position)
    .map(({ stream, seq }) => ({ stream: String(stream), seq: Number(seq), position }))
    .filter(({ stream, seq }) => isOf(stream, seq))
}

function rebuild(path: string, database: DatabaseSync): number {
  database.exec('BEGIN IMMEDIATE')
  try {
    const hidden = rebuildIndex(database)
    database.exec('COMMIT')
    return hidden
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    if (isBusy(error)) throw error
    if (isDamage(error)) {
      // A page of the table or of the index itself: what lies on it is told when it is read.
      warn(`the log at ${path} has a damaged page, and its index cannot be rebuilt; restore the file`)
      return 0
    }
    throw unavailable(path, 'has an index that was damaged and written to; restore the file', error)
  }
}

function warn(text: string): void {
  process.emitWarning(text, { type: 'DurableLogWarning' })
}
