/**
 * The log in a SQLite file, safe between processes.
 *
 * Owns: the life of one log (opened at first use, closed after what is under way) and its listeners.
 * Does not own: the file, which logs of the same process share (sqlite-media).
 */
import { resolve } from 'node:path'
import { checkAppend, checkList, checkRead, checkSnapshot, checkStream, checkSubscription } from './checks.ts'
import { DurableLogError } from './errors.ts'
import { closed } from './refusals.ts'
import { type HeldMedium, holdMedium } from './sqlite-media.ts'
import type { SqliteMedium } from './sqlite-medium.ts'
import { unavailable } from './sqlite-schema.ts'
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

export interface SqliteLogOptions {
  /** The file; created with mode 0600 when missing, in folders created with 0700. */
  readonly path: string
  /** How long an operation waits for another process's lock before `unavailable`; default 10,000 ms. */
  readonly busyTimeoutMs?: number
  /** How often appends of other processes are looked for while somebody listens; default 250 ms. */
  readonly pollIntervalMs?: number
  /**
   * For looking at the log of somebody else: no file is created, nothing is repaired, and every write
   * is refused with `unavailable`.
   */
  readonly readOnly?: boolean
}

const DEFAULT_BUSY_TIMEOUT_MS = 10_000
const DEFAULT_POLL_INTERVAL_MS = 250

/**
 * A log in a SQLite file (`node:sqlite`, WAL, `synchronous=FULL`). The file is opened at first use.
 * Logs of one process with the same file share one connection, with the settings of the first.
 *
 * @throws DurableLogError `invalid` for malformed options.
 */
export function sqliteLog(options: SqliteLogOptions): DurableLog {
  const {
    path,
    busyTimeoutMs = DEFAULT_BUSY_TIMEOUT_MS,
    pollIntervalMs = DEFAULT_POLL_INTERVAL_MS,
    readOnly = false,
  } = options
  if (typeof path !== 'string' || path.trim() === '' || path.includes('\0')) {
    throw new DurableLogError('invalid', 'the path of a SQLite log must be the path of a file')
  }
  assertMs('busyTimeoutMs', busyTimeoutMs, 0)
  assertMs('pollIntervalMs', pollIntervalMs, 1)
  const request = { path: resolve(path), patienceMs: busyTimeoutMs, pollIntervalMs, isReadOnly: readOnly }
  return new SqliteLog(() => holdMedium(request), readOnly ? request.path : undefined)
}

function assertMs(name: string, value: number, min: number): void {
  if (Number.isSafeInteger(value) && value >= min && value < 2 ** 31) return
  throw new DurableLogError('invalid', `${name} must be a whole number of milliseconds from ${min}`)
}

class SqliteLog implements DurableLog {
  private readonly acquire: () => Promise<HeldMedium>
  /** The file, when it is only read. */
  private readonly readOnlyPath: string | undefined
  private readonly subscriptions = new Subscriptions()
  /** The share in the open file, or its opening. */
  private held: Promise<HeldMedium> | undefined
  /** The open file, once it is known. */
  private medium: SqliteMedium | undefined
  /** Operations under way. */
  private running = 0
  private onIdle: (() => void) | undefined
  private unwatch: (() => void) | undefined
  private closing: Promise<void> | undefined

  constructor(acquire: () => Promise<HeldMedium>, readOnlyPath: string | undefined) {
    this.acquire = acquire
    this.readOnlyPath = readOnlyPath
  }

  async append(
    stream: string,
    expectedSeq: number | 'any',
    entries: readonly Entry[],
    options?: AppendOptions,
  ): Promise<number> {
    this.assertWritable()
    const request = checkAppend(stream, expectedSeq, entries, options)
    return this.run((medium) => medium.append(request))
  }

  async read(stream: string, options?: ReadOptions): Promise<readonly StoredEntry[]> {
    this.assertOpen()
    const request = checkRead(stream, options)
    return this.run((medium) => medium.read(request))
  }

  async list(options?: ListOptions): Promise<StreamPage> {
    this.assertOpen()
    const request = checkList(options)
    return this.run((medium) => medium.list(request))
  }

  async saveSnapshot(stream: string, seq: number, snapshot: JsonValue): Promise<void> {
    this.assertWritable()
    const request = checkSnapshot(stream, seq, snapshot)
    return this.run((medium) => medium.saveSnapshot(request))
  }

  async loadSnapshot(stream: string): Promise<Snapshot | undefined> {
    this.assertOpen()
    const name = checkStream(stream)
    return this.run((medium) => medium.loadSnapshot(name))
  }

  async remove(stream: string): Promise<void> {
    this.assertWritable()
    const name = checkStream(stream)
    return this.run((medium) => medium.remove(name))
  }

  subscribe(prefix: string, listener: (head: StreamHead) => void): () => void {
    this.assertOpen()
    const undo = this.subscriptions.add(checkSubscription(prefix, listener).prefix, listener)
    // A file that cannot be opened now is reported by the next operation, which also starts the watch.
    if (this.medium === undefined) this.hold().catch(() => undefined)
    else this.watch()
    return () => {
      undo()
      if (this.subscriptions.isEmpty) this.stopWatching()
    }
  }

  close(): Promise<void> {
    return (this.closing ??= this.finish())
  }

  private async finish(): Promise<void> {
    if (this.running > 0) await new Promise<void>((resolve) => (this.onIdle = resolve))
    this.subscriptions.close()
    this.stopWatching()
    // An opening that failed has been reported to whoever asked for it.
    const held = await this.held?.catch(() => undefined)
    held?.release()
  }

  private async run<T>(operate: (medium: SqliteMedium) => Promise<T>): Promise<T> {
    this.running += 1
    try {
      // Everybody waits for the same promise, so operations begin in the order of the calls.
      return await operate((await this.hold()).medium)
    } finally {
      this.running -= 1
      if (this.running === 0) this.onIdle?.()
    }
  }

  /** Opens the file once; after a failure the next call tries again. */
  private hold(): Promise<HeldMedium> {
    return (this.held ??= this.acquire().then(
      (held) => {
        this.medium = held.medium
        this.watch()
        return held
      },
      (error: unknown) => {
        this.held = undefined
        throw error
      },
    ))
  }

  private watch(): void {
    if (this.medium === undefined || this.unwatch !== undefined || this.subscriptions.isEmpty) return
    this.unwatch = this.medium.watch((stream, seq) => this.subscriptions.announce(stream, seq))
  }

  private stopWatching(): void {
    this.unwatch?.()
    this.unwatch = undefined
  }

  private assertWritable(): void {
    this.assertOpen()
    if (this.readOnlyPath !== undefined) throw unavailable(this.readOnlyPath, 'is open for reading only')
  }

  private assertOpen(): void {
    if (this.closing !== undefined) throw closed()
  }
}
