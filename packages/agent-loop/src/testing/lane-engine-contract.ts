/**
 * The contract of a lane engine as runnable tests.
 */
import assert from 'node:assert/strict'
import type { TestApi } from 'dsh-durable-log/testing'
import { randomFrom } from 'dsh-durable-log/testing'
import type { LaneEngine } from '../engines/lane-engine.ts'
import { House, LaneHost, until } from './lane-house.ts'

export interface LaneSettings {
  readonly widths: ReadonlyMap<string, number>
  /** After how long a waiting session comes before a new one of the next higher priority. */
  readonly ageMs: number
  /** Names in front of the target of lanes of one target. */
  readonly perTarget: readonly string[]
}

/** Where the engines of one test meet; each `host` is as another process. */
export interface LaneMedium {
  host(): Promise<LaneEngine>
  /** Takes away what the test leaves. */
  close(): Promise<void>
}

export interface LaneEngineContractOptions {
  /** Whether several hosts share the lanes. */
  readonly isShared: boolean
}

const SETTINGS: LaneSettings = {
  widths: new Map([
    ['main', 2],
    ['cron', 1],
  ]),
  ageMs: 10_000,
  perTarget: ['nested'],
}

type Body = (open: () => Promise<LaneHost>, house: House) => Promise<void>

/**
 * Defines the contract suite for one engine.
 *
 * @param api `describe` and `it` of the test runner, for instance `{ describe, it }` of vitest.
 * @param name names the engine in the titles.
 * @param medium a fresh one for each test.
 */
export function laneEngineContract(
  api: TestApi,
  name: string,
  medium: (settings: LaneSettings) => Promise<LaneMedium>,
  { isShared }: LaneEngineContractOptions,
): void {
  const test = (title: string, body: Body): void =>
    void api.it(title, async () => {
      const opened = await medium(SETTINGS)
      const hosts: LaneHost[] = []
      const house = new House(SETTINGS.widths)
      try {
        await body(async () => {
          const host = new LaneHost(await opened.host(), house)
          hosts.push(host)
          return host
        }, house)
        for (const host of hosts) host.check()
      } finally {
        await Promise.all(hosts.map(({ engine }) => engine.close()))
        await opened.close()
      }
    })
  api.describe(`lane engine contract: ${name}`, () => {
    api.describe('one host', () => oneHost(test))
    if (isShared) api.describe('several hosts', () => severalHosts(test))
  })
}

