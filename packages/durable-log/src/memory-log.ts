/**
 * The log in memory: for tests, demos and hosts that want nothing on disk. It lives as long as the
 * object. Same contract as every adapter; "durable" means "in the map".
 */
import { checkAppend, checkList, checkRead, checkSnapshot, checkStream, checkSubscription } from './checks.ts'
import { aborted, closed } from './refusals.ts'
import { storedEntries, StreamTable } from './stream-table.ts'
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
  private readonly table = new StreamTable()
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
    const stored = storedEntries(request, this.table.assertAppendable(request), Date.now())
    this.table.push(request.stream, stored)
    const seq = this.table.headOf(request.stream)
    this.subscriptions.announce(request.stream, seq)
    return seq
  }

  async read(stream: string, options?: ReadOptions): Promise<readonly StoredEntry[]> {
    this.assertOpen()
    return this.table.read(checkRead(stream, options))
  }

  async list(options?: ListOptions): Promise<StreamPage> {
    this.assertOpen()
    return this.table.list(checkList(options))
  }

  async saveSnapshot(stream: string, seq: number, snapshot: JsonValue): Promise<void> {
    this.assertOpen()
    const request = checkSnapshot(stream, seq, snapshot)
    this.table.assertSnapshot(request)
    this.table.keepSnapshot(
      request.stream,
      Object.freeze({ seq: request.seq, snapshot: request.snapshot.value }),
    )
  }

  async loadSnapshot(stream: string): Promise<Snapshot | undefined> {
    this.assertOpen()
    return this.table.loadSnapshot(checkStream(stream))
  }

  async remove(stream: string): Promise<void> {
    this.assertOpen()
    const name = checkStream(stream)
    if (!this.table.has(name)) return
    this.table.remove(name)
    this.subscriptions.announce(name, 0)
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
}
