import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  type DurableLog,
  leaseStore,
  postgresLog,
  type PostgresLogOptions,
  type StreamHead,
} from '../src/index.ts'
import { heard } from '../src/testing/harness.ts'
import { databaseUrl, dropSchemas, newSchema, query } from './support/postgres.ts'

let connectionString = ''
const schemas: string[] = []
const one = { type: 'test/entry', data: 1 }

beforeAll(async () => {
  connectionString = await databaseUrl()
})

afterAll(() => dropSchemas(connectionString, schemas))

function schemaOfTest(): string {
  const schema = newSchema()
  schemas.push(schema)
  return schema
}

/** A host of its own: nothing is shared between two logs of one process. */
function openHost(schema: string, options: Partial<PostgresLogOptions> = {}): DurableLog {
  const log = postgresLog({ connectionString, schema, ...options })
  onTestFinished(() => log.close())
  return log
}

function listen(log: DurableLog) {
  const told: string[] = []
  const news = heard<StreamHead>()
  log.subscribe('', (head) => {
    told.push(`${head.stream} ${head.seq}`)
    news.tell(head)
  })
  return { told, first: news.first }
}

/** Resolves when a host of this schema listens to the others. */
async function whenListening(schema: string): Promise<void> {
  await vi.waitUntil(
    async () =>
      (
        await query(connectionString, 'SELECT 1 FROM pg_stat_activity WHERE query = $1', [
          `LISTEN "${schema}_news"`,
        ])
      ).length > 0,
    { timeout: 10_000 },
  )
}

/** Resolves when a statement on the schema waits for this. */
async function waitsFor(schema: string, event: string): Promise<void> {
  await vi.waitUntil(
    async () =>
      (
        await query(
          connectionString,
          'SELECT 1 FROM pg_stat_activity WHERE query LIKE $1 AND wait_event = $2',
          [`%${schema}%`, event],
        )
      ).length > 0,
    { timeout: 10_000 },
  )
}

