import { memoryLog } from 'dsh-durable-log'
import { describe, expect, it } from 'vitest'
import { Host, inputsOf, repliesOf, say, settleDown, turnsOf, until, wakesOf } from './host.ts'

const GATED = (...names: string[]) =>
  names.map((name) => ({ workId: name, instruction: `stand at gate ${name}` }))

/** A root with works that stand at gates of their names. */
async function atWork(...names: string[]) {
  const host = await Host.boot()
  const root = await host.root()
  await host.add(root, ...GATED(...names))
  for (const name of names) await host.gates.reached(name)
  return { host, root }
}

/** A person is faster than the wake on its way, which waits in the inbox, and stops everything. */
async function thrownAway() {
  const log = memoryLog()
  let person = () => {}
  const append = log.append.bind(log)
  log.append = (stream, expectedSeq, entries, options) => {
    if (stream === 'run/root' && entries[0]?.type === 'run/started') person()
    return append(stream, expectedSeq, entries, options)
  }
  const host = await Host.boot({
    prepare: (ctx) => void ctx.provide('durableLog', log),
    rows: ['graph-control', 'agent-loop-host', 'graph-host', 'tool-graph'],
  })
  const root = await host.root()
  person = () => say(root, 'stand at gate busy')
  await host.add(root, { workId: 'a', instruction: 'do it' })
  await host.gates.reached('busy')
  person = () => {}
  await until(() => root.inbox.nextTurn.length === 1)
  root.cancel({ kind: 'user' })
  return { host, root }
}

async function wakeStatuses(host: Host): Promise<readonly string[]> {
  return [...(await host.graph()).wakes.values()].map(({ status }) => status)
}

