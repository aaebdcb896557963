import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { type DurableLog, postgresLog, type PostgresLogOptions, type StreamHead } from '../src/index.ts'
import { heard } from '../src/testing/harness.ts'
import { type CutProxy, cutProxy } from './support/cut-proxy.ts'
import { databaseUrl, dropSchemas, newSchema, query } from './support/postgres.ts'

let connectionString = ''
const schemas: string[] = []
const one = { type: 'test/entry', data: 1 }

beforeAll(async () => {
  connectionString = await databaseUrl()
})

afterAll(() => dropSchemas(connectionString, schemas))

interface Behind {
  readonly log: DurableLog
  readonly proxy: CutProxy
  readonly schema: string
}

/** A log that reaches the server through a proxy. */
async function behindProxy(options: Partial<PostgresLogOptions> = {}): Promise<Behind> {
  const url = new URL(connectionString)
  const proxy = await cutProxy({ host: url.hostname, port: Number(url.port) })
  url.hostname = '127.0.0.1'
  url.port = String(proxy.port)
  const schema = newSchema()
  schemas.push(schema)
  const log = postgresLog({ connectionString: url.href, schema, ...options })
  onTestFinished(async () => {
    proxy.mend()
    await log.close()
    await proxy.close()
  })
  return { log, proxy, schema }
}

function openLog(options: Partial<PostgresLogOptions> = {}): DurableLog {
  const schema = newSchema()
  schemas.push(schema)
  const log = postgresLog({ connectionString, schema, ...options })
  onTestFinished(() => log.close())
  return log
}

function withPart(change: (url: URL) => void): string {
  const url = new URL(connectionString)
  change(url)
  return url.href
}

