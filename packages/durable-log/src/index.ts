/**
 * dsh-durable-log: append-only streams with compare-and-append, leases on them, and the service
 * `ctx.durableLog`.
 */
import type { DurableLog } from './types.ts'

export { apply, Config, inject, name } from './plugin.ts'
export { DurableLogError, type DurableLogErrorCode, type DurableLogErrorDetails } from './errors.ts'
export { kvUnitLog } from './kv-log.ts'
export { KV_UNIT_DESCRIPTOR, type KvUnit, type KvUnitDescriptor } from './kv-unit.ts'
export { leaseStore, type LeaseStoreOptions } from './lease-store.ts'
export type {
  Lease,
  LeaseClock,
  LeaseFence,
  LeaseHolder,
  LeaseStore,
  LeaseView,
  Processes,
  ProcessIdentity,
  ProcessState,
} from './lease-types.ts'
export { memoryLog } from './memory-log.ts'
export { systemProcesses } from './process-identity.ts'
export { postgresLog, type PostgresLogOptions } from './postgres-log.ts'
export { sqliteLog, type SqliteLogOptions } from './sqlite-log.ts'
export {
  CONNECTION_ENV_PATTERN,
  DEFAULT_CONNECTION_ENV,
  DEFAULT_SCHEMA,
  openPostgresLog,
  type PostgresBackend,
} from './postgres-backend.ts'
export { type OpenedLog, openStorageLog, storageServices } from './storage-backend.ts'
export type {
  AppendOptions,
  DurableLog,
  Entry,
  ExecuteSql,
  JsonValue,
  ListOptions,
  ReadOptions,
  Snapshot,
  SqlWork,
  StoredEntry,
  StreamHead,
  StreamPage,
} from './types.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    durableLog: DurableLog
  }
}
