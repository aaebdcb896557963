/**
 * One open file per process: logs that name the same file share its medium, and the last one to let
 * go closes it. Owns opening and counting; knows nothing of what is stored.
 */
import type { DatabaseSync } from 'node:sqlite'
import { DurableLogError } from './errors.ts'
import { isBusy } from './node-sqlite.ts'
import { patiently } from './patience.ts'
import { SqliteMedium } from './sqlite-medium.ts'
import { repairIndex } from './sqlite-repair.ts'
import {
  createPrivateFile,
  type FileIdentity,
  openDatabase,
  openForReading,
  requireFile,
  unavailable,
} from './sqlite-schema.ts'

export interface MediumRequest {
  /** Absolute. */
  readonly path: string
  readonly patienceMs: number
  readonly pollIntervalMs: number
  readonly isReadOnly: boolean
}

/** A share in an open medium. */
export interface HeldMedium {
  readonly medium: SqliteMedium
  /** Gives the share back; once. */
  release(): void
}

interface Open {
  readonly medium: Promise<SqliteMedium>
  holders: number
}

/** By file and by what may be done to it. */
const opened = new Map<string, Open>()

/**
 * Opens the file, or joins those who have it open; then their settings hold.
 *
 * @throws DurableLogError `unavailable`.
 */
export async function holdMedium(request: MediumRequest): Promise<HeldMedium> {
  const identity = request.isReadOnly ? requireFile(request.path) : createPrivateFile(request.path)
  const key = request.isReadOnly ? `${identity} read-only` : identity
  let open = opened.get(key)
  if (open === undefined) opened.set(key, (open = { medium: openMedium(request, identity), holders: 0 }))
  const share = open
  share.holders += 1
  const letGo = () => {
    share.holders -= 1
    if (share.holders > 0) return false
    opened.delete(key)
    return true
  }
  try {
    const medium = await share.medium
    return { medium, release: () => void (letGo() && medium.close()) }
  } catch (error) {
    letGo()
    throw error
  }
}

async function openMedium(request: MediumRequest, identity: FileIdentity): Promise<SqliteMedium> {
  const { isReadOnly, path, patienceMs, pollIntervalMs } = request
  let database: DatabaseSync | undefined
  try {
    const open = isReadOnly ? openForReading : openDatabase
    const opened = await patiently(patienceMs, () => open(path))
    database = opened
    if (!isReadOnly) await repairIndex(path, opened, patienceMs)
    return await patiently(
      patienceMs,
      () => new SqliteMedium({ path, identity, database: opened, patienceMs, pollIntervalMs }),
    )
  } catch (error) {
    if (database?.isOpen === true) database.close()
    if (error instanceof DurableLogError) throw error
    const reason = isBusy(error)
      ? `was locked by another process for more than ${patienceMs} ms`
      : 'cannot be opened'
    throw unavailable(path, reason, error)
  }
}
