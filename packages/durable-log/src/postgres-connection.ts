/**
 * Connections to one PostgreSQL database, and what a broken one means.
 *
 * Owns: the pool, reconnecting with back-off, and the patience of an operation. Reads are repeated
 * until they succeed or patience is over. A write is repeated only while it is certain that it was
 * not done. Does not own: statements, tables (postgres-schema) or listening (postgres-news).
 */
import type * as pgModule from 'pg'
import type { Client, ClientConfig, Pool, PoolClient, QueryResultRow } from 'pg'
import { setTimeout as delay } from 'node:timers/promises'
import type { ConnectionOptions } from 'node:tls'
import { DurableLogError } from './errors.ts'
import { connectOutcome, type Outcome, statementOutcome, unavailable } from './postgres-errors.ts'
import { assertUsable, migrate } from './postgres-schema.ts'
import type { ExecuteSql } from './types.ts'

export interface ConnectionSettings {
  readonly connectionString: string
  /** A plain identifier. */
  readonly schema: string
  readonly poolSize: number
  readonly connectTimeoutMs: number
  readonly statementTimeoutMs: number
  readonly patienceMs: number
  readonly ssl: boolean | ConnectionOptions | undefined
  /** Makes no tables. */
  readonly isReadOnly: boolean
}

/** A statement that is prepared once for each connection. */
export interface Statement {
  readonly name: string
  readonly text: string
}

type Attempt<T> =
  | { readonly result: T }
  | { readonly outcome: Outcome; readonly error: unknown; readonly broken?: boolean }

type Pg = Pick<typeof pgModule, 'Client' | 'Pool' | 'types'>

const FIRST_RETRY_MS = 25
const LONGEST_RETRY_MS = 1000
/** Beyond the time limit of a statement, which the server keeps: then the network is gone. */
const SILENCE_MS = 2000
/** A process that stands still within a transaction loses it, and the streams that it has locked. */
const IDLE_MS = 3000
const INT8 = 20

export class PostgresConnection {
  /** Server and database, for errors. Holds no credentials. */
  readonly where: string
  private readonly settings: ConnectionSettings
  private readonly config: ClientConfig
  private readonly newClient: (config: ClientConfig) => Client
  private readonly pool: Pool
  private readonly closing = new AbortController()
  private migrated: Promise<void> | undefined

  private constructor(settings: ConnectionSettings, pg: Pg) {
    this.settings = settings
    this.config = configOf(settings, pg.types.getTypeParser)
    this.newClient = (config) => new pg.Client(config)
    const { host, port, database } = new pg.Client(this.config)
    this.where = `${host}:${port}/${database}`
    this.pool = new pg.Pool({ ...this.config, max: settings.poolSize, allowExitOnIdle: true })
    // An idle connection that breaks is replaced when it is needed; whoever needs it then is told.
    this.pool.on('error', () => undefined)
    this.pool.on('connect', (client) => void client.on('error', () => undefined))
  }

  /**
   * Loads the client; connects at the first use.
   *
   * @throws DurableLogError `invalid` for a connection string that is none.
   */
  static async create(settings: ConnectionSettings): Promise<PostgresConnection> {
    const { default: pg } = await import('pg')
    try {
      return new PostgresConnection(settings, pg)
    } catch {
      // The parser's own error would repeat the string, and with it the password.
      throw new DurableLogError('invalid', 'the connection string of the PostgreSQL log cannot be read')
    }
  }

  /** Repeated until it succeeds or patience is over. */
  async read<R extends QueryResultRow>(statement: Statement, values: readonly unknown[]): Promise<R[]> {
    return this.patiently((outcome) => outcome !== 'refused', statement, values)
  }

  /** Repeated while it is certain that nothing was done. */
  async write<R extends QueryResultRow>(statement: Statement, values: readonly unknown[]): Promise<R[]> {
    return this.patiently((outcome) => outcome === 'undone', statement, values)
  }

  /**
   * All that `work` executes, or nothing. Repeated as a write is, from the beginning.
   *
   * @throws what `work` throws of its own accord, after the rollback.
   */
  async transaction<T>(work: (execute: ExecuteSql) => Promise<T>): Promise<T> {
    return this.repeat(
      (outcome) => outcome === 'undone',
      () =>
        this.attempt(async (client) => {
          let failure: unknown
          let isCommitting = false
          const execute: ExecuteSql = (text, values = []) =>
            client.query({ text, values: [...values] }).catch((error: unknown) => {
              failure = error
              throw error
            })
          try {
            await execute('BEGIN')
            const result = await work(execute)
            isCommitting = true
            await execute('COMMIT')
            return { result }
          } catch (error) {
            const outcome = failure === undefined ? 'refused' : statementOutcome(failure)
            if (outcome !== 'unknown') await client.query('ROLLBACK').catch(() => undefined)
            if (outcome === 'refused' && !isCommitting) throw error
            // A transaction that loses its connection before its commit is rolled back.
            const isUndone = outcome === 'unknown' && !isCommitting
            return { outcome: isUndone ? 'undone' : outcome, error: failure, broken: outcome === 'unknown' }
          }
        }),
    )
  }

