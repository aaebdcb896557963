import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { databaseUrl, dropSchemas, newSchema } from '../../../durable-log/tests/support/postgres.ts'
import { systemClock } from '../../src/clock.ts'
import { BossJobs } from '../../src/engines/boss-jobs.ts'
import { EmbeddedLanes } from '../../src/engines/embedded-lanes.ts'
import { PgBossLanes } from '../../src/engines/pg-boss-lanes.ts'
import { laneEngineContract } from '../../src/testing/index.ts'

let connectionString = ''
const schemas: string[] = []

beforeAll(async () => {
  connectionString = await databaseUrl()
})

afterAll(() => dropSchemas(connectionString, schemas))

laneEngineContract(
  { describe, it },
  'embedded',
  async (settings) => ({
    host: async () => new EmbeddedLanes(settings),
    close: async () => undefined,
  }),
  { isShared: false },
)

laneEngineContract(
  { describe, it },
  'pg-boss',
  async ({ widths, ageMs, perTarget }) => {
    const schema = newSchema()
    schemas.push(schema)
    return {
      host: async () => {
        const hostId = randomUUID()
        const heartbeatMs = 10_000
        const onError = (): void => undefined
        const jobs = await BossJobs.open({
          connectionString,
          schema,
          widths,
          ageMs,
          heartbeatMs,
          hostId,
          onError,
        })
        return new PgBossLanes({
          jobs,
          clock: systemClock,
          hostId,
          heartbeatMs,
          pollMs: 50,
          lanes: [...widths.keys(), ...perTarget],
          perHost: new Map(),
          homeOf: () => undefined,
          open: () => [],
        })
      },
      close: async () => undefined,
    }
  },
  { isShared: true },
)
