/**
 * Cuts a growing text into chunks that can be sent one by one. Pure: the chunks are the same however the
 * text arrived, and their raw texts together are the text.
 *
 * A chunk ends at the first good break behind `minChars`. Where none comes before `maxChars`, at the best
 * one there is: paragraph, newline, sentence, whitespace, and at last anywhere but inside a surrogate
 * pair. A code fence is cut only then; it is closed in the one chunk and opened again in the next.
 */
import { wholeEnd } from '../streams/tool-content.ts'
import { breaksOf, stateAt, type Break, type BreakKind, type Excerpt } from './breaks.ts'
import { fenceAfter, looksLikeFence, type Fence } from './fences.ts'
import type { BreakPreference, ChunkLimits } from './types.ts'

export interface Chunk {
  /** The part of the text that this is. */
  readonly raw: string
  /** What to send: without blank lines around it, with its fences whole; may be empty. */
  readonly text: string
}

const DEFAULTS: ChunkLimits = { minChars: 800, maxChars: 1_200, breakPreference: 'paragraph' }
const LEAST_MAX = 16
/** So much must be known behind a cut in the middle of a line: it must not look like a fence there. */
const LOOKAHEAD = 8

const RANKS: readonly BreakKind[] = ['paragraph', 'newline', 'sentence', 'whitespace']
const GOOD: Record<BreakPreference, ReadonlySet<BreakKind>> = {
  paragraph: new Set(['paragraph']),
  newline: new Set(['paragraph', 'newline']),
  sentence: new Set(['paragraph', 'newline', 'sentence']),
}

export class Chunker {
  private readonly limits: ChunkLimits
  /** A longer marker leaves no room for the text between two of them, so it is text. */
  private readonly maxMarker: number
  private text = ''
  private fence: Fence | undefined
  private isLineStart = true

  constructor(limits: Partial<ChunkLimits> = {}) {
    const { minChars, maxChars, breakPreference } = { ...DEFAULTS, ...limits }
    const max = Math.max(LEAST_MAX, Math.floor(maxChars))
    this.limits = {
      minChars: Math.min(max, Math.max(1, Math.floor(minChars))),
      maxChars: max,
      breakPreference,
    }
    this.maxMarker = Math.floor(max / 4) - 1
  }

  /** Whether text waits for its chunk. */
  get isPending(): boolean {
    return this.text !== ''
  }

  /** Takes more of the text. @returns the chunks that are certain now. */
  push(more: string): readonly Chunk[] {
    this.text += more
    const chunks: Chunk[] = []
    for (let cut = this.nextCut(more); cut > 0; cut = this.nextCut(this.text)) chunks.push(this.take(cut))
    return chunks
  }

  /** The rest of the text, which is complete. */
  flush(): readonly Chunk[] {
    const chunks: Chunk[] = []
    while (this.text.length > this.lastRoom) chunks.push(this.take(this.forcedCut(this.lastRoom)))
    if (this.text !== '') chunks.push(this.take(this.text.length))
    return chunks
  }

  private get excerpt(): Excerpt {
    const { text, isLineStart, fence, maxMarker } = this
    return { text, isLineStart, fence, maxMarker }
  }

  /** The line that opens the fence again in a chunk that begins inside it. */
  private get reopening(): string {
    if (this.fence === undefined) return ''
    const { line, marker } = this.fence
    const isShort = line.length + marker.length + 2 <= this.limits.maxChars / 2
    return `${isShort ? line : marker}\n`
  }

  /** Characters of the text that fit into the next chunk beside the lines of its fences. */
  private get room(): number {
    const { maxChars } = this.limits
    const marker = Math.max(this.fence?.marker.length ?? 0, this.widestMarker())
    return marker === 0 ? maxChars : maxChars - this.reopening.length - marker - 1
  }

  /** The room when the text ends here, maybe inside a fence that begins late. */
  private get lastRoom(): number {
    const { fence } = stateAt(this.excerpt, this.text.length)
    const closing = fence === undefined ? 0 : fence.marker.length + 1
    return Math.min(this.room, this.limits.maxChars - this.reopening.length - closing)
  }

