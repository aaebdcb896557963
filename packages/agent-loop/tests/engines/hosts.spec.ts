/** Several hosts on one database and one folder of sessions, each with a world of its own. */
import { postgresLog } from 'dsh-durable-log'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { databaseUrl, dropSchemas, newSchema, query } from '../../../durable-log/tests/support/postgres.ts'
import { backgroundClock, type Clock } from '../../src/clock.ts'
import type { Config } from '../../src/config.ts'
import { until } from '../support/until.ts'
import { temporaryFolder, typed, World } from '../support/world.ts'

const ENV = 'AGENT_LOOP_TEST_DATABASE'
let connectionString = ''
const schemas: string[] = []

beforeAll(async () => {
  connectionString = await databaseUrl()
  process.env[ENV] = connectionString
})

afterAll(() => dropSchemas(connectionString, schemas))

/** The system's, but everything that is waited for comes twenty times as soon. */
const hasty: Clock = {
  ...backgroundClock,
  after: (delayMs, callback) => backgroundClock.after(delayMs / 20, callback),
}

class Cluster {
  readonly schema = newSchema()
  readonly lanes = newSchema()
  readonly worlds: World[] = []
  private readonly sessions: string
  private readonly config: Partial<Config>

  private constructor(sessions: string, config: Partial<Config>) {
    this.sessions = sessions
    this.config = config
    schemas.push(this.schema, this.lanes)
  }

  static async of(count: number, config: Partial<Config> = {}): Promise<Cluster> {
    const cluster = new Cluster(await temporaryFolder(), config)
    for (let host = 0; host < count; host += 1) await cluster.boot()
    return cluster
  }

  async boot(background: Clock = hasty): Promise<World> {
    const log = postgresLog({ connectionString, schema: this.schema })
    onTestFinished(() => log.close())
    const pgBoss = { connectionEnv: ENV, schema: this.lanes, heartbeatMs: 10_000, pollMs: 200 }
    const world = await World.boot({
      log,
      sessions: this.sessions,
      background,
      config: { engine: 'pg-boss', pgBoss, recover: 'all', ...this.config },
    })
    this.worlds.push(world)
    return world
  }

  /** The worlds in which the model works, by the number of their host. */
  working(): readonly number[] {
    return this.worlds.flatMap(({ model }, host) => model.calls.map(() => host))
  }

  async jobs(): Promise<Record<string, number>> {
    const rows = await query<{ state: string; count: number }>(
      connectionString,
      `SELECT state::text, count(*)::int AS count FROM ${this.lanes}.job WHERE starts_with(name, 'lane/') GROUP BY state`,
    )
    return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
  }
}

/** A session that nobody opened yet; whoever runs its first run makes it. */
async function accept(world: World, key: string, message: string, more: object = {}) {
  const request = { sessionKey: key, model: { provider: 'gate', model: 'm' }, message, ...more }
  return await world.host.accept({ idempotencyKey: `key of ${message}`, ...request })
}

/** The model call for a prompt, at whichever host it is made. */
async function callFor({ worlds }: Cluster, prompt: string) {
  const find = () =>
    worlds.flatMap(({ model }, host) =>
      model.calls.filter((call) => call.prompt === prompt).map((call) => ({ call, host })),
    )
  await until(() => find().length > 0, `a call for ${prompt}`)
  const [found] = find()
  if (found === undefined) throw new Error('the call vanished')
  return found
}

const wait = (world: World | undefined, runId: string) => world?.host.wait({ runId, timeoutMs: 20_000 })

