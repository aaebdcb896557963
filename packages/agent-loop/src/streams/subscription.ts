/**
 * What a subscriber iterates. Pulls: nothing is read before the subscriber asks for it, so that one who
 * stops asking costs a position and no memory.
 */
import type { Clock } from '../clock.ts'
import type { RunReader } from './run-reader.ts'
import type { AgentEvent } from './types.ts'

/** Where the readers of one subscription come from. */
export interface ReaderSource {
  /** The readers at the beginning; rejects when the request names what is not there. */
  readonly first: () => Promise<readonly RunReader[]>
  /**
   * Readers to add now.
   *
   * @param isIdle whether every reader so far is over.
   * @throws AgentLoopError `closed` when the host has shut down, `lagging` when too much was missed.
   */
  readonly more: (isIdle: boolean) => readonly RunReader[]
  /** Whether the end of all readers is the end of the subscription. */
  readonly isComplete: () => boolean
  /** Calls back once when something may be new. @returns takes the callback back. */
  readonly onNews: (readers: readonly RunReader[], callback: () => void) => () => void
  /** Told once, however the subscription ends. */
  readonly ended: () => void
}

export async function* iterate(
  source: ReaderSource,
  clock: Clock,
  signal: AbortSignal | undefined,
): AsyncGenerator<AgentEvent, void, undefined> {
  try {
    const row = new ReaderRow(await source.first(), source)
    for (;;) {
      if (signal?.aborted === true) return
      const { event, isMoving } = await row.look()
      if (event !== undefined) yield event
      else if (isMoving) continue
      else if (row.isEmpty && source.isComplete()) return
      else {
        const late = await lookOrWait(row, source, { clock, signal })
        if (late !== undefined) yield late
      }
    }
  } finally {
    source.ended()
  }
}

interface Look {
  readonly event?: AgentEvent
  /** Whether a reader came to its end, so that the next look may see more. */
  readonly isMoving: boolean
  /** Something may be there at this time although nobody tells. */
  readonly retryAtMs?: number
}

/** The readers in order; a later one has its turn when the earlier ones have nothing to say. */
class ReaderRow {
  private readers: RunReader[]
  private readonly source: ReaderSource

  constructor(readers: readonly RunReader[], source: ReaderSource) {
    this.readers = [...readers]
    this.source = source
  }

  get isEmpty(): boolean {
    return this.readers.length === 0
  }

  get all(): readonly RunReader[] {
    return this.readers
  }

  async look(): Promise<Look> {
    this.readers.push(...this.source.more(this.isEmpty))
    let isMoving = false
    let retryAtMs = Number.POSITIVE_INFINITY
    for (const reader of this.readers.slice()) {
      const reading = await reader.read()
      if (reading.kind === 'event') return { event: reading.event, isMoving }
      if (reading.kind === 'waiting') retryAtMs = Math.min(retryAtMs, reading.retryAtMs ?? retryAtMs)
      else {
        this.readers = this.readers.filter((other) => other !== reader)
        isMoving = true
      }
    }
    return { isMoving, ...(retryAtMs === Number.POSITIVE_INFINITY ? {} : { retryAtMs }) }
  }
}

/**
 * Looks once more, now that it would be told of news, and waits when there is nothing still.
 *
 * @returns the event, if the look saw one.
 */
async function lookOrWait(
  row: ReaderRow,
  { onNews }: ReaderSource,
  { clock, signal }: { clock: Clock; signal: AbortSignal | undefined },
): Promise<AgentEvent | undefined> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const wake = (): void => resolve()
  const undo = onNews(row.all, wake)
  let disarm = (): void => undefined
  signal?.addEventListener('abort', wake, { once: true })
  try {
    if (signal?.aborted === true) return undefined
    const { event, isMoving, retryAtMs } = await row.look()
    if (event !== undefined || isMoving) return event
    if (retryAtMs !== undefined) disarm = clock.after(Math.max(0, retryAtMs - clock.now()), wake)
    await promise
    return undefined
  } finally {
    undo()
    disarm()
    signal?.removeEventListener('abort', wake)
  }
}
