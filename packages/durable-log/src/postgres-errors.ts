/**
 * What a failure of the `pg` client means for the statement that met it. Pure.
 */
import { DurableLogError } from './errors.ts'

/**
 * - `undone`: nothing was done, and the same may succeed a moment later.
 * - `unknown`: the connection broke with a statement under way; it may have been done.
 * - `refused`: nothing was done, and trying again would not help.
 */
export type Outcome = 'undone' | 'unknown' | 'refused'

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const RETRYABLE: ReadonlySet<string> = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
  '53300', // too_many_connections
  '55P03', // lock_not_available
  '57P03', // cannot_connect_now
  '25006', // read_only_sql_transaction, while a standby is being promoted
])
/** The server ends the connection; its answer to the statement under way may be lost. */
const ENDING: ReadonlySet<string> = new Set(['57P01', '57P02', '57P05', '08000', '08003', '08006'])
/** The database, the role or the way in is wrong: somebody must change the configuration. */
const CONFIGURATION = /^(?:28|3D|08P)/u
/** Names of network failures that last, when a connection is made. */
const LASTING: ReadonlySet<string> = new Set([
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_HAS_EXPIRED',
])
const LASTING_TEXT = /does not support SSL|SASL|password must be a string/u

/** A failure to get a connection: no statement was sent. */
export function connectOutcome(error: unknown): Outcome {
  const code = codeOf(error)
  if (LASTING.has(code) || CONFIGURATION.test(code) || LASTING_TEXT.test(textOf(error))) return 'refused'
  return 'undone'
}

/** A failure of a statement that was sent. */
export function statementOutcome(error: unknown): Outcome {
  const code = codeOf(error)
  if (RETRYABLE.has(code)) return 'undone'
  if (ENDING.has(code)) return 'unknown'
  // Every other answer of the server says that it rolled back.
  return /^[0-9A-Z]{5}$/u.test(code) && 'severity' in (error as object) ? 'refused' : 'unknown'
}

/** @param where the server and database, without credentials. */
export function unavailable(where: string, what: string, cause?: unknown): DurableLogError {
  const reason = cause === undefined ? '' : ` (${textOf(cause)})`
  return new DurableLogError('unavailable', `PostgreSQL at ${where} ${what}${reason}`, { cause })
}

function codeOf(error: unknown): string {
  const { code } = (typeof error === 'object' && error !== null ? error : {}) as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

/** A refused connection to a name with several addresses has no text of its own. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.message === '' ? codeOf(error) || error.name : error.message
}