describe('PostgreSQL log whose server is away', () => {
  it('says so to whoever reads while somebody listens, and tells news once it is back', async () => {
    // More patience than time between two polls: they must not keep a reader waiting for ever.
    const { log, proxy } = await behindProxy({ patienceMs: 400, pollIntervalMs: 20 })
    proxy.cut()
    const { tell, first } = heard<StreamHead>()
    log.subscribe('', tell)
    await expect(log.list()).rejects.toMatchObject({ code: 'unavailable' })
    await expect(log.append('s', 0, [one])).rejects.toMatchObject({ code: 'unavailable' })
    proxy.mend()
    await log.append('s', 0, [one])
    expect(await log.read('s')).toHaveLength(1)
    expect(await first(({ stream }) => stream === 's')).toEqual({ stream: 's', seq: 1 })
  })

  it('says so when patience is over, by host, port and database, without the password', async () => {
    const { proxy } = await behindProxy()
    await proxy.close()
    const log = openLog({
      connectionString: withPart((url) => {
        url.port = String(proxy.port)
        url.password = 'secret-word'
      }),
      patienceMs: 100,
    })
    for (const operate of [
      () => log.append('s', 0, [one]),
      () => log.read('s'),
      () => log.list(),
      () => log.remove('s'),
    ]) {
      const error = await operate().then(
        () => undefined,
        (reason: unknown) => reason as Error & { code: string },
      )
      expect(error?.code).toBe('unavailable')
      expect(error?.message).toMatch(
        new RegExp(`127.0.0.1:${proxy.port}/\\w+ did not answer for 100 ms`, 'u'),
      )
      expect(JSON.stringify([error, String(error?.cause)])).not.toContain('secret-word')
    }
  })

  it.each<[string, (url: URL) => void]>([
    ['a wrong password', (url) => void (url.password = 'wrong')],
    ['an unknown database', (url) => void (url.pathname = '/nowhere')],
    ['TLS that the server does not have', (url) => void url.searchParams.set('sslmode', 'require')],
  ])('refuses %s at once', async (_, change) => {
    const log = openLog({ connectionString: withPart(change), patienceMs: 3_600_000 })
    await expect(log.append('s', 0, [one])).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('refused') as string,
    })
  })

  it('passes TLS options through', async () => {
    const log = openLog({ ssl: { rejectUnauthorized: true }, patienceMs: 3_600_000 })
    await expect(log.list()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('SSL') as string,
    })
  })

  it('goes on by itself when the server comes back, with reads and writes that waited', async () => {
    const { log, proxy } = await behindProxy()
    await log.append('s', 0, [one])
    proxy.cut()
    // A connection that broke while it was idle is replaced before a write is sent.
    await vi.waitUntil(() => log.read('s', { limit: 0 }).then(() => true))
    const waiting = [log.append('s', 1, [one]), log.append('s', 2, [one])]
    const read = log.read('s', { limit: 1 })
    proxy.mend()
    expect(await Promise.all(waiting)).toEqual([2, 3])
    expect(await read).toHaveLength(1)
  })

  it('rejects a write whose answer was lost, and never writes it twice', async () => {
    const { log, proxy, schema } = await behindProxy()
    await log.append('s', 0, [one])
    const { count } = await lostAnswer(schema, () => log.append('s', 'any', [one]), proxy)
    proxy.mend()
    expect(await log.read('s')).toHaveLength(1 + count)
    expect(await log.append('s', 'any', [one])).toBe(2 + count)
  })

  it('notices a network that swallows everything', async () => {
    const { log, proxy } = await behindProxy({
      statementTimeoutMs: 50,
      patienceMs: 100,
      connectTimeoutMs: 50,
    })
    await log.append('s', 0, [one])
    proxy.freeze()
    await expect(log.append('s', 1, [one])).rejects.toMatchObject({ code: 'unavailable' })
    proxy.mend()
    expect(await log.append('s', 'any', [one])).toBeGreaterThan(1)
  })

  it('listens again after a cut, and tells what happened meanwhile', async () => {
    const { log, proxy, schema } = await behindProxy({ pollIntervalMs: 3_600_000 })
    const other = postgresLog({ connectionString, schema })
    onTestFinished(() => other.close())
    await log.append('s', 0, [one])
    const news = heard<StreamHead>()
    log.subscribe('', news.tell)
    await other.append('before', 0, [one])
    await vi.waitUntil(async () => (await listeners(schema)) === 1, { timeout: 10_000 })
    proxy.cut()
    await vi.waitUntil(async () => (await listeners(schema)) === 0, { timeout: 10_000 })
    await other.append('meanwhile', 0, [one])
    proxy.mend()
    expect(await news.first(({ stream }) => stream === 'meanwhile')).toEqual({ stream: 'meanwhile', seq: 1 })
    await other.append('after', 0, [one])
    expect(await news.first(({ stream }) => stream === 'after')).toEqual({ stream: 'after', seq: 1 })
  })

  it('goes on after the server ended every connection of it', async () => {
    const application = newSchema()
    const log = openLog({
      connectionString: withPart((url) => url.searchParams.set('application_name', application)),
    })
    await log.append('s', 0, [one])
    const ended = await query(
      connectionString,
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1',
      [application],
    )
    expect(ended.length).toBeGreaterThan(0)
    await vi.waitUntil(() =>
      log.append('s', 'any', [one]).then(
        () => true,
        (error: unknown) => {
          expect(error).toMatchObject({ code: 'unavailable' })
          return false
        },
      ),
    )
    expect((await log.read('s')).length).toBeGreaterThanOrEqual(2)
  })

  it('closes without waiting for a server that stays away', async () => {
    const { log, proxy } = await behindProxy({ patienceMs: 3_600_000 })
    await log.append('s', 0, [one])
    log.subscribe('', () => undefined)
    proxy.cut()
    const read = log.read('s')
    const [outcome] = await Promise.all([Promise.allSettled([read]), log.close()])
    expect(outcome).toMatchObject([{ status: 'rejected', reason: { code: 'unavailable' } }])
  })
})

