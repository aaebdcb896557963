/** The one error class of the durable log. */
import { HarnessError } from '@deepseek-ai/dsh-llm'
import type { LeaseHolder } from './lease-types.ts'

/**
 * - `conflict`: the stream is not where the caller expected it; `currentSeq` says where it is.
 * - `closed`: the log was closed.
 * - `corrupt`: the medium holds an entry that cannot be read; `stream` and `seq` name it.
 * - `too-large`: an entry exceeds the limit of one entry.
 * - `invalid`: an argument is malformed; nothing was written.
 * - `unavailable`: the medium does not answer (locked, unwritable, gone).
 * - `aborted`: the caller's signal fired before the write began.
 * - `lease-held`: somebody else holds the lease; `holder` says who.
 * - `lease-lost`: this holder's lease ran out, was released or was taken over; `holder` says by whom,
 *   if anybody.
 */
export type DurableLogErrorCode =
  | 'conflict'
  | 'closed'
  | 'corrupt'
  | 'too-large'
  | 'invalid'
  | 'unavailable'
  | 'aborted'
  | 'lease-held'
  | 'lease-lost'

export interface DurableLogErrorDetails {
  readonly stream?: string
  readonly seq?: number
  readonly currentSeq?: number
  readonly holder?: LeaseHolder
  readonly cause?: unknown
}

export class DurableLogError extends HarnessError {
  declare readonly code: DurableLogErrorCode
  readonly stream: string | undefined
  /** The damaged entry of `corrupt`. */
  readonly seq: number | undefined
  /** Where the stream really is, for `conflict`. */
  readonly currentSeq: number | undefined
  /** Who has the lease, for `lease-held` and `lease-lost`. */
  readonly holder: LeaseHolder | undefined

  constructor(code: DurableLogErrorCode, message: string, details: DurableLogErrorDetails = {}) {
    super(message, code, details.cause === undefined ? undefined : { cause: details.cause })
    this.stream = details.stream
    this.seq = details.seq
    this.currentSeq = details.currentSeq
    this.holder = details.holder
  }
}