describe('PostgreSQL log of several hosts', () => {
  it('makes its tables once when many hosts come to an empty database together', async () => {
    const schema = schemaOfTest()
    const hosts = Array.from({ length: 8 }, () => openHost(schema))
    const seqs = await Promise.all(hosts.map((host) => host.append('s', 'any', [one])))
    expect(seqs.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    expect(await query(connectionString, `SELECT version FROM ${schema}.migrations`)).toEqual([
      { version: 1 },
    ])
  })

  it('loses no update of three hosts that append to one stream', async () => {
    const schema = schemaOfTest()
    const count = 40
    const staleRefusals: number[] = []
    await Promise.all(
      ['a', 'b', 'c'].map(async (label) => {
        const host = openHost(schema)
        let head = 0
        for (let n = 0; n < count;) {
          try {
            head = await host.append('s', head, [{ type: 'test/entry', data: { label, n } }])
            n += 1
          } catch (error) {
            const { code, currentSeq } = error as { code: string; currentSeq: number }
            if (code !== 'conflict') throw error
            // What the refusal says must be newer than what the refused append expected.
            if (currentSeq <= head) staleRefusals.push(currentSeq)
            head = currentSeq
          }
        }
      }),
    )
    expect(staleRefusals).toEqual([])
    const entries = await openHost(schema).read('s')
    expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 3 * count }, (_, n) => n + 1))
    for (const label of ['a', 'b', 'c']) {
      const own = entries.flatMap(({ data }) => {
        const entry = data as { label: string; n: number }
        return entry.label === label ? [entry.n] : []
      })
      expect(own).toEqual(Array.from({ length: count }, (_, n) => n))
    }
  })

  it('never lets two hosts wait for each other, whatever streams their appends share', async () => {
    const schema = schemaOfTest()
    const streams = Array.from({ length: 20 }, (_, n) => `s${n}`)
    const hosts = [openHost(schema), openHost(schema)]
    await Promise.all(
      hosts.flatMap((host, index) =>
        Array.from({ length: 10 }, () =>
          Promise.all(
            (index === 0 ? streams : streams.toReversed()).map((stream) => host.append(stream, 'any', [one])),
          ),
        ),
      ),
    )
    const { streams: heads } = await openHost(schema).list()
    expect(heads.map(({ seq }) => seq)).toEqual(streams.map(() => 20))
    const [row] = await query<{ deadlocks: number }>(
      connectionString,
      'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
    )
    expect(row?.deadlocks).toBe(0)
  })

  it('tells other hosts by a notification, without waiting for a poll', async () => {
    const schema = schemaOfTest()
    const listener = openHost(schema, { pollIntervalMs: 3_600_000 })
    const writer = openHost(schema)
    await writer.append('s', 0, [one, one])
    const { told, first } = listen(listener)
    await whenListening(schema)
    await writer.append('s', 2, [one])
    await first(({ seq }) => seq === 3)
    await writer.remove('s')
    await first(({ seq }) => seq === 0)
    await Promise.all([writer.append('s', 0, [one]), writer.remove('s'), writer.append('s', 0, [one, one])])
    await first(({ stream, seq }) => stream === 's' && seq === 2)
    await writer.append('last', 0, [one])
    await first(({ stream }) => stream === 'last')
    expect(told.slice(0, 2)).toEqual(['s 3', 's 0'])
    expect(told.at(-1)).toBe('last 1')
    expect(told.at(-2)).toBe('s 2')
    expect(told).toContain('s 0')
  })

  it('finds by polling what no notification told', async () => {
    const schema = schemaOfTest()
    const listener = openHost(schema, { pollIntervalMs: 20 })
    await listener.append('own', 0, [one])
    const { told, first } = listen(listener)
    await whenListening(schema)
    const append = (stream: string, text: string) =>
      query(
        connectionString,
        `SELECT * FROM ${schema}.append_1(ARRAY[$1], ARRAY[-1], ARRAY[1], 1, $2, $3, $4)`,
        [stream, ['test/entry'], [text], [0]],
      )
    await append('foreign', '1')
    await first(({ stream }) => stream === 'foreign')
    await query(connectionString, `SELECT ${schema}.remove_1('foreign')`)
    await first(({ stream, seq }) => stream === 'foreign' && seq === 0)
    await listener.append('own', 1, [one])
    await append('last', '1')
    await first(({ stream }) => stream === 'last')
    expect(told).toEqual(['foreign 1', 'foreign 0', 'own 2', 'last 1'])
  })

  it('lets nobody read between listening and the first commit that will be told', async () => {
    const schema = schemaOfTest()
    const log = openHost(schema, { pollIntervalMs: 20 })
    const other = openHost(schema)
    await Promise.all([log.list(), other.list()])
    // Holds up the first look for news, and no reader.
    const held = query(connectionString, `BEGIN; LOCK TABLE ${schema}.removals; SELECT pg_sleep(0.3); COMMIT`)
    await waitsFor(schema, 'PgSleep')
    const { told, first } = listen(log)
    let isRead = false
    const read = log.read('s').then(() => void (isRead = true))
    await waitsFor(schema, 'relation')
    const wasReadMeanwhile = isRead
    await Promise.all([held, read])
    await other.append('s', 0, [one])
    await first(({ stream }) => stream === 's')
    expect(wasReadMeanwhile).toBe(false)
    expect(told).toEqual(['s 1'])
  })

  it('finds what a slow transaction committed after faster ones that began later', async () => {
    const schema = schemaOfTest()
    const listener = openHost(schema, { pollIntervalMs: 20 })
    await listener.list()
    const { told, first } = listen(listener)
    await whenListening(schema)
    const insert = (stream: string) =>
      `INSERT INTO ${schema}.entries (stream, seq, format, appended_at, type, data, checksum)
       VALUES ('${stream}', 1, 2, 1, 'x', '1', 0)`
    const slow = query(connectionString, `BEGIN; ${insert('slow')}; SELECT pg_sleep(0.3); COMMIT`)
    await waitsFor(schema, 'PgSleep')
    await query(connectionString, insert('fast'))
    await first(({ stream }) => stream === 'fast')
    await slow
    await first(({ stream }) => stream === 'slow')
    expect(told).toEqual(['fast 1', 'slow 1'])
  })

  it('tells nothing of rows of a cluster that the database was restored from', async () => {
    const schema = schemaOfTest()
    const log = openHost(schema, { pollIntervalMs: 20 })
    await log.append('old', 0, [one])
    await query(connectionString, `UPDATE ${schema}.entries SET xact = '9000000000000000000'`)
    const { told, first } = listen(log)
    await whenListening(schema)
    const other = openHost(schema)
    await other.append('new', 0, [one])
    await first(({ stream }) => stream === 'new')
    await other.append('new', 1, [one])
    await first(({ seq }) => seq === 2)
    expect(told).toEqual(['new 1', 'new 2'])
  })

  it('passes a lease on between hosts, and refuses it to a second holder', async () => {
    const schema = schemaOfTest()
    const first = leaseStore({ log: openHost(schema) })
    const second = leaseStore({ log: openHost(schema) })
    const lease = await first.acquire('root')
    await expect(second.acquire('root')).rejects.toMatchObject({ code: 'lease-held' })
    await lease.release()
    expect((await second.acquire('root')).epoch).toBe(lease.epoch + 1)
  })
})