describe('PostgreSQL log and what others do in its database', () => {
  it('gives up on a stream that somebody else has locked for longer than a statement may take', async () => {
    const schema = newSchema()
    const log = openLog({ schema, statementTimeoutMs: 100 })
    schemas.push(schema)
    await log.append('s', 0, [one])
    const locked = lockStream(schema, 0.5)
    await waitsFor(schema, 'PgSleep', 1)
    await expect(log.append('s', 1, [one])).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('timeout') as string,
    })
    await locked
    expect(await log.append('s', 1, [one])).toBe(2)
  })

  it('refuses tables that a newer version has made unreadable, and uses those it can read', async () => {
    const schema = newSchema()
    const first = openLog({ schema })
    await first.append('s', 0, [one])
    await query(connectionString, `INSERT INTO ${schema}.migrations VALUES (2, 1)`)
    expect(await openLog({ schema }).append('s', 1, [one])).toBe(2)
    await query(connectionString, `INSERT INTO ${schema}.migrations VALUES (3, 2)`)
    await expect(openLog({ schema }).append('s', 2, [one])).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('newer version') as string,
    })
    await dropSchemas(connectionString, [schema])
  })

  it('writes durably although the database is set to commit without waiting', async () => {
    const schema = newSchema()
    schemas.push(schema)
    const log = openLog({
      schema,
      connectionString: withPart((url) => url.searchParams.set('options', '-c synchronous_commit=off')),
    })
    await log.append('s', 0, [one])
    const [row] = await query<{ off: string; on: string }>(
      withPart((url) => url.searchParams.set('options', '-c synchronous_commit=off')),
      `SELECT current_setting('synchronous_commit') AS off,
         (SELECT current_setting('synchronous_commit') FROM (SELECT ${schema}.lock_streams_1(ARRAY['s'])) locked) AS on`,
    )
    expect(row).toEqual({ off: 'off', on: 'on' })
  })

  it.each<Partial<PostgresLogOptions>>([
    { connectionString: '' },
    { connectionString: 'mysql://localhost/x' },
    { schema: 'Robert; DROP' },
    { schema: 'pg_x' },
    { poolSize: 0 },
    { patienceMs: -1 },
    { pollIntervalMs: 0.5 },
  ])('refuses the options %o', (options) => {
    expect(() => postgresLog({ connectionString: 'postgres://localhost/x', ...options })).toThrow(
      expect.objectContaining({ code: 'invalid' }),
    )
  })
})

async function listeners(schema: string): Promise<number> {
  const rows = await query(connectionString, 'SELECT 1 FROM pg_stat_activity WHERE query = $1', [
    `LISTEN "${schema}_news"`,
  ])
  return rows.length
}

/** Sends an append, cuts the network while the server works on it, and counts what was written. */
async function lostAnswer(
  schema: string,
  append: () => Promise<number>,
  proxy: CutProxy,
): Promise<{ readonly count: number }> {
  const locked = lockStream(schema, 0.3)
  await waitsFor(schema, 'PgSleep', 1)
  const outcome = Promise.allSettled([append()])
  await waitsFor(schema, 'advisory', 1)
  proxy.cut()
  expect(await outcome).toMatchObject([
    {
      status: 'rejected',
      reason: {
        code: 'unavailable',
        message: expect.stringContaining('may have been done or not') as string,
      },
    },
  ])
  await locked
  // The server finishes what it began, or notices the broken connection first.
  await waitsFor(schema, 'advisory', 0)
  const [row] = await query<{ count: number }>(
    connectionString,
    `SELECT count(*)::int AS count FROM ${schema}.entries WHERE seq > 1`,
  )
  return { count: row?.count ?? 0 }
}

/** Holds the lock of the stream `s` as another host would. */
function lockStream(schema: string, seconds: number): Promise<unknown> {
  return query(
    connectionString,
    `BEGIN; SELECT ${schema}.lock_streams_1(ARRAY['s']); SELECT pg_sleep(${seconds}); COMMIT`,
  )
}

/** Resolves when so many statements on the schema wait for this. */
async function waitsFor(schema: string, event: string, count: number): Promise<void> {
  await vi.waitUntil(
    async () =>
      (
        await query(
          connectionString,
          'SELECT 1 FROM pg_stat_activity WHERE query LIKE $1 AND wait_event = $2',
          [`%${schema}%`, event],
        )
      ).length === count,
    { timeout: 10_000 },
  )
}