describe('lanes over several hosts', () => {
  it('run what any of them accepted, once, and every one of them can tell how it went', async () => {
    const cluster = await Cluster.of(2)
    const [one, other] = cluster.worlds
    for (const { model } of cluster.worlds) model.auto = ({ prompt }) => `to ${prompt}`
    const runs = await Promise.all(
      cluster.worlds.flatMap((world, host) =>
        ['a', 'b', 'c'].map((name) => accept(world, `${name}${host}`, `${name}${host}`)),
      ),
    )
    for (const { runId } of runs) {
      for (const world of [one, other]) expect(await wait(world, runId)).toMatchObject({ status: 'ok' })
    }
    expect(cluster.working()).toHaveLength(6)
    await until(() => cluster.worlds.every(({ host }) => host.lanes().length === 0))
    for (;;) {
      const { created = 0, active = 0, retry = 0 } = await cluster.jobs()
      if (created + active + retry === 0) break
    }
  })

  it('keep one width, and one turn a session', async () => {
    const cluster = await Cluster.of(3, { lanes: { main: { width: 2 } } })
    const [one] = cluster.worlds
    const runs = await Promise.all(
      Array.from({ length: 9 }, (_, index) => {
        const world = cluster.worlds[index % 3]
        if (world === undefined) throw new Error('no such host')
        return accept(world, `s${index % 3}`, `m${index}`)
      }),
    )
    const open = () =>
      cluster.worlds.flatMap(({ model }) => model.calls.filter((call) => !answered.has(call)))
    const answered = new Set<unknown>()
    while (answered.size < 9) {
      await until(() => open().length > 0, 'a call')
      expect(open().length).toBeLessThanOrEqual(2)
      expect(new Set(open().map(({ sessionId }) => sessionId)).size).toBe(open().length)
      for (const call of open()) {
        answered.add(call)
        call.reply('done')
      }
    }
    for (const { runId } of runs) expect(await wait(one, runId)).toMatchObject({ status: 'ok' })
  })

  it('keep the order of a session whose messages come by different hosts', async () => {
    const cluster = await Cluster.of(2)
    const [one, other] = cluster.worlds
    if (one === undefined || other === undefined) throw new Error('no hosts')
    const told: string[] = []
    for (const { model } of cluster.worlds) {
      model.auto = ({ prompt }) => {
        told.push(prompt)
        return prompt
      }
    }
    const names = Array.from({ length: 10 }, (_, index) => `m${index}`)
    const runs: string[] = []
    for (const [index, name] of names.entries()) {
      runs.push((await accept(index % 2 === 0 ? one : other, 's', name)).runId)
    }
    const ends = await Promise.all(runs.map((runId) => wait(one, runId)))
    expect(ends.map((end) => end?.reply ?? end)).toEqual(names)
    expect(told).toEqual(names)
  })

  it('answer the same key with the same run, also when it is given to two of them at once', async () => {
    const cluster = await Cluster.of(2)
    for (const { model } of cluster.worlds) model.auto = () => 'once'
    const twice = await Promise.all(cluster.worlds.map((world) => accept(world, 's', 'm')))
    expect(new Set(twice.map(({ runId }) => runId)).size).toBe(1)
    expect(await wait(cluster.worlds[1], twice[0]?.runId ?? '')).toMatchObject({ status: 'ok' })
    expect(cluster.working()).toHaveLength(1)
  })

  it('bring an abort, a steer and an interrupt to the host that runs the session', async () => {
    const cluster = await Cluster.of(2)
    const [one] = cluster.worlds
    if (one === undefined) throw new Error('no host')
    const first = await accept(one, 's', 'first')
    const { call, host } = await callFor(cluster, 'first')
    const elsewhere = cluster.worlds[1 - host]
    if (elsewhere === undefined) throw new Error('no other host')
    const steered = await accept(elsewhere, 's', 'and this', { queueMode: 'steer' })
    const agent = cluster.worlds[host]?.ctx.agents.list()[0]
    await until(() => agent?.inbox.nextStep.length === 1, 'the steer')
    call.reply('first thoughts')
    const both = await callFor(cluster, 'and this')
    expect(both).toMatchObject({ host, call: { prompts: ['first', 'and this'] } })
    const interrupting = await accept(elsewhere, 's', 'rather that', { queueMode: 'interrupt' })
    expect(await wait(elsewhere, first.runId)).toMatchObject({ error: { code: 'aborted' } })
    expect(await wait(elsewhere, steered.runId)).toMatchObject({ error: { code: 'aborted' } })
    await callFor(cluster, 'rather that')
    await elsewhere.host.abort({ runId: interrupting.runId })
    expect(await wait(one, interrupting.runId)).toMatchObject({ error: { code: 'aborted' } })
    await until(() => cluster.worlds.every((world) => world.host.lanes().length === 0))
  })

  it('take over what a host leaves that drains or ends', async () => {
    const cluster = await Cluster.of(1, { lanes: { main: { width: 1 } } })
    const [one] = cluster.worlds
    if (one === undefined) throw new Error('no host')
    const running = await accept(one, 'a', 'running')
    const { call } = await callFor(cluster, 'running')
    const queued = await accept(one, 'b', 'queued')
    const other = await cluster.boot()
    other.model.auto = ({ prompt }) => `other: ${prompt}`
    const drained = one.host.drain({ limitMs: 10_000 })
    call.reply('to the end')
    expect(await drained).toEqual({ left: [] })
    expect(await wait(other, running.runId)).toMatchObject({ reply: 'to the end' })
    expect(await wait(other, queued.runId)).toMatchObject({ reply: 'other: queued' })
    const left = await accept(other, 'c', 'left')
    expect(await wait(other, left.runId)).toMatchObject({ status: 'ok' })
  })

  it('ask again for a session whose turn was lost, and do not for one that has its turn', async () => {
    const cluster = await Cluster.of(1, { lanes: { main: { width: 1 } } })
    const [one] = cluster.worlds
    if (one === undefined) throw new Error('no host')
    const first = await accept(one, 'a', 'first')
    const { call } = await callFor(cluster, 'first')
    const second = await accept(one, 'b', 'second')
    await query(connectionString, `DELETE FROM ${cluster.lanes}.job WHERE state = 'created'`)
    call.reply('done')
    expect(await wait(one, first.runId)).toMatchObject({ status: 'ok' })
    ;(await callFor(cluster, 'second')).call.reply('found')
    expect(await wait(one, second.runId)).toMatchObject({ reply: 'found' })
  })

  it('run a session at another host once its first one has let go of it, with all that was said', async () => {
    const cluster = await Cluster.of(2)
    const [one, other] = cluster.worlds
    if (one === undefined || other === undefined) throw new Error('no hosts')
    for (const { model } of cluster.worlds) model.auto = ({ prompt }) => `to ${prompt}`
    const first = await accept(one, 's', 'first')
    await wait(one, first.runId)
    const [host] = cluster.working()
    const [home, away] = host === 0 ? [one, other] : [other, one]
    await home.unload()
    const second = await accept(away, 's', 'second')
    expect(await wait(away, second.runId)).toMatchObject({ reply: 'to second' })
    expect(away.model.calls.at(-1)?.prompts).toEqual(['first', 'second'])
  })

  it('leave a session alone in which a person is at work at another host', async () => {
    const cluster = await Cluster.of(2)
    const [one, other] = cluster.worlds
    if (one === undefined || other === undefined) throw new Error('no hosts')
    const agent = await one.createAgent('s')
    agent.followup(typed('mine'))
    const mine = await one.model.call(0)
    other.model.auto = () => 'elsewhere'
    const { runId } = await other.host.accept({ sessionId: 's', message: 'theirs', idempotencyKey: 'k' })
    // Its turn has come, and was of no use.
    while (((await cluster.jobs())['completed'] ?? 0) === 0);
    expect(other.model.calls).toHaveLength(0)
    mine.reply('done')
    one.model.auto = () => 'here'
    // The lease is given back, and looked at again.
    const turning = setInterval(() => [one, other].forEach(({ leaseClock }) => leaseClock.advance(500)), 20)
    onTestFinished(() => clearInterval(turning))
    expect(await wait(other, runId)).toMatchObject({ status: 'ok' })
    clearInterval(turning)
  })
})

describe('an engine for several hosts', () => {
  it('is refused where the log is not in PostgreSQL, or nothing says where that is', async () => {
    await expect(World.boot({ config: { engine: 'pg-boss' } })).rejects.toThrow(/backend "postgres"/u)
    const schema = newSchema()
    schemas.push(schema)
    const log = postgresLog({ connectionString, schema })
    onTestFinished(() => log.close())
    const pgBoss = { connectionEnv: 'NOT_SET', schema, heartbeatMs: 10_000, pollMs: 200 }
    await expect(World.boot({ log, config: { engine: 'pg-boss', pgBoss } })).rejects.toThrow(/NOT_SET/u)
  })
})
