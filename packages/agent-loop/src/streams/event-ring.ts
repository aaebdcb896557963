/**
 * The newest events of one run, bounded by characters and by number. Deltas of a block that follow each
 * other are kept as one segment, and a reader who comes late gets them as one event; a reader is only a
 * number, so that the slowest one costs nothing here. Knows no clock, no log and nobody who waits.
 */
import type { RunEvent } from './types.ts'

/** A segment of deltas is closed at this size, so that eviction takes small bites. */
const SEGMENT_CHARACTERS = 16_384
const SEGMENT_PIECES = 1_024

export interface RingLimits {
  readonly maxCharacters: number
  readonly maxSegments: number
}

interface Segment {
  readonly firstSeq: number
  lastSeq: number
  event: RunEvent
  /** The deltas, one a seq; none for an event that stands alone. */
  readonly pieces: string[] | undefined
  size: number
}

export class EventRing {
  private readonly limits: RingLimits
  private segments: (Segment | undefined)[] = []
  /** Segments before this one are evicted. */
  private head = 0
  private size = 0
  /** Seq of the newest event; at first the one before the first. */
  lastSeq: number

  constructor(base: number, limits: RingLimits) {
    this.lastSeq = base
    this.limits = limits
  }

  /** Seq of the oldest event kept, or of the next one. */
  get firstSeq(): number {
    return this.segments[this.head]?.firstSeq ?? this.lastSeq + 1
  }

  /** Characters held, and how many segments. */
  get held(): { readonly characters: number; readonly segments: number } {
    return { characters: this.size, segments: this.segments.length - this.head }
  }

  /** Adds the event of the next seq. */
  push(event: RunEvent): void {
    const delta = deltaOf(event)
    const last = this.segments.length > this.head ? this.segments.at(-1) : undefined
    if (delta !== undefined && last?.pieces !== undefined && isOpenFor(last, event)) {
      last.pieces.push(delta)
      last.event = event
      last.lastSeq = event.seq
      last.size += delta.length
      this.size += delta.length
    } else {
      const size = delta === undefined ? JSON.stringify(event.data).length : delta.length
      const pieces = delta === undefined ? undefined : [delta]
      this.segments.push({ firstSeq: event.seq, lastSeq: event.seq, event, pieces, size })
      this.size += size
    }
    this.lastSeq = event.seq
    this.evict()
  }

  /**
   * The event that follows `seq`, as much as can be said in one.
   *
   * @returns `behind` when the ring does not reach back so far, nothing when there is none yet.
   */
  after(seq: number): RunEvent | 'behind' | undefined {
    if (seq >= this.lastSeq) return undefined
    if (seq + 1 < this.firstSeq) return 'behind'
    const segment = this.find(seq + 1)
    return segment === undefined ? 'behind' : cut(segment, seq + 1)
  }

  private find(seq: number): Segment | undefined {
    let [low, high] = [this.head, this.segments.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.segments[middle]?.lastSeq ?? 0) < seq) low = middle + 1
      else high = middle
    }
    return this.segments[low]
  }

  /** The newest segment stays whatever its size. */
  private evict(): void {
    const { maxCharacters, maxSegments } = this.limits
    while (this.segments.length - this.head > 1) {
      if (this.size <= maxCharacters && this.segments.length - this.head <= maxSegments) break
      this.size -= this.segments[this.head]?.size ?? 0
      this.segments[this.head] = undefined
      this.head += 1
    }
    if (this.head < 64 || this.head * 2 < this.segments.length) return
    this.segments = this.segments.slice(this.head)
    this.head = 0
  }
}

/** The text of a delta. */
export function deltaOf({ stream, data }: RunEvent): string | undefined {
  return (stream === 'assistant' || stream === 'thinking') && data.phase === 'delta' ? data.delta : undefined
}

function isOpenFor(segment: Segment, event: RunEvent): boolean {
  if (segment.size >= SEGMENT_CHARACTERS || (segment.pieces?.length ?? 0) >= SEGMENT_PIECES) return false
  const { stream, data } = segment.event
  if (stream !== event.stream || (stream !== 'assistant' && stream !== 'thinking')) return false
  const next = event.data as typeof data
  if (data.phase !== 'delta' || next.phase !== 'delta') return false
  return data.message === next.message && data.block === next.block
}

/** The part of a segment from this seq on, as one event. */
function cut({ firstSeq, lastSeq, event, pieces }: Segment, seq: number): RunEvent {
  if (pieces === undefined || seq === lastSeq) return event
  const delta = pieces.slice(seq - firstSeq).join('')
  return { ...event, firstSeq: seq, data: { ...event.data, delta } } as RunEvent
}
