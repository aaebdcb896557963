/**
 * `node:sqlite`, loaded on first use and without its experimental warning.
 *
 * Node 22 prints that warning on stderr of every program that loads the module. The filter is in
 * place only during the synchronous load and lets every other warning through.
 */
import type * as SqliteModule from 'node:sqlite'
import { DurableLogError } from './errors.ts'

type NodeSqlite = typeof SqliteModule

/** Primary result codes of SQLite, https://www.sqlite.org/rescode.html. */
const SQLITE_BUSY = 5
const SQLITE_CORRUPT = 11
const SQLITE_PROTOCOL = 15
const SQLITE_NOTADB = 26

/** @throws DurableLogError `unavailable` when this Node was built without SQLite. */
export function loadSqlite(): NodeSqlite {
  const emitWarning = process.emitWarning
  const filtered = (...args: readonly unknown[]): void => {
    const [warning, type] = args
    if (type === 'ExperimentalWarning' && /sqlite/i.test(String(warning))) return
    Reflect.apply(emitWarning, process, args)
  }
  process.emitWarning = filtered
  try {
    const sqlite = process.getBuiltinModule('node:sqlite') as NodeSqlite | undefined
    if (sqlite === undefined) {
      throw new DurableLogError('unavailable', 'this Node has no node:sqlite; use the memory backend')
    }
    return sqlite
  } finally {
    process.emitWarning = emitWarning
  }
}

/** The primary result code of an error SQLite raised, or undefined for any other error. */
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number')
    return undefined
  return error.errcode & 0xff
}

/** Another connection holds a lock; the same statement may succeed a moment later. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error)
  return code === SQLITE_BUSY || code === SQLITE_PROTOCOL
}

/** The file itself is damaged, or what was read is not what SQLite stores. */
export function isDamage(error: unknown): boolean {
  const code = resultCode(error)
  return code === undefined || code === SQLITE_CORRUPT || code === SQLITE_NOTADB
}
