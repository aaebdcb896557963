import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { postgresLog, type PostgresLogOptions } from '../src/index.ts'
import { cutProxy } from './support/cut-proxy.ts'
import { databaseUrl, dropSchemas, newSchema, query } from './support/postgres.ts'

let connectionString = ''
const schemas: string[] = []
const one = { type: 'test/entry', data: 1 }

beforeAll(async () => {
  connectionString = await databaseUrl()
})

afterAll(() => dropSchemas(connectionString, schemas))

async function openLog(options: Partial<PostgresLogOptions> = {}) {
  const schema = newSchema()
  schemas.push(schema)
  const log = postgresLog({ connectionString, schema, ...options })
  onTestFinished(() => log.close())
  await log.list()
  await query(connectionString, `CREATE TABLE ${schema}.notes (text text PRIMARY KEY)`)
  const note = (text: string) => `INSERT INTO ${schema}.notes VALUES ('${text}')`
  const notes = async () =>
    (await query(connectionString, `SELECT text FROM ${schema}.notes ORDER BY text`)).map(
      (row) => (row as { text: string }).text,
    )
  const { appendWith } = log
  if (appendWith === undefined) throw new Error('a log in PostgreSQL appends in one transaction with others')
  return { log, note, notes, appendWith: appendWith.bind(log) }
}

describe('an append in one transaction with work of somebody else', () => {
  it('stores both, in the order of the calls', async () => {
    const { log, appendWith, note, notes } = await openLog()
    const before = log.append('a', 0, [one])
    const both = appendWith('a', 1, [one, one], async (execute) => void (await execute(note('x'))))
    const behind = log.append('a', 3, [one])
    expect(await Promise.all([before, both, behind])).toEqual([1, 3, 4])
    expect(await notes()).toEqual(['x'])
  })

  it('stores neither when the stream is elsewhere', async () => {
    const { log, appendWith, note, notes } = await openLog()
    await log.append('a', 0, [one])
    const refused = appendWith('a', 0, [one], async (execute) => void (await execute(note('x'))))
    await expect(refused).rejects.toMatchObject({ code: 'conflict', currentSeq: 1 })
    expect(await notes()).toEqual([])
    expect(await log.append('a', 1, [one])).toBe(2)
  })

  it('stores neither when the work fails, and throws what it threw', async () => {
    const { log, appendWith, note, notes } = await openLog()
    const refused = appendWith('a', 0, [one], async (execute) => {
      await execute(note('x'))
      throw new RangeError('not like this')
    })
    await expect(refused).rejects.toThrow(RangeError)
    const doubled = appendWith('a', 0, [one], async (execute) => {
      await execute(note('x'))
      await execute(note('x'))
    })
    await expect(doubled).rejects.toMatchObject({ code: '23505' })
    expect(await notes()).toEqual([])
    expect(await log.read('a')).toEqual([])
  })

  it('does nothing when it was aborted before it began', async () => {
    const { appendWith, note, notes } = await openLog()
    const refused = appendWith('a', 0, [one], async (execute) => void (await execute(note('x'))), {
      signal: AbortSignal.abort(),
    })
    await expect(refused).rejects.toMatchObject({ code: 'aborted' })
    expect(await notes()).toEqual([])
  })

  it('begins anew when the connection breaks before the commit, and tells listeners once', async () => {
    const url = new URL(connectionString)
    const proxy = await cutProxy({ host: url.hostname, port: Number(url.port) })
    onTestFinished(() => proxy.close())
    url.hostname = '127.0.0.1'
    url.port = String(proxy.port)
    const { log, appendWith, note, notes } = await openLog({ connectionString: url.href })
    const heard: number[] = []
    log.subscribe('', ({ seq }) => heard.push(seq))
    let times = 0
    const seq = await appendWith('a', 0, [one], async (execute) => {
      await execute(note('x'))
      times += 1
      if (times > 1) return
      proxy.cut()
      proxy.mend()
    })
    expect({ seq, times, notes: await notes() }).toEqual({ seq: 1, times: 2, notes: ['x'] })
    expect(heard).toEqual([1])
  })

  it('lets go of what it has locked when its process stands still, and begins anew', async () => {
    const { appendWith, note, notes } = await openLog()
    const lock = 'SELECT pg_advisory_xact_lock(20261201)'
    let times = 0
    const seq = await appendWith('a', 0, [one], async (execute) => {
      await execute(lock)
      await execute(note('x'))
      times += 1
      // Answered only when the server has ended the transaction that holds the lock.
      if (times === 1) await query(connectionString, lock)
    })
    expect({ seq, times, notes: await notes() }).toEqual({ seq: 1, times: 2, notes: ['x'] })
  })
})
