/** The database of a home as it lies there, read only. */
import type { DurableLog } from 'dsh-durable-log'
import { isThere, nameOf, openDatabase, type Database } from '../shell/database.ts'
import { ShellError } from '../shell/shell-error.ts'
import { AGENT_EXIT } from './exits.ts'

/** @throws ShellError where there is no database; what the log or the reading throws. */
export async function onStoredLog<T>(database: Database, read: (log: DurableLog) => Promise<T>): Promise<T> {
  if (!isThere(database)) {
    throw new ShellError(
      AGENT_EXIT.noHost,
      'no-host',
      `no DSH runs on this home, and there is no database at ${nameOf(database)}`,
    )
  }
  const log = openDatabase(database, true)
  try {
    return await read(log)
  } finally {
    await log.close()
  }
}
