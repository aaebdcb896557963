import { postgresLog } from 'dsh-durable-log'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { databaseUrl, dropSchemas, newSchema } from '../../durable-log/tests/support/postgres.ts'
import { graphControlStoreContract, graphStoreOnLog } from '../src/testing/index.ts'

let connectionString = ''
const schemas: string[] = []

beforeAll(async () => {
  connectionString = await databaseUrl()
})

afterAll(() => dropSchemas(connectionString, schemas))

/** Every write of every clause takes minutes on a server: `GRAPH_CONTRACT=all` asks for them. */
const options = process.env['GRAPH_CONTRACT'] === 'all' ? {} : { failingWrites: 1 }

graphControlStoreContract(
  { describe, it },
  'PostgreSQL, the first host still connected',
  graphStoreOnLog(() => {
    const schema = newSchema()
    schemas.push(schema)
    const open = () => postgresLog({ connectionString, schema, poolSize: 2 })
    return { log: open(), reopen: async () => open() }
  }),
  options,
)
