/**
 * Writes the finals of one run behind the run's back: nobody waits for it except a reader who needs what
 * the memory has let go. Entries gather until there are many, until the oldest has waited for a second
 * when another one comes, or until the run ends. What the log refuses is left out, and is a gap later.
 */
import { DurableLogError, type DurableLog, type Entry } from 'dsh-durable-log'
import { EVENT_STREAM_PREFIX, toEventEntry } from './event-entries.ts'
import type { RunEvent } from './types.ts'

const MAX_PENDING = 32
const MAX_AGE_MS = 1_000
/** What is pending while the log is away: beyond this the oldest entries are given up. */
const MAX_BACKLOG = 1_024

export interface WriterPorts {
  readonly log: DurableLog
  readonly now: () => number
  readonly warn: (text: string) => void
}

export class EventWriter {
  private readonly ports: WriterPorts
  private readonly stream: string
  private pending: Entry[] = []
  private pendingSince = 0
  /** Seq of the last event given to the log. */
  private lastSeq: number
  private writing: Promise<void> | undefined

  constructor(runId: string, base: number, ports: WriterPorts) {
    this.ports = ports
    this.stream = EVENT_STREAM_PREFIX + runId
    this.lastSeq = base
  }

  /** Takes the next final; it stands for all events since the one before it. */
  add(event: RunEvent): void {
    if (this.pending.length === 0) this.pendingSince = this.ports.now()
    this.pending.push(toEventEntry(event, this.lastSeq + 1))
    this.lastSeq = event.seq
    const isOld = this.ports.now() - this.pendingSince >= MAX_AGE_MS
    if (isOld || this.pending.length >= MAX_PENDING) void this.flush()
  }

  get hasPending(): boolean {
    return this.pending.length > 0
  }

  /** Resolves when the log has, or has refused, what was added so far. Never rejects. */
  flush(): Promise<void> {
    if (this.pending.length === 0) return this.writing ?? Promise.resolve()
    // One append at a time keeps the order; what comes meanwhile goes with the next one.
    this.writing ??= this.write()
    return this.writing
  }

  private async write(): Promise<void> {
    try {
      while (this.pending.length > 0) {
        const batch = this.pending
        this.pending = []
        if (!(await this.append(batch))) return
      }
    } finally {
      this.writing = undefined
    }
  }

  /** @returns whether to go on; not while the log is away. */
  private async append(batch: readonly Entry[]): Promise<boolean> {
    try {
      await this.ports.log.append(this.stream, 'any', batch)
      return true
    } catch (error) {
      const code = error instanceof DurableLogError ? error.code : undefined
      if (code === 'unavailable') {
        this.pending = [...batch, ...this.pending].slice(-MAX_BACKLOG)
        return false
      }
      if (code !== 'closed') this.ports.warn(`events of ${this.stream} are not kept: ${String(error)}`)
      if (batch.length === 1 || (code !== 'invalid' && code !== 'too-large')) return code !== 'closed'
      // One entry spoils the batch; the others are written without it.
      for (const entry of batch) await this.append([entry])
      return true
    }
  }
}
