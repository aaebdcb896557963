/**
 * One reader of one run: a position, and where the next event comes from. The ring while it reaches back
 * far enough, else the durable log, else a gap. Holds no events except the page of the log it is reading.
 */
import type { DurableLog, StoredEntry } from 'dsh-durable-log'
import { viewOf, type RunRecord } from '../run-record.ts'
import { EVENT_STREAM_PREFIX, parseEventEntry } from './event-entries.ts'
import { ATTEMPT_ROOM, type RunHub } from './run-hub.ts'
import type { AgentEvent, LifecycleData, RunEvent } from './types.ts'

/** Few, because an entry may be large and a reader may stop reading. */
const PAGE = 8

/** How long the process that settled a run has to bring its last events to the log. */
export const SETTLE_GRACE_MS = 2_000

export interface ReaderPorts {
  readonly log: DurableLog
  readonly now: () => number
  readonly hub: (runId: string) => RunHub | undefined
  readonly find: (runId: string) => Promise<RunRecord | undefined>
}

/** `over`: the terminal event was told. `retryAtMs`: look again then, if nothing happens before. */
export type Reading =
  | { readonly kind: 'event'; readonly event: AgentEvent }
  | { readonly kind: 'waiting'; readonly retryAtMs?: number }
  | { readonly kind: 'over' }

export class RunReader {
  readonly runId: string
  readonly sessionId: string
  private readonly ports: ReaderPorts
  private position: number
  private isOver = false
  /** Position in the durable stream, and what was read of it and not looked at yet. */
  private logSeq = 0
  private page: readonly StoredEntry[] = []

  /** @param afterSeq the seq of the last event the reader has. */
  constructor(run: { runId: string; sessionId: string }, afterSeq: number, ports: ReaderPorts) {
    this.runId = run.runId
    this.sessionId = run.sessionId
    this.position = afterSeq
    this.ports = ports
  }

  /** The next event, if there is one. Never waits for one to happen. @throws what the log throws. */
  async read(): Promise<Reading> {
    if (this.isOver) return { kind: 'over' }
    const hub = this.ports.hub(this.runId)
    return hub === undefined ? await this.readStored() : await this.readLive(hub)
  }

  private async readLive(hub: RunHub): Promise<Reading> {
    const next = hub.ring.after(this.position)
    if (next === undefined) {
      // A position behind the end, such as a wrong one, has nothing to wait for.
      if (hub.isOver) this.isOver = true
      return hub.isOver ? { kind: 'over' } : { kind: 'waiting' }
    }
    if (next !== 'behind') return this.tell(next)
    await hub.flush()
    const stored = await this.nextStored()
    if (stored !== undefined) return this.tell(stored)
    // The ring may have moved on while the log was read.
    const first = hub.ring.firstSeq
    return first > this.position + 1 ? this.tellGap(first - 1) : await this.readLive(hub)
  }

  private async readStored(): Promise<Reading> {
    const stored = await this.nextStored()
    if (stored !== undefined) return this.tell(stored)
    if (this.isOver) return { kind: 'over' }
    const run = await this.ports.find(this.runId)
    if (this.ports.hub(this.runId) !== undefined) return await this.read()
    if (run === undefined) {
      // A turn that nobody accepted is followed in the process that has it, and this one has not.
      this.isOver = true
      return { kind: 'over' }
    }
    if (run.settled === undefined || run.endedAt === undefined) return { kind: 'waiting' }
    const retryAtMs = run.endedAt + SETTLE_GRACE_MS
    if (this.ports.now() < retryAtMs) return { kind: 'waiting', retryAtMs }
    const last = lastWord(run)
    this.isOver = this.position >= last.seq
    return this.isOver ? { kind: 'over' } : this.tell(last)
  }

  /** The next final in the log behind the position. */
  private async nextStored(): Promise<RunEvent | undefined> {
    for (;;) {
      const [stored, ...rest] = this.page
      if (stored === undefined) {
        const stream = EVENT_STREAM_PREFIX + this.runId
        this.page = await this.ports.log.read(stream, { afterSeq: this.logSeq, limit: PAGE })
        if (this.page.length === 0) return undefined
        continue
      }
      const event = parseEventEntry(stored, this)
      if (event !== undefined && event.seq > this.position) return event
      // The reader has the end already.
      if (event !== undefined && isEnd(event)) this.isOver = true
      this.page = rest
      this.logSeq = stored.seq
    }
  }

  /** Tells the event, or first the gap before it; then the event is found again at the next reading. */
  private tell(event: RunEvent): Reading {
    const { firstSeq = event.seq, ...alone } = event
    const from = this.position + 1
    if (firstSeq > from) return this.tellGap(firstSeq - 1)
    this.position = event.seq
    if (isEnd(event)) this.isOver = true
    return { kind: 'event', event: (from === event.seq ? alone : { ...alone, firstSeq: from }) as RunEvent }
  }

  private tellGap(seq: number): Reading {
    const { runId, sessionId } = this
    const range = seq === this.position + 1 ? {} : { firstSeq: this.position + 1 }
    this.position = seq
    const envelope = { runId, sessionId, seq, ...range, ts: this.ports.now() }
    return { kind: 'event', event: { ...envelope, stream: 'gap', data: { reason: 'not-kept' } } }
  }
}

function isEnd({ stream, data }: RunEvent): boolean {
  return stream === 'lifecycle' && data.phase !== 'start'
}

/** The end of a run whose events nobody kept, from what the run's own record says. */
function lastWord(run: RunRecord): RunEvent {
  const seq = run.attempt * ATTEMPT_ROOM + 1
  const { runId, sessionId } = run
  const data = endOf(run)
  return { runId, sessionId, seq, ts: data.phase === 'start' ? 0 : data.endedAt, stream: 'lifecycle', data }
}

/** The terminal event of a settled run. */
export function endOf(run: RunRecord): LifecycleData {
  const { state, startedAt, endedAt = 0, usage, error } = viewOf(run)
  const times = { ...(startedAt === undefined ? {} : { startedAt }), endedAt }
  if (state === 'ok') return { phase: 'end', state, ...times, ...(usage === undefined ? {} : { usage }) }
  const why = error ?? { code: state, message: `the run ended as "${state}"` }
  return { phase: 'error', state, ...times, error: why }
}
