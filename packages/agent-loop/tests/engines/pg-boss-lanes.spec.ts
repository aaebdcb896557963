/** What holds of the lanes over hosts beyond the contract of every engine. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { cutProxy } from '../../../durable-log/tests/support/cut-proxy.ts'
import { databaseUrl, dropSchemas, newSchema, query } from '../../../durable-log/tests/support/postgres.ts'
import { backgroundClock, type Clock } from '../../src/clock.ts'
import { BossJobs, priorityOf } from '../../src/engines/boss-jobs.ts'
import { LaneSeat, type LaneWish } from '../../src/engines/lane-engine.ts'
import { PgBossLanes, type PgBossLanesOptions } from '../../src/engines/pg-boss-lanes.ts'
import { until } from '../support/until.ts'

const WISH: LaneWish = { lane: 'main', level: 1 }
const HEARTBEAT_MS = 10_000
let connectionString = ''
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

/** Everything that is waited for comes twenty times as soon, and time passes twenty times as fast. */
const hasty: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now() * 20,
  after: (delayMs, callback) => backgroundClock.after(delayMs / 20, callback),
}

interface HostOptions extends Partial<Pick<PgBossLanesOptions, 'perHost' | 'homeOf' | 'open' | 'clock'>> {
  readonly url?: string
  /** What the host finds to do when a session's turn comes of which it does not know. */
  readonly todo?: ReadonlySet<string>
}

async function openHost(schema: string, options: HostOptions = {}) {
  const { url = connectionString, todo, ...rest } = options
  const hostId = randomUUID()
  const jobs = await BossJobs.open({
    connectionString: url,
    schema,
    hostId,
    widths: new Map([['main', 100]]),
    ageMs: 30_000,
    heartbeatMs: HEARTBEAT_MS,
    onError: () => undefined,
  })
  const engine = new PgBossLanes({
    jobs,
    hostId,
    clock: backgroundClock,
    lanes: ['main'],
    perHost: new Map(),
    heartbeatMs: HEARTBEAT_MS,
    pollMs: 50,
    homeOf: () => undefined,
    open: () => [],
    ...rest,
  })
  onTestFinished(() => engine.close())
  const running = new Map<string, LaneSeat>()
  const lost: string[] = []
  const told: string[] = []
  const want = (sessionId: string): void => engine.want(new LaneSeat(sessionId), WISH, Date.now())
  engine.connect({
    stirred: () => {
      for (let seat = engine.next(); seat !== undefined; seat = engine.next())
        running.set(seat.id, seat as LaneSeat)
    },
    summoned: async (sessionId) => {
      told.push(sessionId)
      if (todo?.has(sessionId) === true) want(sessionId)
    },
    lost: (sessionId) => lost.push(sessionId),
    warn: () => undefined,
  })
  const finish = (sessionId: string): void => {
    const seat = running.get(sessionId)
    running.delete(sessionId)
    if (seat !== undefined) engine.finish(seat)
  }
  return { engine, jobs, hostId, running, lost, told, want, finish }
}

async function statesOf(schema: string): Promise<Record<string, number>> {
  const rows = await query<{ state: string; count: number }>(
    connectionString,
    `SELECT state::text, count(*)::int AS count FROM ${schema}.job WHERE starts_with(name, 'lane/') GROUP BY state`,
  )
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
}

/** Takes away the signs of life of the first attempts until something is so. */
async function silence(
  schema: string,
  isSo: () => boolean,
  look: () => Promise<void> = async () => undefined,
): Promise<void> {
  while (!isSo()) {
    const [job] = await query<{ isSilent: boolean }>(
      connectionString,
      `SELECT heartbeat_on < now() - interval '30 seconds' AS "isSilent" FROM ${schema}.job
       WHERE state = 'active' AND retry_count = 0`,
    )
    // A sign of life may come before the supervisor has looked: then once more.
    if (job?.isSilent === false) {
      await query(
        connectionString,
        `UPDATE ${schema}.job SET heartbeat_on = now() - interval '1 minute' WHERE state = 'active' AND retry_count = 0`,
      )
    }
    await look()
  }
}

