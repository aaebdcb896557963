/**
 * The log on a storage unit of DSH (`KvUnit`), for whatever medium the user's DSH keeps.
 *
 * Owns: the order of writes, the copy in memory that answers every read, listeners, and the mark of
 * the process in the unit. Does not own: the unit, which the caller opened and closes, the form of
 * records (kv-format), how a stream is removed (kv-removal), or the medium. One put for each append: what the backend does for one put
 * (`storage-json` rewrites its file) is the price of an append.
 */
import { checkAppend, checkList, checkRead, checkSnapshot, checkStream, checkSubscription } from './checks.ts'
import { DurableLogError } from './errors.ts'
import { appendRecord, type KvRecord, loadUnit, snapshotRecord } from './kv-format.ts'
import { assertOwnable, ownerMark } from './kv-owner.ts'
import { KvRemovals } from './kv-removal.ts'
import type { KvUnit } from './kv-unit.ts'
import { systemProcesses } from './process-identity.ts'
import { aborted, closed } from './refusals.ts'
import { storedEntries, type StreamTable } from './stream-table.ts'
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
import { WriteChain } from './write-chain.ts'

/** Units under a log that is not closed yet. */
const unitsInUse = new WeakSet<KvUnit>()

/**
 * A log on an open unit of DSH's storage, which was opened with `KV_UNIT_DESCRIPTOR`. Everything is
 * loaded at first use. The unit serves this log alone until the log is closed; closing the log leaves
 * the unit open, and whoever opened the unit closes it afterwards.
 *
 * An append to a stream with a damaged entry is refused with `corrupt`: its head is not certain.
 *
 * @throws DurableLogError `invalid` for something that is no unit, or one that serves another log.
 */
export function kvUnitLog(unit: KvUnit): DurableLog {
  if (!isUnit(unit)) {
    throw new DurableLogError('invalid', 'a kv log needs an open storage unit (KvUnit)')
  }
  if (unitsInUse.has(unit)) {
    throw new DurableLogError('invalid', 'the storage unit serves another log already; close that one first')
  }
  unitsInUse.add(unit)
  return new KvLog(unit)
}

function isUnit(unit: unknown): unit is KvUnit {
  if (typeof unit !== 'object' || unit === null) return false
  const { loadAll, putRecord, deleteRecord, setGlobal } = unit as Record<string, unknown>
  return [loadAll, putRecord, deleteRecord, setGlobal].every((method) => typeof method === 'function')
}

class KvLog implements DurableLog {
  private readonly unit: KvUnit
  private readonly chain = new WriteChain()
  private readonly subscriptions = new Subscriptions()
  private readonly removals: KvRemovals
  /** Streams with a put that failed: the medium may hold a record that memory does not know. */
  private readonly doubtful = new Set<string>()
  /** What the unit holds, or its loading. */
  private loading: Promise<StreamTable> | undefined
  private closing: Promise<void> | undefined

  constructor(unit: KvUnit) {
    this.unit = unit
    this.removals = new KvRemovals(unit)
  }

  async append(
    stream: string,
    expectedSeq: number | 'any',
    entries: readonly Entry[],
    options?: AppendOptions,
  ): Promise<number> {
    this.assertOpen()
    const request = checkAppend(stream, expectedSeq, entries, options)
    const { signal } = request
    return this.chain.submit({
      stream: request.stream,
      signal,
      run: async () => {
        const table = await this.load()
        if (signal?.aborted === true) throw aborted(request.stream, signal.reason)
        const current = table.assertAppendable(request)
        const appendedAt = Date.now()
        await this.put(request.stream, appendRecord(request, current, appendedAt))
        table.push(request.stream, storedEntries(request, current, appendedAt))
        const seq = table.headOf(request.stream)
        this.subscriptions.announce(request.stream, seq)
        return seq
      },
    })
  }

  async read(stream: string, options?: ReadOptions): Promise<readonly StoredEntry[]> {
    this.assertOpen()
    const request = checkRead(stream, options)
    return (await this.load()).read(request)
  }

  async list(options?: ListOptions): Promise<StreamPage> {
    this.assertOpen()
    const request = checkList(options)
    return (await this.load()).list(request)
  }

