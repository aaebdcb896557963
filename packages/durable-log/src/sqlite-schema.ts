/**
 * The SQLite file: how it is created, opened and laid out.
 *
 * Owns: modes of file and folder, pragmas, tables, and the version of the layout. Does not own:
 * what an entry's bytes mean (entry-format) or when anything is written (sqlite-medium).
 */
import { closeSync, fchmodSync, fstatSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { DurableLogError } from './errors.ts'
import { isBusy, loadSqlite } from './node-sqlite.ts'

/** Layout of the tables, kept in `user_version`. */
const LAYOUT = 1
/** Marks the file as ours: "dlog". */
const APPLICATION_ID = 0x646c6f67
/** How long SQLite itself may wait for a lock, blocking the thread. Longer waits are asynchronous. */
const BLOCKING_BUSY_MS = 5

export const ENTRIES_INDEX = 'entries_by_stream'
export const CREATE_ENTRIES_INDEX = `CREATE UNIQUE INDEX ${ENTRIES_INDEX} ON entries (stream, seq)`

/**
 * `position` is the order of commits over all streams; whoever remembers one finds what others
 * appended since. The index gives a stream's order, and its head without a second record of it.
 */
const TABLES = `
CREATE TABLE entries (
  position INTEGER PRIMARY KEY,
  stream TEXT NOT NULL,
  seq INTEGER NOT NULL,
  format INTEGER NOT NULL,
  appended_at INTEGER NOT NULL,
  type TEXT NOT NULL,
  data TEXT NOT NULL,
  checksum INTEGER NOT NULL
) STRICT;
${CREATE_ENTRIES_INDEX};
CREATE TABLE snapshots (
  stream TEXT PRIMARY KEY,
  seq INTEGER NOT NULL,
  format INTEGER NOT NULL,
  data TEXT NOT NULL,
  checksum INTEGER NOT NULL
) STRICT;
`

/** Which file a path leads to: tells two paths to one file, and a replaced file from the open one. */
export type FileIdentity = string

/** @returns undefined when nothing is there. */
export function identityOf(path: string): FileIdentity | undefined {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true })
  return stat === undefined ? undefined : `${stat.dev}:${stat.ino}`
}

/**
 * Creates the file with mode 0600 when it is missing, and folders on the way with 0700. SQLite gives
 * its `-wal` and `-shm` companions the mode of the file.
 *
 * @throws DurableLogError `unavailable`, naming the path.
 */
export function createPrivateFile(path: string): FileIdentity {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const isNew = identityOf(path) === undefined
    const file = openSync(path, 'a', 0o600)
    try {
      if (!isNew && (fstatSync(file).mode & 0o077) !== 0) fchmodSync(file, 0o600)
    } finally {
      closeSync(file)
    }
    if (isNew) syncFolder(dirname(path))
    return identityOf(path) ?? ''
  } catch (error) {
    throw unavailable(path, 'cannot be opened for writing', error)
  }
}

/**
 * Opens an existing file and lays out the tables when they are missing. Safe against other
 * processes doing the same.
 *
 * @throws what SQLite throws when another process holds a lock (see `isBusy`): try again later.
 * @throws DurableLogError `unavailable` for every other failure.
 */
export function openDatabase(path: string): DatabaseSync {
  const { DatabaseSync } = loadSqlite()
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { timeout: BLOCKING_BUSY_MS })
    database.exec('PRAGMA journal_mode = WAL')
    database.exec('PRAGMA synchronous = FULL')
    layOut(path, database)
    return database
  } catch (error) {
    database?.close()
    if (error instanceof DurableLogError || isBusy(error)) throw error
    throw unavailable(path, 'cannot be opened as a durable log', error)
  }
}

/** @throws DurableLogError `unavailable` when nothing is there. */
export function requireFile(path: string): FileIdentity {
  const identity = identityOf(path)
  if (identity === undefined) throw unavailable(path, 'is not there')
  return identity
}

/**
 * Opens an existing log of this layout without the right to change it.
 *
 * @throws as {@link openDatabase}; `unavailable` for a file that is no log.
 */
export function openForReading(path: string): DatabaseSync {
  const { DatabaseSync } = loadSqlite()
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { timeout: BLOCKING_BUSY_MS, readOnly: true })
    if (layoutOf(path, database) !== LAYOUT) throw unavailable(path, 'is no durable log')
    return database
  } catch (error) {
    database?.close()
    if (error instanceof DurableLogError || isBusy(error)) throw error
    throw unavailable(path, 'cannot be opened as a durable log', error)
  }
}

/** @param what ends the sentence "the log at … ". */
export function unavailable(path: string, what: string, cause?: unknown): DurableLogError {
  const reason = cause instanceof Error ? ` (${cause.message})` : ''
  return new DurableLogError('unavailable', `the log at ${path} ${what}${reason}`, { cause })
}

function layOut(path: string, database: DatabaseSync): void {
  if (layoutOf(path, database) === LAYOUT) return
  database.exec('BEGIN IMMEDIATE')
  try {
    // Another process may have been first while this one waited for the lock.
    if (layoutOf(path, database) !== LAYOUT) {
      database.exec(TABLES)
      database.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
      database.exec(`PRAGMA user_version = ${LAYOUT}`)
    }
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

/** @returns 0 for a file without tables. */
function layoutOf(path: string, database: DatabaseSync): number {
  const layout = pragma(database, 'user_version')
  const isOurs = pragma(database, 'application_id') === APPLICATION_ID
  if (isOurs && layout > LAYOUT) {
    throw unavailable(path, `has layout ${layout} of a newer version; update this one`)
  }
  if (isOurs) return layout
  const { tables } = database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() ?? {}
  if (layout !== 0 || tables !== 0) throw unavailable(path, 'is a SQLite file of another program')
  return 0
}

function pragma(database: DatabaseSync, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name])
}

/** Makes the new directory entry survive a power loss, where folders can be synced. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