describe('a wake', () => {
  it('is one turn of the root, told by a notice that nobody takes for a person', async () => {
    const { host, root } = await atWork('a')
    host.gates.open('a')
    await until(() => turnsOf(root).join() === 'completed')
    const [input] = inputsOf(root)
    expect(input).toMatchObject({ kind: 'plugin' })
    expect(input?.text).toContain('1/1 works ended, 0 pending')
    expect(input?.summary).toBeTruthy()
    expect(input?.summary?.length).toBeLessThanOrEqual(120)
    const message = root.session.events.find(({ type }) => type === 'user/message')
    expect(message?.data).toMatchObject({
      source: { kind: 'plugin', plugin: 'dsh-graph-host', form: 'notice' },
    })
    expect(repliesOf(root)).toEqual(['noted the wake'])
    // A turn of a root has no deadline of ours: this one is 24 days away.
    const [accepted] = await host.entries('run/root')
    expect(accepted?.data).toMatchObject({ request: { timeoutMs: 2_147_483_647 } })
    await host.controller(root).whenQuiet()
    expect(await wakeStatuses(host)).toEqual(['delivered'])
    expect(host.controller(root).expectsWake()).toBe(false)
    await settleDown()
    expect(turnsOf(root)).toEqual(['completed'])
  })

  it('tells two works that end together in one turn', async () => {
    const { host, root } = await atWork('a', 'b')
    host.gates.open('a')
    host.gates.open('b')
    await until(() => turnsOf(root).join() === 'completed')
    await host.controller(root).whenQuiet()
    await settleDown()
    expect(wakesOf(root)).toHaveLength(1)
    expect(wakesOf(root)[0]?.text).toMatch(/^- a completed$/mu)
    expect(wakesOf(root)[0]?.text).toMatch(/^- b completed$/mu)
  })

  it('tells works that end far apart in turns of their own, each of them once', async () => {
    const { host, root } = await atWork('a', 'b')
    host.gates.open('a')
    await until(async () => (await wakeStatuses(host)).join() === 'delivered')
    host.gates.open('b')
    await until(() => turnsOf(root).join() === 'completed,completed')
    expect(wakesOf(root).map(({ text }) => text.match(/^- \w+ completed$/gmu))).toEqual([
      ['- a completed'],
      ['- b completed'],
    ])
  })

  it('waits for the end of a turn that the root has under way (scenario W14)', async () => {
    const { host, root } = await atWork('a')
    say(root, 'stand at gate busy')
    await host.gates.reached('busy')
    host.gates.open('a')
    await host.whenWork('a', 'completed')
    await until(async () => (await wakeStatuses(host)).join() === 'running')
    await settleDown()
    expect(turnsOf(root)).toEqual(['open'])
    expect(root.inbox.hasPending).toBe(false)
    host.gates.open('busy')
    await until(() => turnsOf(root).join() === 'completed,completed')
    expect(inputsOf(root).map(({ kind }) => kind)).toEqual(['user', 'plugin'])
    expect(repliesOf(root)).toEqual(['passed the gate', 'noted the wake'])
  })

  it('is not sent when the root looked in the turn that it waited for', async () => {
    const { host, root } = await atWork('a')
    say(root, 'stand at gate busy')
    await host.gates.reached('busy')
    host.gates.open('a')
    await until(async () => (await wakeStatuses(host)).join() === 'running')
    say(root, 'look at the graph')
    host.gates.open('busy')
    await until(() => turnsOf(root).join() === 'completed,completed')
    await until(async () => (await wakeStatuses(host)).join() === 'superseded')
    expect(wakesOf(root)).toEqual([])
  })

  it('leaves a turn of a person that comes in between alone', async () => {
    const { host, root } = await atWork('a', 'b')
    say(root, 'plan work that stands at gate c')
    await until(() => turnsOf(root).join() === 'completed')
    say(root, 'how are you?')
    await until(() => turnsOf(root).join() === 'completed,completed')
    expect(repliesOf(root)).toEqual(['hello'])
    expect(wakesOf(root)).toEqual([])
    host.gates.open('a')
    await until(() => wakesOf(root).length === 1 && root.status === 'idle')
    expect(turnsOf(root)).toEqual(['completed', 'completed', 'completed'])
  })

  it('comes after a person whose message was there first', async () => {
    const { host, root } = await atWork('a')
    say(root, 'stand at gate busy')
    await host.gates.reached('busy')
    say(root, 'and then?')
    host.gates.open('a')
    await until(async () => (await wakeStatuses(host)).join() === 'running')
    host.gates.open('busy')
    await until(() => turnsOf(root).join() === 'completed,completed,completed')
    expect(inputsOf(root).map(({ kind }) => kind)).toEqual(['user', 'user', 'plugin'])
  })

  it('comes although a turn that failed left the message of a person behind', async () => {
    const { host, root } = await atWork('a')
    let failures = 0
    root.ctx.on('agent/request', async (_payload, next) => {
      if ((failures += 1) === 1) throw new Error('the first request breaks')
      return next()
    })
    say(root, 'how is it going?')
    say(root, 'and then?')
    await until(() => turnsOf(root).join() === 'error')
    expect(root.inbox.hasPending).toBe(true)
    host.gates.open('a')
    await until(() => turnsOf(root).join() === 'error,completed,completed')
    expect(inputsOf(root).map(({ kind }) => kind)).toEqual(['user', 'user', 'plugin'])
  })

  it('is not repeated after a person stopped its turn', async () => {
    const { host, root } = await atWork('slow')
    host.gates.open('slow')
    await host.gates.reached('wake')
    root.cancel({ kind: 'user' })
    await until(async () => (await wakeStatuses(host)).join() === 'delivered')
    await host.controller(root).whenQuiet()
    await settleDown()
    expect(turnsOf(root)).toEqual(['aborted'])
    expect(wakesOf(root)).toHaveLength(1)
    expect(host.controller(root).expectsWake()).toBe(false)
  })

  it('whose turn ran while the plugin was away is not sent again (scenario W8)', async () => {
    const { host, root } = await atWork('slow', 'b')
    host.gates.open('slow')
    await host.gates.reached('wake')
    host.gates.open('b')
    await host.whenWork('b', 'completed')
    await host.unmount('graph-host')
    host.gates.open('wake')
    await until(() => turnsOf(root).join() === 'completed')
    await host.mount('graph-host')
    await until(async () => (await wakeStatuses(host)).join() === 'delivered,delivered')
    expect(wakesOf(root).map(({ text }) => text.match(/^- \w+ completed$/gmu))).toEqual([
      ['- slow completed'],
      ['- b completed'],
    ])
  })

  it('that a person threw away unread comes after the next turn', async () => {
    const { host, root } = await thrownAway()
    await until(() => turnsOf(root).join() === 'aborted')
    await settleDown()
    expect(wakesOf(root)).toEqual([])
    expect(root.status).toBe('idle')
    say(root, 'hello again')
    await until(async () => (await wakeStatuses(host)).join() === 'delivered')
    expect(turnsOf(root)).toEqual(['aborted', 'completed', 'completed'])
    expect(wakesOf(root)).toHaveLength(1)
  })

  it('stays away from a person who stops, and stops again, until they speak (scenario W12)', async () => {
    const { host, root } = await thrownAway()
    root.cancel({ kind: 'user' })
    await until(() => turnsOf(root).join() === 'aborted')
    await host.add(root, { workId: 'b', instruction: 'do it' })
    await host.whenWork('b', 'completed')
    root.cancel({ kind: 'user' })
    await settleDown()
    expect(wakesOf(root)).toEqual([])
    say(root, 'hello again')
    await until(async () => (await wakeStatuses(host)).join() === 'delivered,delivered')
    expect(wakesOf(root).map(({ text }) => text.match(/^- \w+ completed$/gmu))).toEqual([
      ['- a completed'],
      ['- b completed'],
    ])
  })

  it('that a person threw away unread is not needed once the root looked', async () => {
    const { host, root } = await thrownAway()
    await until(() => turnsOf(root).join() === 'aborted')
    say(root, 'look at the graph')
    await until(async () => (await wakeStatuses(host)).join() === 'superseded')
    expect(wakesOf(root)).toEqual([])
  })

  it('is tried again when its turn failed', async () => {
    const { host, root } = await atWork('a')
    let failures = 0
    root.ctx.on('agent/pre-step', async (_payload, next) => {
      if ((failures += 1) === 1) throw new Error('the first turn breaks')
      return next()
    })
    host.gates.open('a')
    await until(() => turnsOf(root).join() === 'error,completed')
    await host.controller(root).whenQuiet()
    expect(wakesOf(root).length).toBeGreaterThanOrEqual(1)
    expect([...(await host.graph()).wakes.values()]).toMatchObject([{ status: 'delivered', attempts: 2 }])
  })

  it('comes only when nothing is pending for a root that waits for all', async () => {
    const { host, root } = await atWork('a', 'b')
    const yielded = await host.call(root, 'yield_agent_graph', { until: 'all' })
    expect(yielded.isError).toBe(false)
    host.gates.open('a')
    await host.whenWork('a', 'completed')
    await settleDown()
    expect(wakesOf(root)).toEqual([])
    host.gates.open('b')
    await until(() => turnsOf(root).join() === 'completed')
    expect(wakesOf(root)[0]?.text).toContain('2/2 works ended')
  })

  it('is not needed for a graph that was finished (scenario W9)', async () => {
    const { host, root } = await atWork('a')
    await host.stop(root, 'a')
    await host.call(root, 'update_agent_graph', { finish: { resultIds: [], reason: 'done' } })
    await until(() => !host.controller(root).expectsWake())
    await host.controller(root).whenQuiet()
    expect((await host.graph()).closed).toBe(true)
    expect(wakesOf(root)).toEqual([])
  })
})
