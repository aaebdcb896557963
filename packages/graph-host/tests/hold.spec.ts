import { describe, expect, it } from 'vitest'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { Host, repliesOf, say, settleDown, turnsOf, until, wakesOf, type HostOptions } from './host.ts'

/** A root that planned a work and yielded, as a headless process runs it: until its agent is idle. */
async function yielded(options: HostOptions = {}) {
  const host = await Host.boot(options)
  const root = await host.root()
  say(root, 'plan work that stands at gate a')
  const run = { over: false, turns: [] as readonly string[] }
  const idle = root.whenIdle().then(() => Object.assign(run, { over: true, turns: turnsOf(root) }))
  await host.gates.reached('a')
  await until(() => turnsOf(root).join() === 'completed')
  await settleDown()
  return { host, root, run, idle }
}

const webServer = (ctx: Host['ctx']) => void ctx.provide('webServer' as never, {} as never)

describe('a headless process whose root yielded', () => {
  it('ends with the turn that the wake makes, not before', async () => {
    const { host, root, run, idle } = await yielded()
    expect(run.over).toBe(false)
    host.gates.open('a')
    await idle
    expect(run.turns).toEqual(['completed', 'completed'])
    expect(repliesOf(root)).toEqual(['noted the wake'])
  })

  it('lasts as long as works go on and wakes come', async () => {
    const { host, root, run, idle } = await yielded()
    await host.add(root, { workId: 'b', instruction: 'stand at gate b' })
    await host.gates.reached('b')
    host.gates.open('a')
    await until(() => wakesOf(root).length === 1 && root.status === 'idle')
    await settleDown()
    expect(run.over).toBe(false)
    host.gates.open('b')
    await idle
    expect(run.turns).toEqual(['completed', 'completed', 'completed'])
  })

  it('takes a person who types meanwhile', async () => {
    const { host, root, run, idle } = await yielded()
    say(root, 'how are you?')
    await until(() => turnsOf(root).join() === 'completed,completed')
    expect(repliesOf(root)).toEqual(['hello'])
    await settleDown()
    expect(run.over).toBe(false)
    host.gates.open('a')
    await idle
    expect(run.turns).toHaveLength(3)
  })

  it('ends when the graph can wake nobody any more', async () => {
    const { host, root, run, idle } = await yielded()
    // The root is shown the end of the work before its wake is made, so none is.
    await host.stop(root, 'a')
    await host.call(root, 'view_agent_graph', {})
    await idle
    expect(run.turns).toEqual(['completed'])
    expect(wakesOf(root)).toEqual([])
  })

  it('ends when the graph is finished from outside', async () => {
    const { host, root, idle } = await yielded()
    await host.stop(root, 'a')
    await host.call(root, 'update_agent_graph', { finish: { resultIds: [], reason: 'enough' } })
    await idle
    expect(turnsOf(root)).toEqual(['completed'])
  })

  it('ends when its run is cancelled', async () => {
    const { root, run, idle } = await yielded()
    root.cancel({ kind: 'user' })
    await idle
    expect(run.turns).toEqual(['completed'])
  })

  it('ends when the turn before it was cancelled', async () => {
    const { host, root, idle } = await yielded()
    say(root, 'stand at gate busy')
    await host.gates.reached('busy')
    root.cancel({ kind: 'user' })
    await idle
    expect(turnsOf(root)).toEqual(['completed', 'aborted'])
  })

  it('ends when the plugin goes', async () => {
    const { host, run, idle } = await yielded()
    await host.unmount('graph-host')
    await settleDown()
    expect(run.over).toBe(true)
    await idle
    expect(run.turns).toEqual(['completed'])
  })

  it('leaves no timer behind', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
    const before = timers()
    const { host, idle } = await yielded()
    host.gates.open('a')
    await idle
    await host.dispose()
    // Timers of the test runner come and go; one of ours would stay.
    await until(() => timers() <= before, 'no more timers than before')
    expect(timers()).toBeLessThanOrEqual(before)
  })

  it('is not held once everything is told', async () => {
    const { host, root, idle } = await yielded()
    host.gates.open('a')
    await idle
    await until(() => !host.controller(root).expectsWake())
    say(root, 'bye')
    let over = false
    void root.whenIdle().then(() => (over = true))
    await until(() => turnsOf(root).length === 3 && root.status === 'idle')
    await settleDown()
    expect(over).toBe(true)
  })

  it('ends when the root is closed', async () => {
    const { host, root, idle } = await yielded()
    await host.close(root)
    await idle
    expect(turnsOf(root)).toEqual(['completed'])
  })

  it('is held also when the model just stopped and did not yield', async () => {
    const host = await Host.boot()
    const root = await host.root()
    await host.add(root, { workId: 'a', instruction: 'stand at gate a' })
    say(root, 'bye')
    let over = false
    const idle = root.whenIdle().then(() => (over = true))
    await until(() => turnsOf(root).join() === 'completed')
    await settleDown()
    expect(over).toBe(false)
    host.gates.open('a')
    await idle
    expect(wakesOf(root)).toHaveLength(1)
  })

  it('is not held without a graph', async () => {
    const host = await Host.boot()
    const root = await host.root()
    say(root, 'bye')
    await root.whenIdle()
    expect(turnsOf(root)).toEqual(['completed'])
  })
})

describe('the setting holdIdleRoot', () => {
  const wakesLater = async (host: Host, root: Agent) => {
    host.gates.open('a')
    await until(() => turnsOf(root).join() === 'completed,completed')
  }

  it('never: an idle root is idle, and its wake comes all the same', async () => {
    const { host, root, run } = await yielded({ config: { holdIdleRoot: 'never' } })
    expect(run).toEqual({ over: true, turns: ['completed'] })
    await wakesLater(host, root)
  })

  it('auto: where a web server runs, an idle root is idle', async () => {
    const { host, root, run } = await yielded({ prepare: webServer })
    expect(run).toEqual({ over: true, turns: ['completed'] })
    await wakesLater(host, root)
  })

  it('always: an idle root is held where a web server runs', async () => {
    const { host, run, idle } = await yielded({ config: { holdIdleRoot: 'always' }, prepare: webServer })
    expect(run.over).toBe(false)
    host.gates.open('a')
    await idle
    expect(run.turns).toEqual(['completed', 'completed'])
  })
})
