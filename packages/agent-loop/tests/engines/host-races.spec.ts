/** What several hosts do to each other when one of them was away, or not fast enough. */
import LogSessionPersistence from 'dsh-durable-log/sessions'
import { type DurableLog, type Entry, postgresLog } from 'dsh-durable-log'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { cutProxy, type CutProxy } from '../../../durable-log/tests/support/cut-proxy.ts'
import { databaseUrl, dropSchemas, newSchema, query } from '../../../durable-log/tests/support/postgres.ts'
import { backgroundClock, type Clock } from '../../src/clock.ts'
import type { Config } from '../../src/config.ts'
import { heldLog, type HeldLog } from '../support/held-log.ts'
import { until } from '../support/until.ts'
import { World } from '../support/world.ts'

let connectionString = ''
const schemas: string[] = []

beforeAll(async () => {
  connectionString = await databaseUrl()
})

afterAll(() => dropSchemas(connectionString, schemas))

/** The system's, but everything that is waited for comes twenty times as soon. */
const hasty: Clock = {
  ...backgroundClock,
  after: (delayMs, callback) => backgroundClock.after(delayMs / 20, callback),
}

/** Hasty until it is stopped; then nothing happens by itself any more. */
class StoppableClock implements Clock {
  private isStopped = false
  readonly now = (): number => hasty.now()
  readonly monotonic = (): number => hasty.monotonic()

  after(delayMs: number, callback: () => void): () => void {
    return hasty.after(delayMs, () => {
      if (!this.isStopped) callback()
    })
  }

  stop(): void {
    this.isStopped = true
  }
}

interface HostOptions {
  readonly url?: string
  readonly wrap?: (log: DurableLog) => DurableLog
  readonly background?: Clock
}

class Fleet {
  private readonly schema = newSchema()
  private readonly lanes = newSchema()
  private readonly config: Partial<Config>

  constructor(config: Partial<Config> = {}) {
    this.config = config
    schemas.push(this.schema, this.lanes)
  }

  async boot({ url = connectionString, wrap = (log) => log, background = hasty }: HostOptions = {}) {
    const connectionEnv = `HOST_RACES_${newSchema().toUpperCase()}`
    process.env[connectionEnv] = url
    const own = postgresLog({ connectionString: url, schema: this.schema })
    onTestFinished(() => own.close())
    const log = wrap(own)
    const pgBoss = { connectionEnv, schema: this.lanes, heartbeatMs: 10_000, pollMs: 200 }
    const world = await World.boot({
      log,
      background,
      config: { engine: 'pg-boss', pgBoss, recover: 'all', ...this.config },
    })
    await world.ctx.plugin(LogSessionPersistence, LogSessionPersistence.Config({}))
    return world
  }

  /** A host whose network the test can freeze. */
  async bootBehindProxy(): Promise<{ world: World; proxy: CutProxy }> {
    const { hostname, port } = new URL(connectionString)
    const proxy = await cutProxy({ host: hostname, port: Number(port) })
    onTestFinished(() => proxy.close())
    const url = new URL(connectionString)
    url.port = String(proxy.port)
    const world = await this.boot({ url: url.href })
    onTestFinished(() => proxy.mend())
    return { world, proxy }
  }

  /** Gives the turns under way to others, as if their host had shown no sign of life for long enough. */
  async expireTurns(): Promise<void> {
    await query(
      connectionString,
      `UPDATE ${this.lanes}.job SET heartbeat_on = now() - interval '1 minute' WHERE state = 'active'`,
    )
  }

  /** Keeps every host from giving turns of a lane for a while. Resolves when it is over. */
  async occupy(lane: string, forMs: number): Promise<void> {
    await query(
      connectionString,
      `BEGIN; SELECT pg_advisory_xact_lock(hashtext('${this.lanes}'), hashtext('lane/${lane}'));
       SELECT pg_sleep(${forMs / 1000}); COMMIT`,
    )
  }

  /** How old the signs of life of the turns under way are, milliseconds. */
  async agesOfTurns(): Promise<readonly number[]> {
    const rows = await query<{ age: number }>(
      connectionString,
      `SELECT (extract(epoch FROM clock_timestamp() - heartbeat_on) * 1000)::int AS age
       FROM ${this.lanes}.job WHERE state = 'active'`,
    )
    return rows.map(({ age }) => age)
  }
}