  /** Of the fences within reach, any of which may have to be closed by us. */
  private widestMarker(): number {
    const { maxChars } = this.limits
    let widest = 0
    let start = 0
    for (const line of this.text.slice(0, maxChars).split('\n')) {
      const length = fenceAfter(line, undefined, this.maxMarker)?.marker.length ?? 0
      // No chunk that ends inside a fence which begins later has to close it.
      if (start < maxChars - length - 1) widest = Math.max(widest, length)
      start += line.length + 1
    }
    return widest
  }

  /** @param news what came since the last look; a break must end in it. @returns 0 for none yet. */
  private nextCut(news: string): number {
    const { minChars, breakPreference } = this.limits
    if (this.text.length < minChars) return 0
    const isFull = this.text.length >= this.limits.maxChars + LOOKAHEAD
    if (!isFull && breakPreference !== 'sentence' && !news.includes('\n')) return 0
    const good = GOOD[breakPreference]
    const { room } = this
    const soft = breaksOf(this.excerpt).find(
      ({ index, kind, isInFence }) => index >= Math.min(minChars, room) && !isInFence && good.has(kind),
    )
    if (soft !== undefined && soft.index <= room) return soft.index
    return isFull ? this.forcedCut() : 0
  }

  private forcedCut(room = this.room): number {
    const least = Math.min(this.limits.minChars, room)
    const reachable = breaksOf(this.excerpt).filter(({ index }) => index <= room)
    const outside = reachable.filter(({ isInFence }) => !isInFence)
    const best =
      bestOf(outside.filter(({ index }) => index >= least)) ??
      // A fence that does not fit is better left whole for the next chunk.
      outside.findLast(({ index, kind }) => index >= room / 2 && kind !== 'whitespace') ??
      reachable.findLast(({ index }) => index >= least)
    return best?.index ?? this.hardCut(room)
  }

  /** As far on as possible where neither side of the cut looks like the line of a fence. */
  private hardCut(room: number): number {
    const { text } = this
    for (let index = wholeEnd(text, room); index > room - LOOKAHEAD * 2 && index > 0; index -= 1) {
      if (wholeEnd(text, index) !== index) continue
      const start = text.lastIndexOf('\n', index - 1) + 1
      if (start === index || !this.isFenceAt(start, index)) return index
    }
    return Math.max(1, wholeEnd(text, room))
  }

  /** Whether the beginning of the line would close its fence, or its rest look like a fence. */
  private isFenceAt(start: number, index: number): boolean {
    if (looksLikeFence(this.text.slice(index))) return true
    const { fence } = stateAt(this.excerpt, start)
    const isLine = start > 0 || this.isLineStart
    const [head, line = ''] = [this.text.slice(start, index), this.text.slice(start).split('\n', 1)[0]]
    const after = (part: string): Fence | undefined => fenceAfter(part, fence, this.maxMarker)
    return isLine && (after(head) === undefined) !== (after(line) === undefined)
  }

  private take(index: number): Chunk {
    const raw = this.text.slice(0, index)
    const before = this.reopening
    const isInside = this.fence !== undefined
    const { fence, isLineStart } = stateAt(this.excerpt, index)
    this.text = this.text.slice(index)
    this.fence = fence
    this.isLineStart = isLineStart
    const body = trimmed(raw, isInside, fence !== undefined)
    if (isBare(body, { isInside, fence })) return { raw, text: '' }
    const after =
      fence === undefined ? '' : `${body.endsWith('\n') || body === '' ? '' : '\n'}${fence.marker}`
    return { raw, text: before + body + after }
  }
}

/** Whether nothing is left to see: blank lines, or the closing line of a fence that was cut. */
function isBare(body: string, at: { isInside: boolean; fence: Fence | undefined }): boolean {
  const rest = body.trim()
  if (rest === '') return at.isInside || at.fence === undefined
  return at.isInside && at.fence === undefined && !rest.includes('\n') && looksLikeFence(rest)
}

/** Without the blank lines around it; inside a fence nothing but the last newline may go. */
function trimmed(raw: string, beginsInFence: boolean, endsInFence: boolean): string {
  const start = beginsInFence ? raw : raw.replace(/^(?:[ \t]*\n)+/, '')
  return endsInFence ? start.replace(/\n$/, '') : start.trimEnd()
}

function bestOf(breaks: readonly Break[]): Break | undefined {
  for (const rank of RANKS) {
    const found = breaks.findLast(({ kind }) => kind === rank)
    if (found !== undefined) return found
  }
  return undefined
}
