/**
 * dsh-durable-log: append-only streams with compare-and-append, and the service `ctx.durableLog`.
 */
import type { DurableLog } from './types.ts'

export { apply, Config, inject, name } from './plugin.ts'
export { DurableLogError, type DurableLogErrorCode, type DurableLogErrorDetails } from './errors.ts'
export { memoryLog } from './memory-log.ts'
export { sqliteLog, type SqliteLogOptions } from './sqlite-log.ts'
export type {
  AppendOptions,
  DurableLog,
  Entry,
  JsonValue,
  ListOptions,
  ReadOptions,
  Snapshot,
  StoredEntry,
  StreamHead,
  StreamPage,
} from './types.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    durableLog: DurableLog
  }
}
