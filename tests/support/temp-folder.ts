/** Temporary folders that are gone when their test is. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TempFolder extends Disposable {
  /** Absolute, with links resolved, so that a process's own paths compare equal. */
  readonly path: string
}

/** @param label tells in a listing of the temp folder whose it is. */
export function tempFolder(label: string): TempFolder {
  const path = realpathSync(mkdtempSync(join(tmpdir(), `graph-test-${label}-`)))
  return {
    path,
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }),
  }
}