  /** A connection of its own, to be ended by the caller. Rejects with whatever the client throws. */
  async dedicated(): Promise<Client> {
    const client = this.newClient(this.config)
    // Without a listener a broken connection would end the process.
    client.on('error', () => undefined)
    try {
      await client.connect()
      return client
    } catch (error) {
      await client.end().catch(() => undefined)
      throw error
    }
  }

  /** From now on nobody waits for a server that is away; every operation is tried once. */
  loseHope(): void {
    this.closing.abort()
  }

  /** Ends every connection, to be called when nothing is under way. */
  async close(): Promise<void> {
    await this.pool.end()
  }

  private patiently<R extends QueryResultRow>(
    isRepeated: (outcome: Outcome) => boolean,
    { name, text }: Statement,
    values: readonly unknown[],
  ): Promise<R[]> {
    return this.repeat(isRepeated, () =>
      this.attempt(async (client) => {
        try {
          return { result: (await client.query<R>({ name, text, values: [...values] })).rows }
        } catch (error) {
          const outcome = statementOutcome(error)
          return { outcome, error, broken: outcome === 'unknown' }
        }
      }),
    )
  }

  private async repeat<T>(
    isRepeated: (outcome: Outcome) => boolean,
    tryOnce: () => Promise<Attempt<T>>,
  ): Promise<T> {
    const since = performance.now()
    for (let retry = 0; ; retry += 1) {
      const attempt = await tryOnce()
      if ('result' in attempt) return attempt.result
      const { outcome, error } = attempt
      const isOver = performance.now() - since >= this.settings.patienceMs
      if (!isRepeated(outcome) || isOver) throw this.failure(outcome, error)
      await delay(retryDelayMs(retry), undefined, { signal: this.closing.signal }).catch(() => undefined)
      if (this.closing.signal.aborted) throw this.failure(outcome, error)
    }
  }

  private async attempt<T>(operate: (client: PoolClient) => Promise<Attempt<T>>): Promise<Attempt<T>> {
    let client: PoolClient
    try {
      client = await this.pool.connect()
    } catch (error) {
      return { outcome: connectOutcome(error), error }
    }
    try {
      await this.migrateOnce(client)
    } catch (error) {
      client.release(true)
      if (error instanceof DurableLogError) throw error
      // Tables are not there; a migration that failed was rolled back.
      return { outcome: statementOutcome(error) === 'refused' ? 'refused' : 'undone', error }
    }
    let broken = true
    try {
      const attempt = await operate(client)
      broken = 'broken' in attempt && attempt.broken === true
      return attempt
    } catch (error) {
      broken = false
      throw error
    } finally {
      client.release(broken)
    }
  }

  private migrateOnce(client: PoolClient): Promise<void> {
    const { isReadOnly, schema } = this.settings
    const prepare = isReadOnly ? assertUsable : migrate
    return (this.migrated ??= prepare(client, schema).catch((error: unknown) => {
      this.migrated = undefined
      throw error
    }))
  }

  private failure(outcome: Outcome, error: unknown): DurableLogError {
    if (error instanceof DurableLogError) return error
    const what =
      outcome === 'unknown'
        ? 'broke off before it answered; a write under way may have been done or not'
        : outcome === 'undone'
          ? `did not answer for ${this.settings.patienceMs} ms`
          : 'refused'
    return unavailable(this.where, what, error)
  }
}

function configOf(settings: ConnectionSettings, parserOf: (oid: number) => unknown): ClientConfig {
  const { connectionString, connectTimeoutMs, statementTimeoutMs, ssl } = settings
  return {
    connectionString,
    application_name: 'dsh-durable-log',
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + SILENCE_MS,
    idle_in_transaction_session_timeout: IDLE_MS,
    keepAlive: true,
    ...(ssl === undefined ? {} : { ssl }),
    // Seqs and times are safe integers; the client would give text.
    types: { getTypeParser: ((oid: number) => (oid === INT8 ? Number : parserOf(oid))) as never },
  }
}

/** Doubles up to a second, with some chance, so that hosts do not come back all at once. */
export function retryDelayMs(retry: number): number {
  const longest = Math.min(FIRST_RETRY_MS * 2 ** Math.min(retry, 16), LONGEST_RETRY_MS)
  return longest * (0.5 + Math.random() / 2)
}
