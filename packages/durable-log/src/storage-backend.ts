/**
 * DSH's storage (`ctx.storage`) as the medium of a log. Owns the names of the services that must be
 * there, and opening and closing the unit. The host's types are described by their shape (kv-unit).
 */
import type { Context } from '@deepseek-ai/cordis'
import { DurableLogError } from './errors.ts'
import { kvUnitLog } from './kv-log.ts'
import { KV_UNIT_DESCRIPTOR, type KvUnit, type KvUnitDescriptor } from './kv-unit.ts'
import type { DurableLog } from './types.ts'

interface StorageHub {
  readonly backend: { get(name: string): StorageBackend }
}

interface StorageBackend {
  readonly kv?: { open(descriptor: KvUnitDescriptor): Promise<KvUnit> }
}

/** The services a log on this backend waits for: the hub, and the sign that the backend is registered. */
export function storageServices(backend: string): readonly string[] {
  return ['storage', `storage.backend.${backend}`]
}

/** A log with all that was opened for it. */
export interface OpenedLog {
  readonly log: DurableLog
  /** Closes the log, then what is under it. */
  close(): Promise<void>
}

/**
 * Opens the log's unit on a backend.
 *
 * @param ctx a context that injects {@link storageServices}.
 * @throws DurableLogError `unavailable`.
 */
export async function openStorageLog(ctx: Context, backend: string): Promise<OpenedLog> {
  const unit = await openUnit(ctx, backend)
  const log = kvUnitLog(unit)
  return {
    log,
    close: async () => {
      await log.close()
      await unit.close()
    },
  }
}

async function openUnit(ctx: Context, backend: string): Promise<KvUnit> {
  try {
    const storage = ctx.get('storage') as StorageHub | undefined
    if (storage === undefined) throw new Error('there is no storage service')
    const { kv } = storage.backend.get(backend)
    if (kv === undefined) throw new Error('it keeps no records by key')
    return await kv.open(KV_UNIT_DESCRIPTOR)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new DurableLogError(
      'unavailable',
      `the storage backend "${backend}" cannot keep the durable log: ${reason}`,
      { cause: error },
    )
  }
}
