/**
 * Records of a log in a KvUnit, format 1, and the streams that a loaded unit holds. Pure.
 *
 * `entries`: one record for each append, under `<stream> <first seq, 16 digits>`, so that an append
 * is one atomic put, and while a stream is being removed its tombstone under first seq 0. `snapshots`:
 * one record for each stream, under its name. Entries and snapshots inside have the same text and
 * checksum as in every other medium (entry-format).
 *
 * A loaded record is foreign until it was checked. One that is damaged quarantines its stream only;
 * one whose key is not ours belongs to no stream and is left alone.
 */
import { type CheckedAppend, type CheckedSnapshot, checkStream } from './checks.ts'
import {
  corrupt,
  decodeEntry,
  decodeSnapshot,
  entryChecksum,
  type EntryRow,
  FORMAT,
  snapshotChecksum,
  tombstoneChecksum,
} from './entry-format.ts'
import { DurableLogError } from './errors.ts'
import { ENTRIES_TABLE, SNAPSHOTS_TABLE } from './kv-unit.ts'
import { compareStreams } from './stream-order.ts'
import { DamagedStream, type StreamContent, StreamTable, WholeStream } from './stream-table.ts'
import type { Snapshot, StoredEntry } from './types.ts'

/** A record and where it goes. */
export interface KvRecord {
  readonly table: string
  readonly key: string
  readonly value: unknown
}

export interface LoadedUnit {
  readonly table: StreamTable
  /** Streams with a tombstone, which are not in the table; what is left of them is to be deleted. */
  readonly removed: readonly string[]
  /** Keys that no log writes. */
  readonly foreignKeys: readonly string[]
}

/** An entry of a record as it was found; undefined when it has another shape. */
type Row = Omit<EntryRow, 'seq'> | undefined

const SEQ_DIGITS = 16

/** @param after the seq that the entries follow. */
export function appendRecord(request: CheckedAppend, after: number, appendedAt: number): KvRecord {
  const { stream } = request
  const first = after + 1
  const entries = request.entries.map(({ type, data }, index) => ({
    type,
    appendedAt,
    data: data.text,
    checksum: entryChecksum({ stream, seq: first + index, appendedAt, type }, data.text),
  }))
  return { table: ENTRIES_TABLE, key: keyOf(stream, first), value: { format: FORMAT, entries } }
}

/** The record that removes its stream as a whole, before the records of the stream are deleted. */
export function tombstoneRecord(stream: string): KvRecord {
  const value = { format: FORMAT, removed: true, checksum: tombstoneChecksum(stream) }
  return { table: ENTRIES_TABLE, key: keyOf(stream, 0), value }
}

/** Keys of all records of a stream in the table of entries, damaged ones too, in order; no tombstone. */
export function recordKeysOf(tables: unknown, stream: string): string[] {
  return recordsOf(tables, ENTRIES_TABLE)
    .map(([key]) => key)
    .filter((key) => placeOf(key)?.stream === stream)
    .toSorted()
}

export function snapshotRecord({ stream, seq, snapshot }: CheckedSnapshot): KvRecord {
  const checksum = snapshotChecksum(stream, seq, snapshot.text)
  return {
    table: SNAPSHOTS_TABLE,
    key: stream,
    value: { format: FORMAT, seq, data: snapshot.text, checksum },
  }
}

/**
 * Reads what `KvUnit.loadAll` returned.
 *
 * @throws DurableLogError `unavailable` when it is no unit of a log at all.
 */
export function loadUnit(tables: unknown): LoadedUnit {
  const records = recordsOf(tables, ENTRIES_TABLE)
  const snapshots = recordsOf(tables, SNAPSHOTS_TABLE)
  const foreignKeys: string[] = []
  const removed = new Set<string>()
  const batches = new Map<string, [first: number, value: unknown][]>()
  for (const [key, value] of records) {
    const place = placeOf(key)
    const gone = removedBy(key, value)
    if (gone !== undefined) removed.add(gone)
    else if (place === undefined) foreignKeys.push(key)
    else {
      const batch = batches.get(place.stream) ?? []
      batch.push([place.first, value])
      batches.set(place.stream, batch)
    }
  }
  const table = new StreamTable()
  // In order, so that each name goes to the end of the table's list.
  const ordered = [...batches].toSorted(([left], [right]) => compareStreams(left, right))
  for (const [stream, values] of ordered) {
    if (!removed.has(stream)) table.add(stream, decodeStream(stream, values))
  }
  for (const [key, value] of snapshots) {
    if (!isStreamName(key)) foreignKeys.push(key)
    else if (!removed.has(key)) table.keepSnapshot(key, snapshotOf(key, value))
  }
  return { table, removed: [...removed], foreignKeys }
}

