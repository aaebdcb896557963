/**
 * All run streams of the log: one {@link RunStream} a session, and which session a run id belongs to.
 * Owns the subscription that brings in what other processes store. Drives nothing.
 */
import type { DurableLog, StreamHead } from 'dsh-durable-log'
import { RUN_STREAM_PREFIX, type RunEntry } from './entries.ts'
import { AgentLoopError } from './errors.ts'
import type { RunRecord } from './run-record.ts'
import { RunStream } from './run-stream.ts'

/** How many streams are read at a time when the ledger opens. */
const READERS = 8

export interface LedgerListener {
  /** A run is there; `isOwn` when this process stored it. */
  accepted(record: RunRecord, isOwn: boolean): void
  /** Each entry of a run in order; not `isOwn` when it was read and not written here. */
  folded(record: RunRecord, entry: RunEntry, isOwn: boolean): void
  /** A run got its terminal entry, from this process or another one. */
  settled(record: RunRecord): void
  /** A stream cannot be read; told once per stream. */
  quarantined(error: AgentLoopError): void
  /** The log did not answer a background read; it is tried again at the next change. */
  readFailed(sessionId: string, error: unknown): void
}

export class RunLedger {
  private readonly log: DurableLog
  private readonly listener: LedgerListener
  private readonly streams = new Map<string, RunStream>()
  private readonly sessionByRun = new Map<string, string>()
  private readonly reported = new Set<string>()
  private readonly unsubscribe: () => void

  constructor(log: DurableLog, listener: LedgerListener) {
    this.log = log
    this.listener = listener
    this.unsubscribe = log.subscribe(RUN_STREAM_PREFIX, (head) => void this.follow(head))
  }

  /** The stream of a session; it reads the medium at its first use. */
  stream(sessionId: string): RunStream {
    let stream = this.streams.get(sessionId)
    if (stream === undefined) {
      stream = new RunStream(this.log, sessionId, (record, entry, isOwn) => {
        if (!this.sessionByRun.has(record.runId)) this.sessionByRun.set(record.runId, sessionId)
        if (entry.type === 'run/accepted') this.listener.accepted(record, isOwn)
        this.listener.folded(record, entry, isOwn)
        if (entry.type === 'run/settled') this.listener.settled(record)
      })
      this.streams.set(sessionId, stream)
    }
    return stream
  }

  /** Every stream read so far. */
  all(): Iterable<RunStream> {
    return this.streams.values()
  }

  /**
   * Keeps a run id for a session while it is being accepted there.
   *
   * @returns gives the id back unless a run has it by then.
   * @throws `conflict` when a run of another session has the id.
   */
  reserve(runId: string, sessionId: string): () => void {
    const owner = this.sessionByRun.get(runId)
    if (owner !== undefined && owner !== sessionId) {
      throw new AgentLoopError(
        'conflict',
        `run id ${JSON.stringify(runId)} belongs to session ${JSON.stringify(owner)}; choose another one`,
      )
    }
    this.sessionByRun.set(runId, sessionId)
    return () => {
      if (this.stream(sessionId).fold.get(runId) === undefined) this.sessionByRun.delete(runId)
    }
  }

  /** The run with this id, as far as this process has read. */
  get(runId: string): RunRecord | undefined {
    const sessionId = this.sessionByRun.get(runId)
    return sessionId === undefined ? undefined : this.stream(sessionId).fold.get(runId)
  }

  /** The run with this id, also one that another process accepted a moment ago. */
  async find(runId: string): Promise<RunRecord | undefined> {
    const known = this.get(runId)
    if (known !== undefined) return known
    await this.sync()
    return this.get(runId)
  }

  /** Brings every stream up to the medium. A stream that cannot be read is reported and left out. */
  async sync(): Promise<void> {
    let cursor: string | undefined
    do {
      const page = await this.log.list({
        prefix: RUN_STREAM_PREFIX,
        limit: 1000,
        ...(cursor === undefined ? {} : { cursor }),
      })
      const heads = [...page.streams]
      const reader = async (): Promise<void> => {
        for (let head = heads.shift(); head !== undefined; head = heads.shift()) await this.follow(head)
      }
      await Promise.all(Array.from({ length: READERS }, reader))
      cursor = page.cursor
    } while (cursor !== undefined)
  }

  /** Stops following the medium and resolves when the operations under way are done. */
  async close(): Promise<void> {
    this.unsubscribe()
    await Promise.all([...this.streams.values()].map((stream) => stream.whenQuiet()))
  }

  private async follow(head: StreamHead): Promise<void> {
    const stream = this.stream(head.stream.slice(RUN_STREAM_PREFIX.length))
    if (stream.quarantined !== undefined || stream.fold.seq >= head.seq) return
    try {
      await stream.refresh(head.seq)
    } catch (error) {
      this.report(stream, error)
    }
  }

  private report(stream: RunStream, error: unknown): void {
    const { sessionId } = stream.fold
    if (stream.quarantined === undefined) return this.listener.readFailed(sessionId, error)
    if (this.reported.has(sessionId)) return
    this.reported.add(sessionId)
    this.listener.quarantined(stream.quarantined)
  }
}