describe('PostgreSQL log with damaged rows', () => {
  it.each([
    ['edited data', `UPDATE @.entries SET data = '9' WHERE stream = 'damaged' AND seq = 2`],
    ['edited type', `UPDATE @.entries SET type = 'test/other' WHERE stream = 'damaged' AND seq = 2`],
    ['edited time', `UPDATE @.entries SET appended_at = 0 WHERE stream = 'damaged' AND seq = 2`],
    ['unknown format', `UPDATE @.entries SET format = 3 WHERE stream = 'damaged' AND seq = 2`],
    ['a missing entry', `DELETE FROM @.entries WHERE stream = 'damaged' AND seq = 2`],
    [
      'an entry of another place',
      `DELETE FROM @.entries WHERE stream = 'damaged' AND seq = 2;
       UPDATE @.entries SET seq = 2 WHERE stream = 'damaged' AND seq = 3`,
    ],
    [
      'an entry of another stream',
      `DELETE FROM @.entries WHERE stream = 'damaged' AND seq = 2;
       UPDATE @.entries SET stream = 'damaged' WHERE stream = 'later' AND seq = 2`,
    ],
  ])('names stream and seq of %s, and a removal ends it', async (_, sql) => {
    const schema = schemaOfTest()
    const log = openHost(schema)
    for (const stream of ['before', 'damaged', 'later']) await log.append(stream, 0, [one, one, one])
    await query(connectionString, sql.replaceAll('@', schema))
    await expect(log.read('damaged')).rejects.toMatchObject({ code: 'corrupt', stream: 'damaged', seq: 2 })
    expect(await log.read('damaged', { limit: 1 })).toHaveLength(1)
    expect(await log.read('before')).toHaveLength(3)
    await log.remove('damaged')
    expect(await log.append('damaged', 0, [one])).toBe(1)
    expect(await log.read('damaged')).toHaveLength(1)
  })

  it('names stream and seq of a damaged snapshot, and the entries stay readable', async () => {
    const schema = schemaOfTest()
    const log = openHost(schema)
    await log.append('s', 0, [one, one])
    await log.saveSnapshot('s', 2, { sum: 2 })
    await query(connectionString, `UPDATE ${schema}.snapshots SET data = '{"sum":3}'`)
    await expect(log.loadSnapshot('s')).rejects.toMatchObject({ code: 'corrupt', stream: 's', seq: 2 })
    expect(await log.read('s')).toHaveLength(2)
  })

  it('reads entries beyond the bytes of one page', async () => {
    const log = openHost(schemaOfTest())
    const text = 'x'.repeat(3 * 1024 * 1024)
    for (let seq = 0; seq < 4; seq += 1)
      await log.append('s', 2 * seq, [{ type: 'test/entry', data: text }, one])
    const entries = await log.read('s')
    expect(entries.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    expect(await log.read('s', { afterSeq: 2, limit: 3 })).toEqual(entries.slice(2, 5))
  })
})
