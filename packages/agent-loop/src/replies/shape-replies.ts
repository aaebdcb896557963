/**
 * The replies of a subscription: one {@link RunReplies} for each run, and the pace. A growing text is told
 * at most once in an interval, the newest always before anything else; between them the events wait in
 * the subscription, which merges them.
 */
import { systemClock, type Clock } from '../clock.ts'
import type { AgentEvent } from '../streams/types.ts'
import { RunReplies } from './run-replies.ts'
import type { Reply, ReplyOptions } from './types.ts'

const DEFAULT_INTERVAL_MS = 150

/**
 * Turns the events of a run or a session into what a person gets to see. Subscribe from the beginning of
 * the run: what is not in the events cannot be told.
 *
 * @param clock for tests.
 */
export async function* shapeReplies(
  events: AsyncIterable<AgentEvent>,
  options: ReplyOptions = {},
  clock: Clock = systemClock,
): AsyncGenerator<Reply, void, undefined> {
  const runs = new Map<string, RunReplies>()
  const pace = new Pace(options.deltaIntervalMs ?? DEFAULT_INTERVAL_MS, clock)
  const iterator = events[Symbol.asyncIterator]()
  // The reading goes on while a delta waits for its time; there is never more than one.
  let reading: Promise<IteratorResult<AgentEvent>> | undefined
  try {
    for (;;) {
      reading ??= iterator.next()
      const next = await pace.race(reading)
      if (next === undefined) {
        yield* pace.due()
        continue
      }
      reading = undefined
      if (next.done === true) break
      const { runId } = next.value
      const replies = runs.get(runId) ?? new RunReplies(runId, options)
      runs.set(runId, replies)
      for (const reply of replies.push(next.value)) {
        yield* pace.take(reply)
        if (reply.kind === 'final') runs.delete(runId)
      }
    }
    yield* pace.rest()
  } finally {
    pace.close()
    reading?.catch(() => undefined)
    await iterator.return?.()
  }
}

type Growing = Extract<Reply, { kind: 'delta' | 'thinking' }>

/** Holds back growing texts that come too soon after each other. */
class Pace {
  private readonly intervalMs: number
  private readonly clock: Clock
  private lastAt = Number.NEGATIVE_INFINITY
  /** The newest text of each message that was not told yet, in the order they began. */
  private readonly waiting = new Map<string, Growing>()
  private disarm: (() => void) | undefined

  constructor(intervalMs: number, clock: Clock) {
    this.intervalMs = intervalMs
    this.clock = clock
  }

  /** @returns the replies to tell now. */
  take(reply: Reply): readonly Reply[] {
    if (reply.kind === 'reset') {
      this.waiting.delete(keyOf('delta', reply))
      this.waiting.delete(keyOf('thinking', reply))
      return [...this.rest(), reply]
    }
    if (reply.kind !== 'delta' && reply.kind !== 'thinking') return [...this.rest(), reply]
    this.waiting.set(keyOf(reply.kind, reply), reply)
    return this.clock.now() - this.lastAt >= this.intervalMs ? this.due() : []
  }

  /** What waits, now that its time has come. */
  due(): readonly Reply[] {
    this.lastAt = this.clock.now()
    return this.rest()
  }

  /** What waits, whatever the time. */
  rest(): readonly Reply[] {
    const replies = [...this.waiting.values()]
    this.waiting.clear()
    return replies
  }

  /** @returns nothing when the time of what waits comes first. */
  async race<T>(reading: Promise<T>): Promise<T | undefined> {
    if (this.waiting.size === 0) return await reading
    const { promise, resolve } = Promise.withResolvers<undefined>()
    const leftMs = Math.max(0, this.lastAt + this.intervalMs - this.clock.now())
    this.disarm = this.clock.after(leftMs, () => resolve(undefined))
    try {
      return await Promise.race([reading, promise])
    } finally {
      this.close()
    }
  }

  close(): void {
    this.disarm?.()
    this.disarm = undefined
  }
}

function keyOf(kind: string, { runId, message }: { runId: string; message: number }): string {
  return `${kind} ${message} ${runId}`
}
