/** Where a text may be cut, and how good each place is. Pure. */
import { fenceAfter, looksLikeFence, type Fence } from './fences.ts'

/** From the best to the worst; a cut anywhere is the last resort and none of these. */
export type BreakKind = 'paragraph' | 'newline' | 'sentence' | 'whitespace'

export interface Break {
  /** The cut is before the character at this index. */
  readonly index: number
  readonly kind: BreakKind
  /** Whether a code fence is open there. */
  readonly isInFence: boolean
}

const SENTENCE_END = /[.!?…]["'”’)\]]*\s+|[。！？]["'”’）」』]*\s*/gu
const WHITESPACE = /\s+/gu

/** A text whose beginning may be the middle of a line and the inside of a fence. */
export interface Excerpt {
  readonly text: string
  readonly isLineStart: boolean
  readonly fence: Fence | undefined
  readonly maxMarker: number
}

interface Line {
  readonly start: number
  readonly end: number
  readonly isComplete: boolean
  readonly before: Fence | undefined
  readonly after: Fence | undefined
  readonly isBlank: boolean
}

/** Every break behind the beginning whose place the text settles, in order. */
export function breaksOf(excerpt: Excerpt): readonly Break[] {
  return [...linesOf(excerpt)].flatMap((line) => breaksIn(line, excerpt.text))
}

/** The fence that is open where the text is cut, and whether a line begins there. */
export function stateAt(excerpt: Excerpt, index: number): { fence: Fence | undefined; isLineStart: boolean } {
  const head = { ...excerpt, text: excerpt.text.slice(0, index) }
  let fence = excerpt.fence
  for (const line of linesOf(head)) fence = line.after
  return { fence, isLineStart: index === 0 ? excerpt.isLineStart : head.text.endsWith('\n') }
}

function* linesOf({ text, isLineStart, fence, maxMarker }: Excerpt): Generator<Line> {
  let before = fence
  for (let start = 0; start < text.length;) {
    const newline = text.indexOf('\n', start)
    const isComplete = newline >= 0
    const end = isComplete ? newline + 1 : text.length
    const line = text.slice(start, isComplete ? newline : end)
    const isWhole = start > 0 || isLineStart
    const after = isWhole ? fenceAfter(line, before, maxMarker) : before
    yield { start, end, isComplete, before, after, isBlank: isWhole && line.trim() === '' }
    before = after
    start = end
  }
}

function breaksIn(line: Line, text: string): readonly Break[] {
  const { start, end, isComplete, before, after, isBlank } = line
  const content = text.slice(start, end)
  // The beginning of a line that is no fence may be one.
  const isPlain = before === undefined && after === undefined && !looksLikeFence(content)
  const inner = isPlain ? innerBreaks(content, start) : []
  // A line that goes on so would look like a fence at the beginning of a chunk.
  const known = inner.filter(({ index }) => index < end && text[index] !== '`' && text[index] !== '~')
  if (!isComplete) return known.filter(({ index }) => index < text.length)
  const kind = isBlank ? 'paragraph' : 'newline'
  return [...known, { index: end, kind, isInFence: after !== undefined }]
}

function innerBreaks(line: string, offset: number): readonly Break[] {
  const at = (kind: BreakKind) => (match: RegExpExecArray) => ({
    index: offset + match.index + match[0].length,
    kind,
    isInFence: false,
  })
  return [
    ...[...line.matchAll(SENTENCE_END)].map(at('sentence')),
    ...[...line.matchAll(WHITESPACE)].map(at('whitespace')),
  ].sort((left, right) => left.index - right.index)
}
