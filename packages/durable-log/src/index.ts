/**
 * dsh-durable-log: append-only streams with compare-and-append, and the service `ctx.durableLog`.
 */
import type { DurableLog } from './types.ts'

export { DurableLogError, type DurableLogErrorCode, type DurableLogErrorDetails } from './errors.ts'
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
