/**
 * The log in memory: for tests, demos and hosts that want nothing on disk. It lives as long as the
 * object. Same contract as every adapter; "durable" means "in the map".
 */
import { checkAppend, checkList, checkRead, checkSnapshot, checkStream, checkSubscription } from './checks.ts'
import { aborted, appendConflict, closed, snapshotAhead, snapshotOlder } from './refusals.ts'
import { positionOf } from './stream-order.ts'
import { Subscriptions } from './subscriptions.ts'
import type {
  AppendOptions,
  DurableLog,
  Entry,
  JsonValue,
  ListOptions,
  ReadOptions,
  Snapshot,
  StoredEntry,
  StreamHead,
  StreamPage,
} from './types.ts'

/** Opens an empty log in memory. */
export function memoryLog(): DurableLog {
  return new MemoryLog()
}

class MemoryLog implements DurableLog {
  private readonly streams = new Map<string, StoredEntry[]>()
  /** The keys of `streams`, sorted. */
  private readonly names: string[] = []
  private readonly snapshots = new Map<string, Snapshot>()
  private readonly subscriptions = new Subscriptions()
  private isClosed = false

  async append(
    stream: string,
    expectedSeq: number | 'any',
    entries: readonly Entry[],
    options?: AppendOptions,
  ): Promise<number> {
    this.assertOpen()
    const request = checkAppend(stream, expectedSeq, entries, options)
    if (request.signal?.aborted === true) throw aborted(request.stream, request.signal.reason)
    const current = this.headOf(request.stream)
    if (request.expectedSeq !== 'any' && request.expectedSeq !== current) {
      throw appendConflict(request.stream, request.expectedSeq, current)
    }
    const stored = this.entriesOf(request.stream)
    const appendedAt = Date.now()
    for (const { type, data } of request.entries) {
      stored.push(Object.freeze({ seq: stored.length + 1, type, data: data.value, appendedAt }))
    }
    this.subscriptions.announce(request.stream, stored.length)
    return stored.length
  }

  async read(stream: string, options?: ReadOptions): Promise<readonly StoredEntry[]> {
    this.assertOpen()
    const request = checkRead(stream, options)
    const stored = this.streams.get(request.stream) ?? []
    return stored.slice(request.afterSeq, request.afterSeq + request.limit)
  }

  async list(options?: ListOptions): Promise<StreamPage> {
    this.assertOpen()
    const { prefix, cursor, limit } = checkList(options)
    let index = positionOf(this.names, prefix)
    if (cursor !== undefined) {
      const after = positionOf(this.names, cursor)
      index = Math.max(index, this.names[after] === cursor ? after + 1 : after)
    }
    const streams: StreamHead[] = []
    for (let name = this.names[index]; name?.startsWith(prefix) === true; name = this.names[++index]) {
      if (streams.length === limit) return { streams, cursor: streams.at(-1)?.stream ?? name }
      streams.push(Object.freeze({ stream: name, seq: this.headOf(name) }))
    }
    return { streams }
  }

  async saveSnapshot(stream: string, seq: number, snapshot: JsonValue): Promise<void> {
    this.assertOpen()
    const request = checkSnapshot(stream, seq, snapshot)
    const current = this.headOf(request.stream)
    const storedSeq = this.snapshots.get(request.stream)?.seq ?? 0
    if (request.seq > current) throw snapshotAhead(request.stream, request.seq, current)
    if (request.seq < storedSeq) throw snapshotOlder(request.stream, request.seq, storedSeq, current)
    this.snapshots.set(request.stream, Object.freeze({ seq: request.seq, snapshot: request.snapshot.value }))
  }

  async loadSnapshot(stream: string): Promise<Snapshot | undefined> {
    this.assertOpen()
    return this.snapshots.get(checkStream(stream))
  }

  subscribe(prefix: string, listener: (head: StreamHead) => void): () => void {
    this.assertOpen()
    return this.subscriptions.add(checkSubscription(prefix, listener).prefix, listener)
  }

  async close(): Promise<void> {
    if (this.isClosed) return
    this.isClosed = true
    this.subscriptions.close()
  }

  private assertOpen(): void {
    if (this.isClosed) throw closed()
  }

  private headOf(stream: string): number {
    return this.streams.get(stream)?.length ?? 0
  }

  private entriesOf(stream: string): StoredEntry[] {
    let stored = this.streams.get(stream)
    if (stored === undefined) {
      this.streams.set(stream, (stored = []))
      this.names.splice(positionOf(this.names, stream), 0, stream)
    }
    return stored
  }
}