async function accept(world: World, key: string, message: string, more: object = {}) {
  const request = { sessionKey: key, model: { provider: 'gate', model: 'm' }, message, ...more }
  return (await world.host.accept({ idempotencyKey: `key of ${message}`, ...request })).runId
}

const wait = (world: World, runId: string) => world.host.wait({ runId, timeoutMs: 20_000 })

const isSettledAs = (entry: Entry | undefined, reply: string): boolean =>
  entry?.type === 'run/settled' && JSON.stringify(entry.data).includes(JSON.stringify(reply))

const texts = (messages: readonly { readonly content: readonly object[] }[] = []): string =>
  JSON.stringify(messages.map(({ content }) => content))

async function flush({ ctx }: World): Promise<void> {
  for (const agent of ctx.agents.list()) await ctx.sessions.flush(agent.session)
}

describe('several hosts', () => {
  it('keep the order when the one that has a session is asked for a run that another one has just stored', async () => {
    const fleet = new Fleet()
    let gate: ReturnType<typeof heldLog> | undefined
    const holder = await fleet.boot({
      wrap: (log) => {
        gate = heldLog(log, (_stream, entries) => JSON.stringify(entries).includes('"key of second"'))
        return gate.log
      },
    })
    const told: string[] = []
    holder.model.auto = ({ prompt }) => {
      told.push(prompt)
      return prompt === 'first' ? undefined : prompt
    }
    await accept(holder, 's', 'first')
    const call = await holder.model.call(0)
    const other = await fleet.boot()
    const late = accept(holder, 's', 'second')
    await gate?.held
    const second = await accept(other, 's', 'second')
    gate?.release()
    expect(await late).toBe(second)
    const third = await accept(holder, 's', 'third')
    call.reply('done')
    expect(await wait(holder, second)).toMatchObject({ reply: 'second' })
    expect(await wait(holder, third)).toMatchObject({ reply: 'third' })
    expect(told).toEqual(['first', 'second', 'third'])
  })

  it('keep the order when a run that several were asked for is found together with the one after it', async () => {
    const fleet = new Fleet()
    const gates: HeldLog[] = []
    const holder = await fleet.boot({
      wrap: (log) => {
        const gate = heldLog(log, (_stream, entries) => JSON.stringify(entries).includes('"key of second"'))
        gates.push(gate)
        return gate.log
      },
    })
    const told: string[] = []
    holder.model.auto = ({ prompt }) => {
      told.push(prompt)
      return prompt
    }
    await wait(holder, await accept(holder, 's', 'first'))
    const other = await fleet.boot()
    const late = accept(holder, 's', 'second')
    await Promise.all(gates.map(({ held }) => held))
    const second = await accept(other, 's', 'second')
    const third = await accept(other, 's', 'third')
    for (const gate of gates) gate.release()
    expect(await late).toBe(second)
    expect(await wait(holder, third)).toMatchObject({ reply: 'third' })
    expect(told).toEqual(['first', 'second', 'third'])
  })

  it('answer no message again that a host answered while the next one heard nothing', async () => {
    const fleet = new Fleet({ lanes: { main: { width: 1 } } })
    const bootDeaf = async () => {
      const clock = new StoppableClock()
      const gates: HeldLog[] = []
      const world = await fleet.boot({
        background: clock,
        wrap: (log) => {
          const gate = heldLog(log, (_stream, [entry]) => isSettledAs(entry, 'once'), { isDeaf: true })
          gates.push(gate)
          return gate.log
        },
      })
      // Before the world goes, which waits for its writes.
      onTestFinished(() => gates.forEach((gate) => gate.fail()))
      return {
        world,
        clock,
        whenHeld: () => Promise.all(gates.map(({ held }) => held)),
        release: () => gates.forEach((gate) => gate.release()),
      }
    }
    const one = await bootDeaf()
    await accept(one.world, 'other', 'busy')
    const busy = await one.world.model.call(0)
    const runId = await accept(one.world, 's', 'message')
    // It finds the run waiting, and waits for the turn, too.
    const other = await bootDeaf()
    busy.reply('done')
    const callAt = ({ model }: World) => model.calls.find(({ prompt }) => prompt === 'message')
    await until(() => (callAt(one.world) ?? callAt(other.world)) !== undefined, 'the call')
    const [home, next] = callAt(one.world) === undefined ? [other, one] : [one, other]
    callAt(home.world)?.reply('once')
    await home.whenHeld()
    home.clock.stop()
    next.release()
    await fleet.expireTurns()
    next.world.leaseClock.advance(20_000)
    next.world.model.auto = () => 'twice'
    expect(await wait(next.world, runId)).toMatchObject({ status: 'ok', reply: 'once' })
    expect(callAt(next.world)).toBeUndefined()
  })

  it('tell a steer once whose turn was cut off, also when an earlier message has its turn first', async () => {
    const fleet = new Fleet()
    const { world: away, proxy } = await fleet.bootBehindProxy()
    const other = await fleet.boot()
    await accept(away, 's', 'first')
    // Either of them may have been given the turn; the rest of the test is about the one that was not.
    await until(() => away.model.calls.length + other.model.calls.length > 0, 'a call')
    const [home] = away.model.calls.length > 0 ? [away] : [other]
    const waiting = await accept(home, 's', 'waiting')
    const steered = await accept(home, 's', 'steered', { queueMode: 'steer' })
    const [agent] = home.ctx.agents.list()
    await until(() => agent?.inbox.nextStep.length === 1, 'the steer')
    ;(await home.model.call(0)).reply('first thoughts')
    await home.model.call(1)
    await flush(home)
    const next = home === away ? other : away
    if (home === away) proxy.freeze()
    else await home.unload()
    await fleet.expireTurns()
    next.leaseClock.advance(20_000)
    const call = await next.model.call(0)
    expect(call.prompt).toBe('waiting')
    const later = await accept(next, 's', 'steered later', { queueMode: 'steer' })
    const [reopened] = next.ctx.agents.list()
    await until(() => texts(reopened?.inbox.nextStep).includes('steered later'), 'the later steer')
    next.model.auto = ({ prompt }) => prompt
    call.reply('waited for')
    expect(await wait(next, waiting)).toMatchObject({ status: 'ok' })
    expect(await wait(next, later)).toMatchObject({ status: 'ok' })
    expect(await wait(next, steered)).toMatchObject({ state: 'interrupted' })
    expect(next.model.calls.at(-1)?.prompts).toEqual(['first', 'steered', 'waiting', 'steered later'])
  })

  it('close an agent whose session went on elsewhere before they use the session again', async () => {
    const fleet = new Fleet()
    const { world: away, proxy } = await fleet.bootBehindProxy()
    await accept(away, 's', 'first')
    await away.model.call(0)
    await flush(away)
    const other = await fleet.boot()
    other.model.auto = ({ prompt }) => `other: ${prompt}`
    proxy.freeze()
    await fleet.expireTurns()
    other.leaseClock.advance(20_000)
    const second = await accept(other, 's', 'second')
    expect(await wait(other, second)).toMatchObject({ reply: 'other: second' })
    proxy.mend()
    await until(() => away.ctx.agents.list().length === 0, 'the overtaken agent is closed')
    await other.unload()
    away.model.auto = ({ prompt }) => `back: ${prompt}`
    away.leaseClock.advance(20_000)
    const third = await accept(away, 's', 'third')
    expect(await wait(away, third)).toMatchObject({ reply: 'back: third' })
    expect(away.model.calls.at(-1)?.prompts).toEqual(['first', 'second', 'third'])
  })

  it('give no turn that is as old as the wait for its lane', async () => {
    const fleet = new Fleet()
    const host = await fleet.boot()
    const occupied = fleet.occupy('main', 2_500)
    await accept(host, 's', 'message')
    await host.model.call(0)
    // A statement that waited for the lane would have begun before it was occupied.
    for (const age of await fleet.agesOfTurns()) expect(age).toBeLessThan(2_000)
    await occupied
    host.model.calls[0]?.reply('done')
  })
})
