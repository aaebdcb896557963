/** The one error class of the durable log. */
import { HarnessError } from '@deepseek-ai/dsh-llm'

/**
 * - `conflict`: the stream is not where the caller expected it; `currentSeq` says where it is.
 * - `closed`: the log was closed.
 * - `corrupt`: the medium holds an entry that cannot be read; `stream` and `seq` name it.
 * - `too-large`: an entry exceeds the limit of one entry.
 * - `invalid`: an argument is malformed; nothing was written.
 * - `unavailable`: the medium does not answer (locked, unwritable, gone).
 * - `aborted`: the caller's signal fired before the write began.
 */
export type DurableLogErrorCode =
  | 'conflict'
  | 'closed'
  | 'corrupt'
  | 'too-large'
  | 'invalid'
  | 'unavailable'
  | 'aborted'

export interface DurableLogErrorDetails {
  readonly stream?: string
  readonly seq?: number
  readonly currentSeq?: number
  readonly cause?: unknown
}

export class DurableLogError extends HarnessError {
  declare readonly code: DurableLogErrorCode
  readonly stream: string | undefined
  /** The damaged entry of `corrupt`. */
  readonly seq: number | undefined
  /** Where the stream really is, for `conflict`. */
  readonly currentSeq: number | undefined

  constructor(code: DurableLogErrorCode, message: string, details: DurableLogErrorDetails = {}) {
    super(message, code, details.cause === undefined ? undefined : { cause: details.cause })
    this.stream = details.stream
    this.seq = details.seq
    this.currentSeq = details.currentSeq
  }
}
