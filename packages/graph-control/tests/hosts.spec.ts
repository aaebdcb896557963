/** Several hosts on one database: each has a log and a store of its own, and nothing else in common. */
import { Context } from '@deepseek-ai/cordis'
import { type DurableLog, type LeaseStore, leaseStore, postgresLog, type ProcessState } from 'dsh-durable-log'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { databaseUrl, dropSchemas, newSchema, query } from '../../durable-log/tests/support/postgres.ts'
import * as graphControl from '../src/index.ts'
import { GraphControlStore } from '../src/index.ts'
import { begin, claim, commit, GRAPH, graph, refusal, refusedAs, ROOT, settlement, work } from './fixture.ts'

const ENV = 'GRAPH_CONTROL_TEST_DATABASE'
let connectionString = ''
let pids = 1000
const schemas: string[] = []

beforeAll(async () => {
  connectionString = await databaseUrl()
})

afterAll(() => dropSchemas(connectionString, schemas))

function schemaOfTest(): string {
  const schema = newSchema()
  schemas.push(schema)
  return schema
}

async function openHost(schema: string): Promise<{ log: DurableLog; store: GraphControlStore }> {
  // The poll is far away: what is heard in a test came as a notice.
  const log = postgresLog({ connectionString, schema, pollIntervalMs: 600_000 })
  const store = await GraphControlStore.open(log)
  onTestFinished(async () => {
    await store.close()
    await log.close()
  })
  return { log, store }
}

/** Leases as a host of their own sees them, whose look at other processes says `state`. */
function leasesOf(log: DurableLog, state: ProcessState): LeaseStore {
  const self = { pid: ++pids, startedAt: '1', bootId: 'b', machineId: 'm', pidSpace: 's' }
  return leaseStore({ log, processes: { self, stateOf: () => state } })
}

describe('two hosts on one database', () => {
  it('see each other commit, within one notice for each', async () => {
    const schema = schemaOfTest()
    const [one, other] = [await openHost(schema), await openHost(schema)]
    const told: number[] = []
    other.log.subscribe(`graph/${GRAPH}`, ({ seq }) => void told.push(seq))
    await vi.waitUntil(
      async () => {
        const sql = 'SELECT 1 FROM pg_stat_activity WHERE query = $1'
        return (await query(connectionString, sql, [`LISTEN "${schema}_news"`])).length > 0
      },
      { timeout: 10_000 },
    )
    const isTold = (seq: number) => vi.waitUntil(() => told.includes(seq), { timeout: 10_000 })
    // Opening the epoch is a commit of its own.
    await one.store.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
    await isTold(1)
    for (const [at, call] of ['c1', 'c2', 'c3'].entries()) {
      told.length = 0
      await commit(one.store, call, { addWork: [work(call)] })
      const { seq } = await graph(one.store)
      await isTold(seq)
      expect(told).toEqual([seq])
      expect(await graph(other.store)).toMatchObject({ seq, revision: at + 1 })
    }
  })

  it('serve different roots, and one root from both without doing a thing twice', async () => {
    const schema = schemaOfTest()
    const [one, other] = [await openHost(schema), await openHost(schema)]
    await one.store.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
    await commit(one.store, 'c1', { addWork: [work('a'), work('b')] })
    await graph(other.store)
    // Both admit the same work at once: one claim, which both know of.
    const claims = await Promise.all([claim(one.store, 'a'), claim(other.store, 'a')])
    expect(claims[0].claimId).toBe(claims[1].claimId)
    expect((await one.store.listAgentGraphIntentClaims(GRAPH)).length).toBe(1)
    await begin(other.store, 'b')
    expect(await one.store.settleActivation(settlement('b'))).toMatchObject({ created: true })
    expect(await other.store.settleActivation(settlement('b'))).toMatchObject({ created: false })
  })

  it('pass a root on when its holder is gone, and refuse what the old holder still commits', async () => {
    const schema = schemaOfTest()
    const [one, other] = [await openHost(schema), await openHost(schema)]
    await one.store.advanceEpoch({ rootSessionId: ROOT, expectedEpoch: 0 })
    await commit(one.store, 'c1', { addWork: [work('a'), work('b')] })
    const held = await leasesOf(one.log, 'alive').acquire(ROOT)
    const first = one.store.leased(held)
    await begin(one.store, 'a')
    await first.takeGraph(GRAPH)
    // Refused while its process lives; where it runs, the other host can tell.
    await expect(leasesOf(other.log, 'alive').acquire(ROOT)).rejects.toMatchObject({ code: 'lease-held' })
    const second = other.store.leased(await leasesOf(other.log, 'dead').acquire(ROOT))
    await second.takeGraph(GRAPH)
    // The old holder has not heard of it: its own clock says that it holds the lease.
    expect(held.isHeld()).toBe(true)
    expect(await refusal(other.store, () => first.settleActivation(settlement('a')))).toMatchObject(
      refusedAs('lease-lost'),
    )
    expect(await second.settleActivation(settlement('a'))).toMatchObject({ created: true })
    expect((await graph(one.store)).works.get('a')?.status).toBe('completed')
  })
})

describe('the row with a database of its own', () => {
  it('keeps graphs there, and names the variable that is missing', async () => {
    const schema = schemaOfTest()
    const mount = async () => {
      const ctx = new Context()
      onTestFinished(() => ctx.fiber.dispose())
      await ctx.plugin(graphControl, { backend: 'postgres', connectionEnv: ENV, schema })
      return ctx.get('graphControl') as GraphControlStore
    }
    await expect(mount()).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining(ENV) as string,
    })
    vi.stubEnv(ENV, connectionString)
    onTestFinished(() => void vi.unstubAllEnvs())
    const store = await mount()
    await commit(store, 'c1', { addWork: [work('a')] })
    expect((await graph(await mount())).works.get('a')?.status).toBe('ready')
  })
})
