/**
 * The refusals that every adapter words alike. Pure.
 */
import { DurableLogError } from './errors.ts'

export function closed(): DurableLogError {
  return new DurableLogError('closed', 'the durable log is closed; open it again to go on')
}

export function aborted(stream: string, cause: unknown): DurableLogError {
  return new DurableLogError('aborted', `the append to "${stream}" was aborted before it began`, {
    stream,
    cause,
  })
}

export function appendConflict(stream: string, expectedSeq: number, currentSeq: number): DurableLogError {
  return new DurableLogError(
    'conflict',
    `stream "${stream}" is at ${currentSeq}, not at ${expectedSeq}; read it and decide again`,
    { stream, currentSeq },
  )
}

/** A snapshot ahead of its stream would hide entries that are still to come. */
export function snapshotAhead(stream: string, seq: number, currentSeq: number): DurableLogError {
  return new DurableLogError(
    'conflict',
    `the snapshot of "${stream}" is for ${seq}, but the stream is at ${currentSeq}`,
    { stream, currentSeq },
  )
}

export function snapshotOlder(
  stream: string,
  seq: number,
  storedSeq: number,
  currentSeq: number,
): DurableLogError {
  return new DurableLogError(
    'conflict',
    `the snapshot of "${stream}" for ${seq} is older than the stored one for ${storedSeq}; it was not kept`,
    { stream, currentSeq },
  )
}
