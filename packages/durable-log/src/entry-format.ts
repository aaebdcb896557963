/**
 * The stored form of entries and snapshots: JSON text with a checksum over everything that gives the
 * text its meaning. Pure.
 *
 * - Format 1: the writer knows the seq of an entry, and the checksum covers it.
 * - Format 2, of entries only: the medium gives the seq, in the statement that stores the entry, and
 *   combines it with the checksum by exclusive or.
 *
 * A format is never changed once published; a new one gets a new number, and old ones stay readable.
 */
import { crc32 } from 'node:zlib'
import { DurableLogError } from './errors.ts'
import { freezeJson } from './json.ts'
import type { JsonValue, Snapshot, StoredEntry } from './types.ts'

/** The format that is written where the writer knows the seq. */
export const FORMAT = 1
/** The format that is written where the medium gives the seq. */
export const PLACELESS_FORMAT = 2

const ENTRY_FORMATS = [FORMAT, PLACELESS_FORMAT]
const SNAPSHOT_FORMATS = [FORMAT]

/** What the checksum of an entry covers beside its data. */
export interface EntryHead {
  readonly stream: string
  readonly seq: number
  readonly appendedAt: number
  readonly type: string
}

/** An entry as the medium holds it. Nothing about it is certain until it was decoded. */
export interface EntryRow {
  readonly seq: number
  readonly format: number
  readonly appendedAt: number
  readonly type: string
  readonly data: string
  readonly checksum: number
}

/** A snapshot as the medium holds it. */
export interface SnapshotRow {
  readonly seq: number
  readonly format: number
  readonly data: string
  readonly checksum: number
}

/** CRC-32 of an entry. Names and types hold no newline, so the joined head is unambiguous. */
export function entryChecksum(head: EntryHead, text: string): number {
  return crc32(text, crc32(`${FORMAT}\n${head.stream}\n${head.seq}\n${head.appendedAt}\n${head.type}\n`))
}

/** CRC-32 of an entry without its seq, for format 2. */
export function placelessChecksum(head: Omit<EntryHead, 'seq'>, text: string): number {
  return crc32(text, crc32(`${PLACELESS_FORMAT}\n${head.stream}\n${head.appendedAt}\n${head.type}\n`))
}

/** What a medium stores of format 2: the checksum, exclusive or the seq. Seqs may exceed 32 bits. */
function placed(checksum: number, seq: number): number {
  const low = (checksum ^ ((seq % 2 ** 32) | 0)) >>> 0
  return Math.floor(seq / 2 ** 32) * 2 ** 32 + low
}

/** CRC-32 of a snapshot. */
export function snapshotChecksum(stream: string, seq: number, text: string): number {
  return crc32(text, crc32(`${FORMAT}\nsnapshot\n${stream}\n${seq}\n`))
}

/** CRC-32 of the mark that a stream is being removed. */
export function tombstoneChecksum(stream: string): number {
  return crc32(`${FORMAT}\nremoved\n${stream}\n`)
}

/**
 * @param seq the position the entry must have.
 * @throws DurableLogError `corrupt`.
 */
export function decodeEntry(stream: string, seq: number, row: EntryRow): StoredEntry {
  if (row.seq !== seq) throw corrupt(stream, seq, 'is missing')
  const { appendedAt, type } = row
  const head = { stream, seq, appendedAt, type }
  const sum = () =>
    row.format === PLACELESS_FORMAT
      ? placed(placelessChecksum(head, row.data), seq)
      : entryChecksum(head, row.data)
  return Object.freeze({ seq, type, data: decodeText(stream, seq, row, sum, ENTRY_FORMATS), appendedAt })
}

/** @throws DurableLogError `corrupt`. */
export function decodeSnapshot(stream: string, row: SnapshotRow): Snapshot {
  const sum = () => snapshotChecksum(stream, row.seq, row.data)
  return Object.freeze({ seq: row.seq, snapshot: decodeText(stream, row.seq, row, sum, SNAPSHOT_FORMATS) })
}

/** @param what ends the sentence "entry 3 of stream …". */
export function corrupt(stream: string, seq: number, what: string, cause?: unknown): DurableLogError {
  return new DurableLogError(
    'corrupt',
    `entry or snapshot ${seq} of stream "${stream}" ${what}; other streams are not affected`,
    { stream, seq, cause },
  )
}

function decodeText(
  stream: string,
  seq: number,
  row: { readonly format: number; readonly data: string; readonly checksum: number },
  sum: () => number,
  formats: readonly number[],
): JsonValue {
  if (!formats.includes(row.format)) {
    throw corrupt(stream, seq, `has format ${row.format}, which this version cannot read; update it`)
  }
  if (sum() !== row.checksum) throw corrupt(stream, seq, 'does not match its checksum')
  try {
    return freezeJson(JSON.parse(row.data) as JsonValue)
  } catch (error) {
    throw corrupt(stream, seq, 'is not JSON', error)
  }
}
