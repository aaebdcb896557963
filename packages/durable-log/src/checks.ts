/**
 * Arguments of the port, checked and snapshotted before anything else happens.
 *
 * Each function takes what a caller passed, reads it once, and returns a value that the caller can
 * no longer change. Owns the limits. Pure; every refusal is a DurableLogError.
 */
import { DurableLogError } from './errors.ts'
import { copyJson, type JsonCopy } from './json.ts'

/** Longest JSON text of one entry, in bytes. */
export const MAX_ENTRY_BYTES = 4 * 1024 * 1024
/** Longest JSON text of one snapshot, in bytes. */
export const MAX_SNAPSHOT_BYTES = 64 * 1024 * 1024
/** Longest JSON text of all entries of one append together, in characters. */
export const MAX_APPEND_LENGTH = 64 * 1024 * 1024
const MAX_STREAM_LENGTH = 512
const MAX_TYPE_LENGTH = 64
const MAX_PAGE = 1000
const DEFAULT_PAGE = 200
/** What an entry counts beside its data. */
const ENTRY_OVERHEAD = 32

/** An entry ready to be stored. */
export interface CheckedEntry {
  readonly type: string
  readonly data: JsonCopy
}

export interface CheckedAppend {
  readonly stream: string
  readonly expectedSeq: number | 'any'
  readonly entries: readonly CheckedEntry[]
  readonly signal: AbortSignal | undefined
}

export interface CheckedRead {
  readonly stream: string
  readonly afterSeq: number
  /** `Infinity` for all. */
  readonly limit: number
}

export interface CheckedList {
  readonly prefix: string
  readonly cursor: string | undefined
  readonly limit: number
}

export interface CheckedSnapshot {
  readonly stream: string
  readonly seq: number
  readonly snapshot: JsonCopy
}

/** @throws `invalid`, `too-large`. */
export function checkAppend(
  stream: unknown,
  expectedSeq: unknown,
  entries: unknown,
  options: unknown,
): CheckedAppend {
  return guarded('append', () => ({
    stream: checkStream(stream),
    expectedSeq: expectedSeq === 'any' ? 'any' : checkCount('expectedSeq', expectedSeq, 0),
    entries: checkEntries(entries),
    signal: checkSignal(record('options', options)['signal']),
  }))
}

/** @throws `invalid`. */
export function checkRead(stream: unknown, options: unknown): CheckedRead {
  return guarded('read', () => {
    const { afterSeq, limit } = record('options', options)
    return {
      stream: checkStream(stream),
      afterSeq: afterSeq === undefined ? 0 : checkCount('afterSeq', afterSeq, 0),
      limit: limit === undefined ? Infinity : checkCount('limit', limit, 0),
    }
  })
}

/** @throws `invalid`. */
export function checkList(options: unknown): CheckedList {
  return guarded('list', () => {
    const { prefix, cursor, limit } = record('options', options)
    return {
      prefix: prefix === undefined ? '' : checkName('prefix', prefix, 0, MAX_STREAM_LENGTH),
      cursor: cursor === undefined ? undefined : checkName('cursor', cursor, 1, MAX_STREAM_LENGTH),
      limit: limit === undefined ? DEFAULT_PAGE : checkCount('limit', limit, 1, MAX_PAGE),
    }
  })
}

/** @throws `invalid`, `too-large`. */
export function checkSnapshot(stream: unknown, seq: unknown, snapshot: unknown): CheckedSnapshot {
  return guarded('saveSnapshot', () => ({
    stream: checkStream(stream),
    seq: checkCount('seq', seq, 1),
    snapshot: copyJson(snapshot, 'snapshot', MAX_SNAPSHOT_BYTES),
  }))
}

/** @throws `invalid`. */
export function checkSubscription(prefix: unknown, listener: unknown): { readonly prefix: string } {
  if (typeof listener !== 'function') throw invalid('listener must be a function')
  return { prefix: checkName('prefix', prefix, 0, MAX_STREAM_LENGTH) }
}

/** @throws `invalid`. */
export function checkStream(stream: unknown): string {
  return checkName('stream', stream, 1, MAX_STREAM_LENGTH)
}

function checkEntries(entries: unknown): CheckedEntry[] {
  if (!Array.isArray(entries)) throw invalid('entries must be an array')
  const length = entries.length
  if (length === 0) throw invalid('entries must hold at least one entry')
  const checked: CheckedEntry[] = []
  let total = 0
  for (let index = 0; index < length; index += 1) {
    const entry = record(`entries[${index}]`, (entries as unknown[])[index] ?? null)
    const type = checkName(`entries[${index}].type`, entry['type'], 1, MAX_TYPE_LENGTH)
    const data = copyJson(entry['data'], `entries[${index}].data`, MAX_ENTRY_BYTES)
    total += data.text.length + ENTRY_OVERHEAD
    if (total > MAX_APPEND_LENGTH) {
      throw new DurableLogError(
        'too-large',
        `the entries of one append are longer than ${MAX_APPEND_LENGTH} characters; append them in parts`,
      )
    }
    checked.push({ type, data })
  }
  return checked
}

function checkName(what: string, value: unknown, min: number, max: number): string {
  if (typeof value !== 'string') throw invalid(`${what} must be a string`)
  if (value.length < min || value.length > max) {
    throw invalid(`${what} must be ${min} to ${max} characters long, not ${value.length}`)
  }
  if (/\p{Cc}/u.test(value)) throw invalid(`${what} must not hold control characters`)
  if (!value.isWellFormed()) throw invalid(`${what} must not hold half a surrogate pair`)
  return value
}

function checkCount(what: string, value: unknown, min: number, max = Number.MAX_SAFE_INTEGER): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max) {
    const bounds = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`
    throw invalid(`${what} must be a whole number ${bounds}`)
  }
  // Negative zero becomes zero.
  return value + 0
}

function checkSignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal
  throw invalid('options.signal must be an AbortSignal')
}

function record(what: string, value: unknown): Record<string, unknown> {
  if (value === undefined) return {}
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid(`${what} must be an object`)
  return value as Record<string, unknown>
}

/** A getter or proxy of the caller may throw anything; that is a malformed argument too. */
function guarded<T>(operation: string, check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (error instanceof DurableLogError) throw error
    throw new DurableLogError('invalid', `an argument of ${operation} cannot be read`, { cause: error })
  }
}

function invalid(text: string): DurableLogError {
  return new DurableLogError('invalid', text)
}