function decodeStream(stream: string, values: [first: number, value: unknown][]): StreamContent {
  const entries: StoredEntry[] = []
  const damages = new Map<number, DurableLogError>()
  const damage = (seq: number, what: string) => {
    if (!damages.has(seq)) damages.set(seq, corrupt(stream, seq, what))
  }
  let next = 1
  for (const [first, value] of values.toSorted(([left], [right]) => left - right)) {
    if (first > next) damage(next, 'is missing')
    if (first < next) {
      damage(first, 'is there twice')
      continue
    }
    const rows = rowsOf(value)
    // How many entries such a record held is unknown; the next record tells where it ended.
    if (rows === undefined) damage(first, 'is not a record of a log')
    else for (const [index, row] of rows.entries()) decodeInto(entries, damages, stream, first + index, row)
    next = first + (rows?.length ?? 1)
  }
  const [firstError] = [...damages].toSorted(([left], [right]) => left - right)
  if (firstError === undefined) return new WholeStream(entries)
  const bySeq = new Map(entries.filter(({ seq }) => !damages.has(seq)).map((entry) => [entry.seq, entry]))
  return new DamagedStream(
    next - 1,
    bySeq,
    firstError[1],
    (seq) => damages.get(seq) ?? corrupt(stream, seq, 'is missing'),
  )
}

function decodeInto(
  entries: StoredEntry[],
  damages: Map<number, DurableLogError>,
  stream: string,
  seq: number,
  row: Row,
): void {
  try {
    if (row === undefined) throw corrupt(stream, seq, 'is not an entry of a log')
    entries.push(decodeEntry(stream, seq, { ...row, seq }))
  } catch (error) {
    if (!(error instanceof DurableLogError)) throw error
    damages.set(seq, error)
  }
}

/** @returns undefined for a record of another shape. */
function rowsOf(value: unknown): readonly Row[] | undefined {
  if (!isRecord(value) || typeof value['format'] !== 'number') return undefined
  const { format, entries } = value
  if (!Array.isArray(entries) || entries.length === 0) return undefined
  return (entries as readonly unknown[]).map((entry) => {
    if (!isRecord(entry)) return undefined
    const { type, appendedAt, data, checksum } = entry
    const isRow =
      typeof type === 'string' &&
      typeof data === 'string' &&
      typeof checksum === 'number' &&
      Number.isSafeInteger(appendedAt)
    return isRow ? { format, type, data, checksum, appendedAt: appendedAt as number } : undefined
  })
}

function snapshotOf(stream: string, value: unknown): Snapshot | DurableLogError {
  try {
    const { seq, format, data, checksum } = isRecord(value) ? value : {}
    if (
      typeof seq !== 'number' ||
      typeof format !== 'number' ||
      typeof data !== 'string' ||
      typeof checksum !== 'number'
    ) {
      return corrupt(stream, Number.isSafeInteger(seq) ? (seq as number) : 0, 'is not a snapshot of a log')
    }
    return decodeSnapshot(stream, { seq, format, data, checksum })
  } catch (error) {
    if (error instanceof DurableLogError) return error
    throw error
  }
}

function keyOf(stream: string, first: number): string {
  return `${stream} ${String(first).padStart(SEQ_DIGITS, '0')}`
}

/** The stream that a record is the tombstone of, if it is one. A damaged tombstone removes nothing. */
function removedBy(key: string, value: unknown): string | undefined {
  const stream = key.slice(0, -SEQ_DIGITS - 1)
  if (!isRecord(value) || !isStreamName(stream) || key !== keyOf(stream, 0)) return undefined
  const { format, removed, checksum } = value
  const isOurs = format === FORMAT && removed === true && checksum === tombstoneChecksum(stream)
  return isOurs ? stream : undefined
}

function placeOf(key: string): { readonly stream: string; readonly first: number } | undefined {
  const stream = key.slice(0, -SEQ_DIGITS - 1)
  const digits = key.slice(-SEQ_DIGITS)
  const first = Number(digits)
  const isOurs = /^\d+$/u.test(digits) && Number.isSafeInteger(first) && first > 0
  if (!isOurs || key.at(-SEQ_DIGITS - 1) !== ' ' || !isStreamName(stream)) return undefined
  return { stream, first }
}

function isStreamName(name: string): boolean {
  try {
    return checkStream(name) === name
  } catch {
    return false
  }
}

function recordsOf(tables: unknown, name: string): [string, unknown][] {
  const records = isRecord(tables) ? tables[name] : undefined
  if (isRecord(records)) return Object.entries(records)
  throw new DurableLogError(
    'unavailable',
    `the storage unit has no table "${name}"; open it with KV_UNIT_DESCRIPTOR`,
  )
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
