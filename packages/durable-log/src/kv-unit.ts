/**
 * The part of the DSH storage port that the log uses, described by its shape, so that no host package
 * is needed to compile or to install: `KvUnit` and `KvUnitDescriptor` of `@deepseek-ai/dsh-storage`
 * fit. Owns the unit's own description; opens nothing.
 */

/**
 * One opened unit. Each call is atomic on the medium and durable once it resolved; the unit orders
 * nothing, keeps no change events, and serves one process.
 */
export interface KvUnit {
  loadAll(): Promise<{ tables: Record<string, Record<string, unknown>>; global: unknown }>
  putRecord(table: string, key: string, value: unknown): Promise<void>
  deleteRecord(table: string, key: string): Promise<void>
  setGlobal(value: unknown): Promise<void>
  close(): Promise<void>
}

/** What a backend needs to open a unit. */
export interface KvUnitDescriptor {
  readonly name: string
  /** Format of the unit; a backend refuses a medium with another one. */
  readonly version: number
  readonly tables: readonly string[]
  readonly hasGlobal: boolean
}

/** One record per append, keyed by stream and first seq. */
export const ENTRIES_TABLE = 'entries'
/** The newest snapshot of each stream, keyed by stream. */
export const SNAPSHOTS_TABLE = 'snapshots'

/** The unit of a log, for `backend.kv.open(KV_UNIT_DESCRIPTOR)`. The global slot names the process that uses it. */
export const KV_UNIT_DESCRIPTOR: KvUnitDescriptor = Object.freeze({
  name: 'durable_log',
  version: 1,
  tables: Object.freeze([ENTRIES_TABLE, SNAPSHOTS_TABLE]),
  hasGlobal: true,
})
