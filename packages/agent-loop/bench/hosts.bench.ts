/**
 * Lanes over several hosts, on one PostgreSQL server that syncs every commit.
 *
 * [pg-boss-lanes] 1,000 sessions that wait for a turn in which nothing is done, in a lane of eight: turns
 * a second, over those of eight workers of bare pg-boss that fetch and complete the same jobs.
 *
 * [pg-boss-hosts] Turns that wait 100 ms as for a model, eight at a time on a host: turns a second of
 * four hosts over those of one. All hosts are in one process, which is the harder case.
 *
 * `DATABASE_URL` selects a server; else one is started. Rounds of both sides alternate.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { PgBoss } from 'pg-boss'
import { Client } from 'pg'
import { rateFigureOf, type BenchFigure } from '../../../scripts/figures.ts'
import { startPostgres } from '../../durable-log/tests/support/postgres-server.ts'
import { backgroundClock } from '../src/clock.ts'
import { BossJobs, type Summons } from '../src/engines/boss-jobs.ts'
import { LaneSeat, type LaneWish } from '../src/engines/lane-engine.ts'
import { PgBossLanes } from '../src/engines/pg-boss-lanes.ts'

const ROUNDS = 5
const SESSIONS = 1_000
const WIDTH = 8
const MODEL_MS = 100
const TURNS = 400
const WISH: LaneWish = { lane: 'main', level: 1 }

export async function run(): Promise<BenchFigure[]> {
  const outside = process.env['DATABASE_URL']
  const server = outside === undefined || outside === '' ? await startPostgres() : undefined
  const connectionString = server?.url ?? outside ?? ''
  const schemas: string[] = []
  const newSchema = (): string => {
    const schema = `bench_${randomBytes(6).toString('hex')}`
    schemas.push(schema)
    return schema
  }
  try {
    const lanes: number[] = []
    const bare: number[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      lanes.push(await throughLanes(connectionString, newSchema()))
      bare.push(await throughBoss(connectionString, newSchema()))
    }
    const four: number[] = []
    const one: number[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      one.push(await onHosts(connectionString, newSchema(), 1))
      four.push(await onHosts(connectionString, newSchema(), 4))
    }
    return [
      rateFigureOf('pg-boss-lanes', 'turns/s', {
        ours: lanes,
        base: bare,
        baseline: 'pg-boss alone, fetch and complete',
        each: SESSIONS,
      }),
      rateFigureOf('pg-boss-hosts four', 'turns/s', {
        ours: four,
        base: one,
        baseline: 'one host',
        each: TURNS,
      }),
    ]
  } finally {
    const client = new Client({ connectionString })
    await client.connect()
    for (const schema of schemas) await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    await client.end()
    await server?.stop()
  }
}

async function openJobs(
  connectionString: string,
  schema: string,
  width: number,
): Promise<{ jobs: BossJobs; hostId: string }> {
  const hostId = randomUUID()
  const jobs = await BossJobs.open({
    connectionString,
    schema,
    hostId,
    widths: new Map([['main', width]]),
    ageMs: 30_000,
    heartbeatMs: 10_000,
    onError: (error) => console.warn(error.message),
  })
  return { jobs, hostId }
}

/** A host that gives every session it is told of its turn, and does `work` in it. */
function hostOf(
  { jobs, hostId }: { jobs: BossJobs; hostId: string },
  perHost: number,
  work: (sessionId: string) => Promise<void>,
): PgBossLanes {
  const engine = new PgBossLanes({
    jobs,
    hostId,
    clock: backgroundClock,
    lanes: ['main'],
    perHost: new Map([['main', perHost]]),
    heartbeatMs: 10_000,
    homeOf: () => undefined,
    open: () => [],
  })
  engine.connect({
    stirred: () => {
      for (let seat = engine.next(); seat !== undefined; seat = engine.next()) {
        const given = seat
        void work(given.id).then(() => engine.finish(given))
      }
    },
    summoned: async (sessionId) => engine.want(new LaneSeat(sessionId), WISH, Date.now()),
    lost: (sessionId) => console.warn(`${sessionId} lost its turn`),
    warn: (text) => console.warn(text),
  })
  return engine
}

/** So many sessions that any host may serve. */
function waiting(count: number): readonly Summons[] {
  return Array.from({ length: count }, (_, session) => ({
    ...WISH,
    sessionId: `s${session}`,
    host: undefined,
    since: Date.now(),
  }))
}

/** @returns turns a second. */
async function throughLanes(connectionString: string, schema: string): Promise<number> {
  const host = await openJobs(connectionString, schema, WIDTH)
  await host.jobs.ask(waiting(SESSIONS))
  const done = Promise.withResolvers<void>()
  let turns = 0
  const began = performance.now()
  const engine = hostOf(host, WIDTH, async () => {
    turns += 1
    if (turns === SESSIONS) done.resolve()
  })
  await done.promise
  const rate = (SESSIONS / (performance.now() - began)) * 1000
  await engine.close()
  return rate
}

async function throughBoss(connectionString: string, schema: string): Promise<number> {
  const boss = new PgBoss({ connectionString, schema, schedule: false, max: WIDTH })
  boss.on('error', (error) => console.warn(error.message))
  await boss.start()
  await boss.createQueue('main', { policy: 'key_strict_fifo', heartbeatSeconds: 10 })
  await boss.insert(
    'main',
    Array.from({ length: SESSIONS }, (_, session) => ({
      data: { sessionId: `s${session}` },
      singletonKey: `s${session}`,
    })),
  )
  const began = performance.now()
  const worker = async (): Promise<void> => {
    for (;;) {
      const [job] = await boss.fetch('main')
      if (job === undefined) return
      await boss.complete('main', job)
    }
  }
  await Promise.all(Array.from({ length: WIDTH }, worker))
  const rate = (SESSIONS / (performance.now() - began)) * 1000
  await boss.stop({ graceful: false })
  return rate
}

/** @returns turns a second of all hosts. */
async function onHosts(connectionString: string, schema: string, count: number): Promise<number> {
  const hosts = []
  for (let host = 0; host < count; host += 1) hosts.push(await openJobs(connectionString, schema, 1_000))
  const total = TURNS * count
  await hosts[0]?.jobs.ask(waiting(total))
  const done = Promise.withResolvers<void>()
  let turns = 0
  const began = performance.now()
  const engines = hosts.map((host) =>
    hostOf(host, WIDTH, async () => {
      await wait(MODEL_MS)
      turns += 1
      if (turns === total) done.resolve()
    }),
  )
  await done.promise
  const rate = (total / (performance.now() - began)) * 1000
  await Promise.all(engines.map((engine) => engine.close()))
  return rate
}
