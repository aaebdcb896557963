/**
 * One session's run stream: its fold, and the only way to write to it. A change is decided against
 * the fold, stored under the condition that the stream is still there, and only then folded. When
 * another process was faster, the decision is taken anew on what it wrote.
 */
import { DurableLogError, type DurableLog, type Entry, type StoredEntry } from 'dsh-durable-log'
import type { Companion } from './engines/lane-engine.ts'
import { parseRunEntry, RUN_STREAM_PREFIX, toLogEntry, type RunEntry } from './entries.ts'
import { AgentLoopError } from './errors.ts'
import { RunFold } from './run-fold.ts'
import type { RunRecord } from './run-record.ts'

const PAGE = 1000

/** What to store now as one, if anything, and what to answer once it is durable. */
export interface Decision<T> {
  readonly entries?: readonly RunEntry[]
  /** Stored with the entries. */
  readonly companion?: Companion | undefined
  readonly result: T
}

/** Told after each entry of a run folded, also of those that other processes stored, which are not `isOwn`. */
export type OnFolded = (record: RunRecord, entry: RunEntry, isOwn: boolean) => void

export class RunStream {
  readonly fold: RunFold
  private readonly log: DurableLog
  private readonly onFolded: OnFolded
  /** The last operation; each one waits for the one before it. */
  private tail: Promise<unknown> = Promise.resolve()
  /** Whether the fold may lag behind the medium, so that it is read before the next decision. */
  private behind = true
  private quarantine: AgentLoopError | undefined

  constructor(log: DurableLog, sessionId: string, onFolded: OnFolded) {
    this.log = log
    this.fold = new RunFold(sessionId)
    this.onFolded = onFolded
  }

  private get name(): string {
    return RUN_STREAM_PREFIX + this.fold.sessionId
  }

  /** Why nothing of this session can be read or written, if so. */
  get quarantined(): AgentLoopError | undefined {
    return this.quarantine
  }

  /**
   * Stores what `decide` asks for; `decide` is synchronous and may be called several times.
   *
   * @returns the decision's result when its entries are durable and folded.
   * @throws `quarantined` when the stream is unreadable, a DurableLogError when the log refuses, or
   *   whatever `decide` throws; then nothing was stored.
   */
  transact<T>(decide: (fold: RunFold) => Decision<T>): Promise<T> {
    return this.enqueue(async () => {
      for (;;) {
        await this.readAhead()
        const { entries = [], companion, result } = decide(this.fold)
        if (entries.length === 0) return result
        this.fold.admitAll(entries)
        if (await this.append(entries, companion)) return result
      }
    })
  }

  /** Folds what the medium holds beyond the fold. @throws as {@link transact}. */
  refresh(seq = Number.POSITIVE_INFINITY): Promise<void> {
    return this.enqueue(async () => {
      if (this.fold.seq >= seq) return
      this.behind = true
      await this.readAhead()
    })
  }

  /** Resolves when no operation is under way any more. */
  async whenQuiet(): Promise<void> {
    let tail: Promise<unknown>
    do await (tail = this.tail)
    while (tail !== this.tail)
  }

  private enqueue<T>(operation: () => Promise<T>): Promise<T> {
    const done = this.tail.then(operation)
    this.tail = done.catch(() => undefined)
    return done
  }

  /** @returns whether the entries were stored; not when the stream was elsewhere. */
  private async append(entries: readonly RunEntry[], companion?: Companion): Promise<boolean> {
    try {
      const last = await this.store(entries.map(toLogEntry), companion)
      companion?.stored()
      for (const [index, entry] of entries.entries()) {
        this.foldEntry(entry, last - entries.length + index + 1, true)
      }
      return true
    } catch (error) {
      // After any failure the medium may hold more than the fold; it is read before the next decision.
      this.behind = true
      if (error instanceof DurableLogError && error.code === 'conflict') return false
      throw error
    }
  }

  private store(entries: readonly Entry[], companion: Companion | undefined): Promise<number> {
    const { log, name, fold } = this
    if (companion === undefined) return log.append(name, fold.seq, entries)
    if (log.appendWith !== undefined) return log.appendWith(name, fold.seq, entries, companion.work)
    throw new DurableLogError('invalid', 'lanes over several hosts need a log in PostgreSQL')
  }

  private async readAhead(): Promise<void> {
    while (this.behind && this.quarantine === undefined) {
      const page = await this.readPage()
      for (const stored of page) this.foldStored(stored)
      this.behind = page.length === PAGE
    }
    if (this.quarantine !== undefined) throw this.quarantine
  }

  private async readPage(): Promise<readonly StoredEntry[]> {
    try {
      return await this.log.read(this.name, { afterSeq: this.fold.seq, limit: PAGE })
    } catch (error) {
      if (!(error instanceof DurableLogError) || error.code !== 'corrupt') throw error
      throw this.setAside(error)
    }
  }

  private foldStored(stored: StoredEntry): void {
    if (this.quarantine !== undefined) return
    try {
      this.foldEntry(parseRunEntry(stored), stored.seq, false)
    } catch (error) {
      this.setAside(error)
    }
  }

  private foldEntry(entry: RunEntry, seq: number, isOwn: boolean): void {
    const record = this.fold.apply(entry, seq)
    if (record !== undefined) this.onFolded(record, entry, isOwn)
  }

  private setAside(cause: unknown): AgentLoopError {
    this.quarantine = new AgentLoopError(
      'quarantined',
      `the runs of session ${JSON.stringify(this.fold.sessionId)} are set aside: ` +
        `${cause instanceof Error ? cause.message : String(cause)}. ` +
        `Repair or remove the stream "${this.name}"; other sessions are not affected.`,
      { cause },
    )
    return this.quarantine
  }
}