  async saveSnapshot(stream: string, seq: number, snapshot: JsonValue): Promise<void> {
    this.assertOpen()
    const request = checkSnapshot(stream, seq, snapshot)
    return this.chain.submit({
      stream: request.stream,
      signal: undefined,
      run: async () => {
        const table = await this.load()
        table.assertSnapshot(request)
        await this.put(request.stream, snapshotRecord(request))
        table.keepSnapshot(
          request.stream,
          Object.freeze({ seq: request.seq, snapshot: request.snapshot.value }),
        )
      },
    })
  }

  async loadSnapshot(stream: string): Promise<Snapshot | undefined> {
    this.assertOpen()
    const name = checkStream(stream)
    return (await this.load()).loadSnapshot(name)
  }

  async remove(stream: string): Promise<void> {
    this.assertOpen()
    const name = checkStream(stream)
    return this.chain.submit({ stream: name, signal: undefined, run: () => this.removeNow(name) })
  }

  subscribe(prefix: string, listener: (head: StreamHead) => void): () => void {
    this.assertOpen()
    return this.subscriptions.add(checkSubscription(prefix, listener).prefix, listener)
  }

  close(): Promise<void> {
    return (this.closing ??= this.finish())
  }

  private async finish(): Promise<void> {
    await this.chain.idle()
    // A loading that failed has been reported to whoever asked for it, and has set no mark.
    const table = await this.loading?.catch(() => undefined)
    this.subscriptions.close()
    if (table !== undefined) await this.clearMark()
    unitsInUse.delete(this.unit)
  }

  /** A mark that stays, because the unit fails or was closed, is soon that of a process that is gone. */
  private async clearMark(): Promise<void> {
    try {
      await this.unit.setGlobal(null)
    } catch {
      // Everything acknowledged is durable; there is nothing else to tell.
    }
  }

  /** Loads the unit once; after a failure the next call tries again. */
  private load(): Promise<StreamTable> {
    return (this.loading ??= this.openUnit().catch((error: unknown) => {
      this.loading = undefined
      throw error instanceof DurableLogError ? error : unavailable('cannot be loaded', error)
    }))
  }

  private async openUnit(): Promise<StreamTable> {
    const { tables, global } = await this.unit.loadAll()
    const processes = systemProcesses()
    assertOwnable(global, processes)
    const { table, removed, foreignKeys } = loadUnit(tables)
    await this.unit.setGlobal(ownerMark(processes.self))
    await this.removals.finish(removed)
    if (foreignKeys.length > 0) {
      const names = foreignKeys.slice(0, 3).map((key) => JSON.stringify(key.slice(0, 80)))
      process.emitWarning(
        `the storage unit of the log holds ${foreignKeys.length} records of another program, left alone: ${names.join(', ')}`,
        { type: 'DurableLogWarning' },
      )
    }
    return table
  }

  private async put(stream: string, { table, key, value }: KvRecord): Promise<void> {
    try {
      await this.removals.settle(stream)
      await this.unit.putRecord(table, key, value)
    } catch (error) {
      // If the record is on the medium all the same, the next append to its stream replaces it.
      this.doubtful.add(stream)
      throw unavailable('did not take a write', error)
    }
  }

  private async removeNow(stream: string): Promise<void> {
    const table = await this.load()
    try {
      if (!table.has(stream) && !this.doubtful.has(stream)) return await this.removals.settle(stream)
      await this.removals.remove(stream)
    } catch (error) {
      // If the tombstone is on the medium all the same, the next write to the stream takes it away.
      throw unavailable('did not take a removal', error)
    }
    this.doubtful.delete(stream)
    if (!table.has(stream)) return
    table.remove(stream)
    this.subscriptions.announce(stream, 0)
  }

  private assertOpen(): void {
    if (this.closing !== undefined) throw closed()
  }
}

/** @param what ends the sentence "the storage unit of the log …". */
function unavailable(what: string, cause: unknown): DurableLogError {
  const reason = cause instanceof Error ? ` (${cause.message})` : ''
  return new DurableLogError('unavailable', `the storage unit of the log ${what}${reason}`, { cause })
}