describe('a turn under way', () => {
  it('passes to another host when its own gives no sign of life, which is told that it lost it', async () => {
    const schema = schemaOfTest()
    const silent = await openHost(schema, { perHost: new Map([['main', 1]]) })
    silent.want('a')
    await until(() => silent.running.has('a'))
    const other = await openHost(schema, { todo: new Set(['a']) })
    await silence(schema, () => other.running.has('a'))
    await until(() => silent.lost.includes('a'), 'the first one is told')
    // What the first one ends then is not the other one's turn.
    silent.finish('a')
    await silent.engine.close()
    expect(await statesOf(schema)).toMatchObject({ active: 1 })
  })

  it('goes on where nobody else took it meanwhile', async () => {
    const schema = schemaOfTest()
    const host = await openHost(schema)
    host.want('a')
    await until(() => host.running.has('a'))
    const attempts = async () => {
      const [job] = await query<{ count: number }>(
        connectionString,
        `SELECT retry_count AS count FROM ${schema}.job WHERE state = 'active'`,
      )
      return job?.count ?? 0
    }
    let again = 0
    await silence(
      schema,
      () => again > 0,
      async () => void (again = await attempts()),
    )
    host.finish('a')
    let states = await statesOf(schema)
    while (states['active'] !== undefined) states = await statesOf(schema)
    expect(states).toEqual({ completed: 1 })
  })

  it.each(['cut', 'freeze'] as const)(
    'is let go of where a %s keeps its host from a sign of life, and only then',
    async (fault) => {
      const schema = schemaOfTest()
      const { hostname, port } = new URL(connectionString)
      const proxy = await cutProxy({ host: hostname, port: Number(port) })
      onTestFinished(() => proxy.close())
      const url = new URL(connectionString)
      url.hostname = '127.0.0.1'
      url.port = String(proxy.port)
      const host = await openHost(schema, { url: url.href, clock: hasty })
      host.want('a')
      await until(() => host.running.has('a'))
      proxy[fault]()
      await until(() => host.lost.includes('a'), 'it lets go')
      proxy.mend()
      host.finish('a')
      host.want('b')
      await until(() => host.running.has('b'), 'it goes on when the database is back')
      expect(host.lost).toEqual(['a'])
    },
  )
})

describe('a session', () => {
  it('is given to its own host as long as that lives, and then to any', async () => {
    const schema = schemaOfTest()
    const todo = new Set(['a', 'b'])
    const home = await openHost(schema, { todo, homeOf: () => home.hostId, perHost: new Map([['main', 0]]) })
    const other = await openHost(schema, { todo })
    home.want('a')
    other.want('b')
    await until(() => other.running.has('b'), 'the other one works')
    expect(other.told).not.toContain('a')
    home.engine.pause()
    await until(() => other.running.has('a'), 'the other one has both')
  })

  it('is asked for again, rarely, when its turn was lost, and not when it waits or runs', async () => {
    const schema = schemaOfTest()
    const open = ['waits', 'runs', 'lost'].map((sessionId) => ({ sessionId, wish: WISH }))
    const others = await openHost(schema, { perHost: new Map([['main', 1]]) })
    others.want('runs')
    await until(() => others.running.has('runs'))
    others.want('waits')
    await until(() => others.running.size === 1)
    const host = await openHost(schema, { open: () => open, clock: hasty, perHost: new Map([['main', 0]]) })
    const keys = async () =>
      (
        await query<{ key: string }>(
          connectionString,
          `SELECT singleton_key AS key FROM ${schema}.job WHERE starts_with(name, 'lane/') ORDER BY 1`,
        )
      ).map(({ key }) => key)
    while (!(await keys()).includes('lost'));
    expect(await keys()).toEqual(['lost', 'runs', 'waits'])
    await host.engine.close()
  })

  it('whose name no database key takes waits like any other', async () => {
    const schema = schemaOfTest()
    const host = await openHost(schema)
    for (const name of ['with space', 'ünï', 'a/b', 'x'.repeat(3_000)]) host.want(name)
    await until(() => host.running.size === 4)
    for (const name of host.running.keys()) host.finish(name)
    let states = await statesOf(schema)
    while (states['active'] !== undefined) states = await statesOf(schema)
    expect(states).toEqual({ completed: 4 })
  })
})

describe('a host', () => {
  it('has as many turns as it may have at a time, whatever the lane would give', async () => {
    const schema = schemaOfTest()
    const host = await openHost(schema, { perHost: new Map([['main', 2]]) })
    for (let session = 0; session < 5; session += 1) host.want(`s${session}`)
    const served: string[] = []
    while (served.length < 5) {
      await until(() => host.running.size > 0)
      expect(host.running.size).toBeLessThanOrEqual(2)
      for (const id of host.running.keys()) {
        served.push(id)
        host.finish(id)
      }
    }
  })

  it('says why when it cannot reach its database, and leaves nothing open', async () => {
    const unreachable = new URL(connectionString)
    unreachable.port = '1'
    await expect(openHost(schemaOfTest(), { url: unreachable.href })).rejects.toThrow(/ECONNREFUSED/u)
  })
})

describe('the order of jobs', () => {
  const at = Date.UTC(2027, 0, 1)

  it('is that of waiting, where one priority is worth as much as so long a wait', () => {
    const order = [
      priorityOf(2, at, 30_000),
      priorityOf(1, at - 10_000, 30_000),
      priorityOf(1, at, 30_000),
      priorityOf(0, at - 10_000, 30_000),
      priorityOf(0, at, 30_000),
    ]
    expect(order.toSorted((left, right) => right - left)).toEqual(order)
    expect(priorityOf(0, at - 40_000, 30_000)).toBeGreaterThan(priorityOf(1, at, 30_000))
  })

  it('fits into what the database has for it, for any clock', () => {
    for (const since of [0, Date.UTC(2093, 0, 1), Number.MAX_SAFE_INTEGER]) {
      expect(Math.abs(priorityOf(2, since, 30_000))).toBeLessThan(2 ** 31)
    }
  })
})
