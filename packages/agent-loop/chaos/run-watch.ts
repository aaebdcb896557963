/**
 * The run streams of a fleet, read by somebody who is no host, with the time at which each entry was there.
 */
import type { DurableLog } from 'dsh-durable-log'
import type { RunEntry } from '../src/entries.ts'
import { parseRunEntry, RUN_STREAM_PREFIX } from '../src/entries.ts'
import { machineTime } from './turn-record.ts'

export interface SeenEntry {
  /** Milliseconds of the machine's monotonic clock; some milliseconds late. */
  readonly at: number
  readonly entry: RunEntry
}

export class RunWatch {
  private readonly log: DurableLog
  private readonly streams = new Map<string, SeenEntry[]>()
  private readonly reading = new Map<string, Promise<void>>()
  private readonly unsubscribe: () => void

  constructor(log: DurableLog) {
    this.log = log
    this.unsubscribe = log.subscribe(RUN_STREAM_PREFIX, ({ stream }) => void this.read(stream))
  }

  /** Entries by session, in order, once everything that is stored was read. */
  async all(): Promise<ReadonlyMap<string, readonly SeenEntry[]>> {
    const { streams } = await this.log.list({ prefix: RUN_STREAM_PREFIX, limit: 1000 })
    for (const { stream } of streams) await this.read(stream, true)
    return new Map([...this.streams].map(([stream, seen]) => [stream.slice(RUN_STREAM_PREFIX.length), seen]))
  }

  async close(): Promise<void> {
    this.unsubscribe()
    await Promise.all(this.reading.values())
  }

  private read(stream: string, mustSucceed = false): Promise<void> {
    const before = this.reading.get(stream) ?? Promise.resolve()
    const reading = before.then(() => this.readOn(stream))
    // A server that is away is asked again at the next news.
    this.reading.set(
      stream,
      reading.catch(() => undefined),
    )
    return mustSucceed ? reading : reading.catch(() => undefined)
  }

  private async readOn(stream: string): Promise<void> {
    const seen = this.streams.get(stream) ?? []
    this.streams.set(stream, seen)
    const entries = await this.log.read(stream, { afterSeq: seen.length })
    const at = machineTime()
    for (const stored of entries) seen.push({ at, entry: parseRunEntry(stored) })
  }
}
