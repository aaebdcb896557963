import { afterAll, beforeAll, expect, it } from 'vitest'
import { postgresLog } from '../src/index.ts'
import { databaseUrl, dropSchemas, newSchema, query } from './support/postgres.ts'

const entry = { type: 'a', data: { n: 1 } }
const schema = newSchema()
const missing = newSchema()
let connectionString: string

beforeAll(async () => {
  connectionString = await databaseUrl()
}, 120_000)

afterAll(() => dropSchemas(connectionString, [schema, missing]))

it('reads what a writer has committed, and refuses every write', async () => {
  await using writer = closing(postgresLog({ connectionString, schema }))
  await using reader = closing(postgresLog({ connectionString, schema, readOnly: true }))
  await writer.log.append('s', 0, [entry])
  await writer.log.saveSnapshot('s', 1, { n: 1 })
  expect(await reader.log.read('s')).toMatchObject([{ seq: 1, data: { n: 1 } }])
  expect(await reader.log.loadSnapshot('s')).toMatchObject({ seq: 1 })
  const refusal = { code: 'unavailable', message: expect.stringContaining('for reading only') }
  await expect(reader.log.append('s', 1, [entry])).rejects.toMatchObject(refusal)
  await expect(reader.log.saveSnapshot('s', 1, null)).rejects.toMatchObject(refusal)
  await expect(reader.log.remove('s')).rejects.toMatchObject(refusal)
  expect((await reader.log.list()).streams).toEqual([{ stream: 's', seq: 1 }])
})

it('makes no schema where there is none', async () => {
  await using reader = closing(
    postgresLog({ connectionString, schema: missing, readOnly: true, patienceMs: 0 }),
  )
  await expect(reader.log.list()).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('holds no log yet'),
  })
  const found = await query(connectionString, 'SELECT 1 FROM pg_namespace WHERE nspname = $1', [missing])
  expect(found).toEqual([])
})

function closing<T extends { close(): Promise<void> }>(log: T): { log: T } & AsyncDisposable {
  return { log, [Symbol.asyncDispose]: () => log.close() }
}