function oneHost(test: (title: string, body: Body) => void): void {
  test('gives each session that waits its turn, as many at a time as the lane is wide', async (open) => {
    const host = await open()
    for (const id of ['a', 'b', 'c']) host.want(id)
    host.pump()
    await until('two of three run', () => host.running.length === 2)
    const [first = ''] = host.running
    host.finish(first)
    await until('the third runs', () => host.order.length === 3)
    assert.deepEqual(host.order.toSorted(), ['a', 'b', 'c'])
  })

  test('gives turns in the order in which sessions began to wait', async (open) => {
    const host = await open()
    for (const id of ['w', 'a', 'b', 'c', 'd']) {
      host.want(id, 'cron')
      host.now += 2_000
    }
    host.pump()
    for (let turn = 1; turn <= 5; turn += 1) {
      await until(`turn ${turn}`, () => host.order.length === turn)
      host.finish(host.order.at(-1) ?? '')
    }
    assert.deepEqual(host.order, ['w', 'a', 'b', 'c', 'd'])
  })

  test('has a session wait at the end again when it has had its turn', async (open) => {
    const host = await open()
    host.want('a', 'cron')
    host.pump()
    await until('the first runs', () => host.running.length === 1)
    host.now += 2_000
    host.want('b', 'cron')
    host.now += 2_000
    host.want('a', 'cron')
    host.finish('a')
    await until('the other one runs', () => host.order.length === 2)
    host.finish('b')
    await until('it runs again', () => host.order.length === 3)
    assert.deepEqual(host.order, ['a', 'b', 'a'])
  })

  test('prefers the higher priority, and who has waited long enough to whoever comes then', async (open) => {
    const host = await open()
    host.want('w', 'cron')
    host.pump()
    await until('the slot is taken', () => host.running.length === 1)
    host.want('old', 'cron', 0)
    host.now += 25_000
    host.want('low', 'cron', 0)
    host.want('high', 'cron', 2)
    host.want('default', 'cron', 1)
    for (let turn = 1; turn <= 5; turn += 1) {
      await until(`turn ${turn}`, () => host.order.length === turn)
      host.finish(host.order.at(-1) ?? '')
    }
    assert.deepEqual(host.order, ['w', 'old', 'high', 'default', 'low'])
  })

  test('passes over a session that waits no more', async (open) => {
    const host = await open()
    host.want('w', 'cron')
    host.pump()
    await until('the slot is taken', () => host.running.length === 1)
    host.want('a', 'cron')
    host.now += 2_000
    host.want('b', 'cron')
    host.unwant('a')
    host.finish('w')
    await until('the next one runs', () => host.order.length === 2)
    host.finish('b')
    host.want('a', 'cron')
    host.pump()
    await until('it runs once it waits again', () => host.order.length === 3)
    assert.deepEqual(host.order, ['w', 'b', 'a'])
  })

  test('lets no lane wait for another one, and each target have one of its own', async (open) => {
    const host = await open()
    for (const id of ['a', 'b', 'c']) host.want(id)
    host.want('d', 'cron')
    host.want('e', 'nested:e')
    host.want('f', 'nested:f')
    host.pump()
    await until('all but one run', () => host.running.length === 5)
    assert.deepEqual(
      ['d', 'e', 'f'].filter((id) => !host.running.includes(id)),
      [],
    )
  })

  test('has a session wait in the lane that it named last', async (open) => {
    const host = await open()
    for (const id of ['a', 'b']) host.want(id)
    host.pump()
    await until('the lane is full', () => host.running.length === 2)
    host.want('c')
    host.want('c', 'cron')
    host.pump()
    await until('it runs in the other lane', () => host.running.includes('c'))
  })

  test('gives nobody a turn once it pauses, and ends those under way', async (open) => {
    const host = await open()
    host.want('a', 'cron')
    host.pump()
    await until('one runs', () => host.running.length === 1)
    host.engine.pause()
    host.want('b', 'cron')
    host.finish('a')
    host.pump()
    assert.deepEqual(host.running, [])
    assert.equal(host.engine.hasRoom('cron'), false)
  })

  test('gives each of many sessions in many orders every turn that it asks for', async (open) => {
    const host = await open()
    const random = randomFrom(7)
    const wanted = new Map<string, number>()
    for (let id = 0; id < 30; id += 1) wanted.set(`s${id}`, 1 + random.below(3))
    const total = [...wanted.values()].reduce((sum, count) => sum + count, 0)
    const ask = (id: string): void => {
      const more = wanted.get(id) ?? 0
      wanted.set(id, more - 1)
      if (more > 0) host.want(id, random.pick(['cron', 'main', 'main']), random.pick([0, 1] as const))
    }
    for (const id of wanted.keys()) ask(id)
    host.pump()
    while (host.order.length < total || host.running.length > 0) {
      await until('somebody runs', () => host.running.length > 0)
      const { running } = host
      const id = random.pick(running)
      ask(id)
      host.finish(id)
    }
    assert.equal(host.order.length, total)
  })
}

function severalHosts(test: (title: string, body: Body) => void): void {
  test('keeps the width of a lane over all of them, and one turn a session', async (open) => {
    const hosts = await Promise.all([open(), open(), open()])
    const served = new Set<string>()
    for (let id = 0; id < 24; id += 1) hosts[id % 3]?.want(`s${id}`)
    for (const host of hosts) host.pump()
    while (served.size < 24) {
      await until('somebody runs', () => hosts.some(({ running }) => running.length > 0))
      for (const host of hosts) {
        for (const id of host.running) {
          served.add(id)
          host.finish(id)
        }
      }
    }
  })

  test('has another one serve what a host that pauses leaves', async (open, house) => {
    const [one, other] = [await open(), await open()]
    one.want('a', 'cron')
    one.pump()
    await until('one runs', () => one.running.length === 1)
    one.want('b', 'cron')
    // It has something more to do, which whoever is given its turn finds in the log.
    house.todo.set('a', { lane: 'cron', level: 1 })
    one.engine.pause()
    one.finish('a')
    const served: string[] = []
    while (served.length < 2) {
      await until('the other one runs', () => other.running.length > 0)
      for (const id of other.running) {
        served.push(id)
        other.finish(id)
      }
    }
    assert.deepEqual(served.toSorted(), ['a', 'b'])
    assert.deepEqual(one.running, [])
  })

  test('has another one go on where a host closes in the middle of a turn', async (open, house) => {
    const [one, other] = [await open(), await open()]
    one.want('a', 'cron')
    one.pump()
    await until('one runs', () => one.running.length === 1)
    house.running.delete('a')
    house.todo.set('a', { lane: 'cron', level: 1 })
    await one.engine.close()
    await until('the other one runs', () => other.running.includes('a'))
  })
}
