/**
 * The log in PostgreSQL, safe between hosts.
 *
 * Owns: options, the life of one log (connected at first use, closed after what is under way) and its
 * listeners. Does not own: statements (postgres-medium) or news of other hosts (postgres-news).
 */
import type { ConnectionOptions } from 'node:tls'
import { checkAppend, checkList, checkRead, checkSnapshot, checkStream, checkSubscription } from './checks.ts'
import { DurableLogError } from './errors.ts'
import { PostgresConnection } from './postgres-connection.ts'
import { PostgresMedium } from './postgres-medium.ts'
import { PostgresNews } from './postgres-news.ts'
import { closed } from './refusals.ts'
import { Subscriptions } from './subscriptions.ts'
import type {
  AppendOptions,
  DurableLog,
  Entry,
  JsonValue,
  ListOptions,
  ReadOptions,
  Snapshot,
  SqlWork,
  StoredEntry,
  StreamHead,
  StreamPage,
} from './types.ts'

export interface PostgresLogOptions {
  /** `postgres://user:password@host:port/database?sslmode=…`. Never part of an error. */
  readonly connectionString: string
  /** Schema of the tables, made when missing; default `durable_log`. Small letters, digits, `_`. */
  readonly schema?: string
  /** Connections at most, apart from one for listening; default 4. */
  readonly poolSize?: number
  /** How long an operation goes on while the server is away, before `unavailable`; default 10,000 ms. */
  readonly patienceMs?: number
  /** How long one attempt to connect may take; default 5,000 ms. */
  readonly connectTimeoutMs?: number
  /** How long the server may work on one statement; default 10,000 ms. */
  readonly statementTimeoutMs?: number
  /** How often appends of other hosts are looked for beside `NOTIFY` while somebody listens; default 1,000 ms. */
  readonly pollIntervalMs?: number
  /** TLS, as `node:tls` takes it; else the connection string decides. */
  readonly ssl?: boolean | ConnectionOptions
  /** Makes no tables, and refuses every write with `unavailable`. */
  readonly readOnly?: boolean
}

const SCHEMA = /^[a-z_][a-z0-9_]{0,39}$/u
const MAX_MS = 2 ** 31 - 1

/**
 * A log in a PostgreSQL database (13 or newer, encoding UTF8). Connects at first use and makes its
 * tables then; the client library is loaded then, too.
 *
 * @throws DurableLogError `invalid` for malformed options.
 */
export function postgresLog(options: PostgresLogOptions): DurableLog {
  const { connectionString, readOnly = false, schema = 'durable_log', ssl } = options
  if (typeof connectionString !== 'string' || !/^postgres(?:ql)?:\/\//u.test(connectionString)) {
    throw new DurableLogError('invalid', 'connectionString must begin with postgres:// or postgresql://')
  }
  if (typeof schema !== 'string' || !SCHEMA.test(schema) || schema.startsWith('pg_')) {
    throw new DurableLogError(
      'invalid',
      'schema must be 1 to 40 small letters, digits and _, and begin with no digit nor pg_',
    )
  }
  const settings = {
    connectionString,
    schema,
    ssl,
    isReadOnly: readOnly,
    poolSize: count('poolSize', options.poolSize ?? 4, 1, 1000),
    patienceMs: count('patienceMs', options.patienceMs ?? 10_000, 0, MAX_MS),
    connectTimeoutMs: count('connectTimeoutMs', options.connectTimeoutMs ?? 5000, 1, MAX_MS),
    statementTimeoutMs: count('statementTimeoutMs', options.statementTimeoutMs ?? 10_000, 1, MAX_MS),
  }
  const pollIntervalMs = count('pollIntervalMs', options.pollIntervalMs ?? 1000, 1, MAX_MS)
  return new PostgresLog(async (announce) => {
    const connection = await PostgresConnection.create(settings)
    const news = new PostgresNews(connection, schema, pollIntervalMs, announce)
    return { connection, news, medium: new PostgresMedium(connection, schema, news) }
  }, readOnly)
}

