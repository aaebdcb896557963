import { afterAll, beforeAll, describe, it } from 'vitest'
import { postgresLog } from '../src/index.ts'
import { durableLogContract, faultyLog } from '../src/testing/index.ts'
import { databaseUrl, dropSchemas, newSchema } from './support/postgres.ts'

let connectionString = ''
const schemas: string[] = []

beforeAll(async () => {
  connectionString = await databaseUrl()
})

afterAll(() => dropSchemas(connectionString, schemas))

function open() {
  const schema = newSchema()
  schemas.push(schema)
  return postgresLog({ connectionString, schema, pollIntervalMs: 50 })
}

durableLogContract({ describe, it }, 'PostgreSQL, closed and opened again', () => {
  const log = open()
  const schema = schemas.at(-1) ?? ''
  return {
    log,
    reopen: async () => {
      await log.close()
      return postgresLog({ connectionString, schema })
    },
  }
})

durableLogContract(
  { describe, it },
  'a faulty PostgreSQL log with an empty plan, the first host still connected',
  () => {
    const log = faultyLog(open())
    const schema = schemas.at(-1) ?? ''
    return { log, reopen: async () => faultyLog(postgresLog({ connectionString, schema })) }
  },
)
