/**
 * The whole texts that activations concluded with, one stream each: `result/<graph>/<record>/<digest>`.
 *
 * A stream is written once, in one append: a head that tells what follows, then the text in chunks. A
 * text is stored before its settlement is committed, and that may be refused, or another may win. So
 * the name tells the text, too: what a refused settlement left is never taken for what was committed.
 * Owns: cutting, chunking, paging. Does not own: whether a record exists; that is the graph's.
 */
import { type DurableLog, DurableLogError, type Entry, type StoredEntry } from 'dsh-durable-log'
import { sha256Hex } from './canonical.ts'
import { type StoredRecord, SUMMARY_CHARS } from './entries.ts'
import { GraphControlError } from './errors.ts'
import { id, position } from './request-shapes.ts'
import { type Checked, flag, list, object, oneOf, ShapeError, string } from './shape.ts'
import type { GraphRecord, ResultPage } from './types.ts'

/** Bytes of UTF-8 in one chunk, at most. */
export const CHUNK_BYTES = 64 * 1024
/** Bytes of UTF-8 that are kept of one text; what is cut is stated at the end of what is kept. */
export const RESULT_BYTES = 1024 * 1024
export const DEFAULT_PAGE_CHARS = 8000

const HEAD = object({
  v: oneOf(1),
  /** Of the whole text, before any cut. */
  bytes: position,
  digest: id,
  truncated: flag,
  summary: string(SUMMARY_CHARS),
  summaryTruncated: flag,
  /** Characters of each chunk. */
  chunks: list(position, RESULT_BYTES / CHUNK_BYTES + 4),
})
const CHUNK = object({ v: oneOf(1), text: string(CHUNK_BYTES) })

type Head = Checked<typeof HEAD>

/** What a record keeps of its text. */
export type StoredText = Pick<
  StoredRecord,
  'summary' | 'summaryTruncated' | 'bytes' | 'digest' | 'textTruncated'
>

export class ResultTexts {
  private readonly log: DurableLog

  constructor(log: DurableLog) {
    this.log = log
  }

  /** Stores a text, or finds that an earlier call stored the same. */
  async write(graphId: string, recordId: string, text: string): Promise<StoredText> {
    const { head, chunks } = layOut(text)
    const stream = resultStream(graphId, { recordId, digest: head.digest })
    const entries: Entry[] = [
      { type: 'result', data: { ...head } },
      ...chunks.map((chunk) => ({ type: 'chunk', data: { v: 1, text: chunk } })),
    ]
    try {
      await this.log.append(stream, 0, entries)
    } catch (error) {
      if (!(error instanceof DurableLogError) || error.code !== 'conflict') throw error
      // What is there must be readable, or a record would be committed without its text.
      await this.readHead(stream)
    }
    const { bytes, digest, truncated: textTruncated, summary, summaryTruncated } = head
    return { summary, summaryTruncated, bytes, digest, textTruncated }
  }

  /** A page of a stored text. Pages meet without gap or overlap, and never split a character. */
  async read(
    graphId: string,
    record: Pick<GraphRecord, 'recordId' | 'digest'>,
    page: { readonly offset?: number; readonly limit?: number },
  ): Promise<ResultPage> {
    const { recordId } = record
    const stream = resultStream(graphId, record)
    const head = await this.readHead(stream)
    const totalChars = head.chunks.reduce((sum, chars) => sum + chars, 0)
    const from = Math.min(page.offset ?? 0, totalChars)
    // One character more on each side, to see whether a boundary falls inside a pair.
    const window = { from: Math.max(0, from - 1), to: from + (page.limit ?? DEFAULT_PAGE_CHARS) + 1 }
    const { text, start } = await this.readWindow(stream, head, window)
    const begin = splitsPair(text, from - start) ? from - 1 : from
    let end = Math.min(from + (page.limit ?? DEFAULT_PAGE_CHARS), totalChars)
    if (splitsPair(text, end - start)) end = end - 1 > begin ? end - 1 : end + 1
    return {
      recordId,
      text: text.slice(begin - start, end - start),
      offset: begin,
      ...(end < totalChars ? { nextOffset: end } : {}),
      totalChars,
    }
  }