function count(name: string, value: number, min: number, max: number): number {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value
  throw new DurableLogError('invalid', `${name} must be a whole number from ${min} to ${max}`)
}

interface Parts {
  readonly connection: PostgresConnection
  readonly news: PostgresNews
  readonly medium: PostgresMedium
}

class PostgresLog implements DurableLog {
  private readonly assemble: (announce: (stream: string, seq: number) => void) => Promise<Parts>
  private readonly subscriptions = new Subscriptions()
  private parts: Promise<Parts> | undefined
  /** Operations begin behind it, in the order of the calls; see `ready` of the news. */
  private gate: Promise<void> = Promise.resolve()
  private readonly running = new Set<Promise<unknown>>()
  private closing: Promise<void> | undefined
  private readonly isReadOnly: boolean

  constructor(
    assemble: (announce: (stream: string, seq: number) => void) => Promise<Parts>,
    isReadOnly: boolean,
  ) {
    this.assemble = assemble
    this.isReadOnly = isReadOnly
  }

  async append(
    stream: string,
    expectedSeq: number | 'any',
    entries: readonly Entry[],
    options?: AppendOptions,
  ): Promise<number> {
    this.assertOpen()
    const request = checkAppend(stream, expectedSeq, entries, options)
    return this.write((medium) => medium.append(request))
  }

  async appendWith(
    stream: string,
    expectedSeq: number | 'any',
    entries: readonly Entry[],
    work: SqlWork,
    options?: AppendOptions,
  ): Promise<number> {
    this.assertOpen()
    const request = checkAppend(stream, expectedSeq, entries, options)
    return this.write((medium) => medium.appendWith(request, work))
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
    this.assertOpen()
    const request = checkSnapshot(stream, seq, snapshot)
    return this.write((medium) => medium.saveSnapshot(request))
  }

  async loadSnapshot(stream: string): Promise<Snapshot | undefined> {
    this.assertOpen()
    const name = checkStream(stream)
    return this.run((medium) => medium.loadSnapshot(name))
  }

  async remove(stream: string): Promise<void> {
    this.assertOpen()
    const name = checkStream(stream)
    return this.write((medium) => medium.remove(name))
  }

  subscribe(prefix: string, listener: (head: StreamHead) => void): () => void {
    this.assertOpen()
    const undo = this.subscriptions.add(checkSubscription(prefix, listener).prefix, listener)
    this.watch()
    return () => {
      undo()
      this.watch()
    }
  }

  close(): Promise<void> {
    return (this.closing ??= this.finish())
  }

  private async finish(): Promise<void> {
    const parts = await this.parts?.catch(() => undefined)
    parts?.connection.loseHope()
    await Promise.allSettled(this.running)
    this.subscriptions.close()
    await parts?.news.close()
    await parts?.connection.close()
  }

  private write<T>(operate: (medium: PostgresMedium) => Promise<T>): Promise<T> {
    if (this.isReadOnly)
      throw new DurableLogError('unavailable', 'the PostgreSQL log is open for reading only')
    return this.run(operate)
  }

  private run<T>(operate: (medium: PostgresMedium) => Promise<T>): Promise<T> {
    const outcome = this.gate
      .then(() => this.open())
      .then(async ({ medium, news }) => {
        await news.ready()
        return operate(medium)
      })
    this.running.add(outcome)
    const forget = () => void this.running.delete(outcome)
    outcome.then(forget, forget)
    return outcome
  }

  private open(): Promise<Parts> {
    return (this.parts ??= this.assemble((stream, seq) => this.subscriptions.announce(stream, seq)))
  }

  /** Looks for news exactly while somebody listens. */
  private watch(): void {
    this.gate = this.gate
      .then(() => this.open())
      .then(async ({ news }) => {
        if (this.closing !== undefined) return
        if (this.subscriptions.isEmpty) {
          void news.stop()
          return
        }
        news.start()
      })
      // Options that cannot be used are told by every operation.
      .catch(() => undefined)
  }

  private assertOpen(): void {
    if (this.closing !== undefined) throw closed()
  }
}
