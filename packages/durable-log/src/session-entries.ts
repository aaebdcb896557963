/**
 * The entries of a session's stream: its header first, then batches of events. An event that is too long
 * for an entry is cut into parts. Pure.
 */
import {
  decodeStorageRecord,
  packChunkRuns,
  type SessionEvent,
  type SessionHeader,
} from '@deepseek-ai/dsh-session'
import { DurableLogError } from './errors.ts'
import type { Entry, JsonValue, StoredEntry } from './types.ts'

const CREATED = 'session/created'
const EVENTS = 'session/events'
const PART = 'session/part'
const VERSION = 1
/** UTF-16 units of JSON: at most three bytes each, and in a part twice as many characters. */
const MAX_ENTRY_UNITS = 512 * 1024

export function headerEntry(header: SessionHeader): Entry {
  return { type: CREATED, data: { v: VERSION, header: header as unknown as JsonValue } }
}

/** @param events at least one. */
export function eventEntries(events: readonly SessionEvent[]): readonly Entry[] {
  const entries: Entry[] = []
  let records: JsonValue[] = []
  let units = 0
  const close = (): void => {
    if (records.length > 0) entries.push({ type: EVENTS, data: { v: VERSION, records } })
    records = []
    units = 0
  }
  for (const record of packChunkRuns(events)) {
    const text = JSON.stringify(record)
    if (units + text.length > MAX_ENTRY_UNITS) close()
    if (text.length > MAX_ENTRY_UNITS) {
      entries.push(...parts(text))
      continue
    }
    records.push(record as unknown as JsonValue)
    units += text.length
  }
  close()
  return entries
}

function parts(text: string): readonly Entry[] {
  const texts: string[] = []
  for (let start = 0; start < text.length;) {
    let end = Math.min(start + MAX_ENTRY_UNITS, text.length)
    // Half a surrogate pair is no text that a database takes.
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1
    texts.push(text.slice(start, end))
    start = end
  }
  return texts.map((part, index) => ({
    type: PART,
    data: { v: VERSION, text: part, left: texts.length - 1 - index },
  }))
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
}

/** @throws DurableLogError `corrupt`. */
export function headerOf(stream: string, { type, data, seq }: StoredEntry): SessionHeader {
  const { v, header } = data as { readonly v?: unknown; readonly header?: unknown }
  if (type !== CREATED || v !== VERSION || typeof header !== 'object' || header === null) {
    throw corrupt(stream, seq, 'is no header of a session')
  }
  return structuredClone(header) as SessionHeader
}

/**
 * The events of entries that follow each other, the header not among them.
 *
 * @param from the number of the first event.
 * @throws DurableLogError `corrupt`.
 */
export function eventsOf(stream: string, entries: readonly StoredEntry[], from: number): SessionEvent[] {
  const events: SessionEvent[] = []
  let long = ''
  const take = (record: unknown, seq: number): void => {
    for (const event of decoded(stream, seq, record)) {
      const number = from + events.length
      if (event.seq !== number) throw corrupt(stream, seq, `holds event ${event.seq} instead of ${number}`)
      events.push(event)
    }
  }
  for (const { type, data, seq } of entries) {
    const { v, records, text, left } = data as Readonly<Record<string, unknown>>
    const isKnown = v === VERSION
    if (isKnown && type === EVENTS && Array.isArray(records) && long === '') {
      for (const record of records) take(record, seq)
    } else if (isKnown && type === PART && typeof text === 'string') {
      long += text
      if (left !== 0) continue
      take(JSON.parse(long), seq)
      long = ''
    } else {
      throw corrupt(stream, seq, `of type "${type}" holds no events`)
    }
  }
  return events
}

/** Events that belong to nobody else: whoever reads a session freezes them. */
function decoded(stream: string, seq: number, record: unknown): readonly SessionEvent[] {
  try {
    return decodeStorageRecord(structuredClone(record))
  } catch (error) {
    throw corrupt(stream, seq, `holds no event: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function corrupt(stream: string, seq: number, what: string): DurableLogError {
  return new DurableLogError('corrupt', `entry ${seq} of stream "${stream}" ${what}`, { stream, seq })
}
