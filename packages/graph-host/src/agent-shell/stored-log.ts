/** The database of a home as it lies there, read only. */
import { statSync } from 'node:fs'
import { sqliteLog, type DurableLog } from 'dsh-durable-log'
import { ShellError } from '../shell/shell-error.ts'
import { AGENT_EXIT } from './exits.ts'

/** How long a lock of another process is waited for. */
const PATIENCE_MS = 5_000

/** @throws ShellError where there is no database; what the log or the reading throws. */
export async function onStoredLog<T>(path: string, read: (log: DurableLog) => Promise<T>): Promise<T> {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) {
    throw new ShellError(
      AGENT_EXIT.noHost,
      'no-host',
      `no DSH runs on this home, and there is no database at ${path}`,
    )
  }
  const log = sqliteLog({ path, busyTimeoutMs: PATIENCE_MS, readOnly: true })
  try {
    return await read(log)
  } finally {
    await log.close()
  }
}