  private async readHead(stream: string): Promise<Head> {
    const [entry] = await this.log.read(stream, { limit: 1 })
    if (entry === undefined) {
      throw new GraphControlError(
        'record-not-found',
        `the text in stream ${stream} is not kept any more; its record has the summary`,
      )
    }
    return checkedEntry(stream, entry, 'result', HEAD)
  }

  /** The chunks that hold these characters, and the offset at which the first of them starts. */
  private async readWindow(
    stream: string,
    head: Head,
    window: { from: number; to: number },
  ): Promise<{ text: string; start: number }> {
    let [first, start] = [0, 0]
    while (first < head.chunks.length - 1 && start + (head.chunks[first] ?? 0) <= window.from) {
      start += head.chunks[first] ?? 0
      first += 1
    }
    let [last, end] = [first, start]
    while (last < head.chunks.length && end < window.to) end += head.chunks[last++] ?? 0
    if (last === first) return { text: '', start }
    const entries = await this.log.read(stream, { afterSeq: first + 1, limit: last - first })
    const texts = Array.from(
      { length: last - first },
      (_, index) => checkedEntry(stream, entries[index], 'chunk', CHUNK).text,
    )
    return { text: texts.join(''), start }
  }
}

/** Prefix of the streams of one graph's texts. */
export function resultPrefix(graphId: string): string {
  return `result/${graphId}/`
}

export function resultStream(
  graphId: string,
  { recordId, digest }: Pick<GraphRecord, 'recordId' | 'digest'>,
): string {
  return `${resultPrefix(graphId)}${recordId}/${digest.replace(/^sha256:/, '')}`
}

function layOut(text: string): { head: Head; chunks: readonly string[] } {
  const whole = Buffer.from(text, 'utf8')
  const truncated = whole.length > RESULT_BYTES
  const chunks = chunksOf(truncated ? whole.subarray(0, boundaryBefore(whole, RESULT_BYTES)) : whole)
  if (truncated) {
    chunks.push(`\n\n[cut here: ${RESULT_BYTES} of ${whole.length} bytes are kept]`)
  }
  const summary = text.slice(0, splitsPair(text, SUMMARY_CHARS) ? SUMMARY_CHARS - 1 : SUMMARY_CHARS)
  const head: Head = {
    v: 1,
    bytes: whole.length,
    digest: `sha256:${sha256Hex(whole)}`,
    truncated,
    summary,
    summaryTruncated: summary.length < text.length,
    chunks: chunks.map((chunk) => chunk.length),
  }
  return { head, chunks }
}

function chunksOf(bytes: Buffer): string[] {
  const chunks: string[] = []
  for (let start = 0; start < bytes.length;) {
    const end = boundaryBefore(bytes, start + CHUNK_BYTES)
    chunks.push(bytes.toString('utf8', start, end))
    start = end
  }
  return chunks
}

/** The last place at or before `end` where no character of UTF-8 is split. */
function boundaryBefore(bytes: Buffer, end: number): number {
  if (end >= bytes.length) return bytes.length
  let boundary = end
  while (((bytes[boundary] ?? 0) & 0xc0) === 0x80) boundary -= 1
  return boundary
}

function splitsPair(text: string, index: number): boolean {
  return (
    index > 0 && index < text.length && isHigh(text.charCodeAt(index - 1)) && isLow(text.charCodeAt(index))
  )
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000
}

function checkedEntry<T>(
  stream: string,
  entry: StoredEntry | undefined,
  type: string,
  check: (value: unknown) => T,
): T {
  try {
    if (entry === undefined) throw new ShapeError('is missing')
    if (entry.type !== type) throw new ShapeError('is of an unknown kind')
    return check(entry.data)
  } catch (error) {
    const where = entry === undefined ? '' : ` at entry ${entry.seq}`
    const what = error instanceof ShapeError ? error.describe() : 'unreadable'
    throw new GraphControlError('quarantined', `stream ${stream} cannot be read${where}: ${what}`, {
      cause: error,
    })
  }
}
