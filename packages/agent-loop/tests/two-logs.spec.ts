/** The log of runs and the log of the session: neither gets in the way of the other, nor of a run. */
import { memoryLog, type DurableLog } from 'dsh-durable-log'
import { describe, expect, it } from 'vitest'
import { settleDown, until } from './support/until.ts'
import { conversation, temporaryFolder, typed, World } from './support/world.ts'

/** Counts what is asked of a log. */
function counted(log: DurableLog): { log: DurableLog; readonly calls: Record<'append' | 'read', number> } {
  const calls = { append: 0, read: 0 }
  const append: DurableLog['append'] = (...args) => {
    calls.append += 1
    return log.append(...args)
  }
  const read: DurableLog['read'] = (...args) => {
    calls.read += 1
    return log.read(...args)
  }
  const counting = Object.assign(Object.create(log) as DurableLog, { append, read })
  return { log: counting, calls }
}

describe('a turn under way', () => {
  it('is disturbed by nothing that is written about its session meanwhile', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    const call = await world.model.call(0)
    await world.host.configure('s', { verbose: 'on' })
    const [second, third] = [await world.accept('s', 'two'), await world.accept('s', 'three')]
    await world.host.queue.move(third, second)
    agent.followup(typed('from a person'))
    await world.ctx.sessions.flush(agent.session)
    await world.host.queue.cancel(second)
    await settleDown()
    expect(call.signal?.aborted).toBe(false)
    call.reply('undisturbed')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'undisturbed' })
    world.model.auto = () => 'ok'
    ;(await world.model.call(1)).reply('ok')
    expect(await world.host.wait({ runId: third })).toMatchObject({ status: 'ok' })
  })

  it('that is aborted while it writes leaves the same in memory and on the medium', async () => {
    const sessions = await temporaryFolder()
    const world = await World.boot({ sessions })
    const agent = await world.createAgent('s')
    await world.ctx.sessions.flush(agent.session)
    const runId = await world.accept('s', 'one')
    await world.model.call(0)
    await world.host.abort({ runId })
    expect(await world.host.wait({ runId })).toMatchObject({ state: 'aborted' })
    await agent.whenIdle()
    await world.ctx.sessions.flush(agent.session)
    const before = agent.session.events.map(({ type }) => type)
    const next = await world.crash()
    next.model.auto = () => 'after'
    const { runId: second } = await next.host.accept({
      sessionId: 's',
      message: 'two',
      idempotencyKey: 'two',
    })
    expect(await next.host.wait({ runId: second })).toMatchObject({ status: 'ok', reply: 'after' })
    const resumed = next.ctx.agents.list()[0]
    expect(resumed?.session.events.slice(0, before.length).map(({ type }) => type)).toEqual(before)
    expect(conversation(resumed ?? agent)).toHaveLength(2)
  })
})

describe('what a run costs', () => {
  it('does not grow with the runs before it', async () => {
    const { log, calls } = counted(memoryLog())
    const world = await World.boot({ log })
    await world.createAgent('s')
    world.model.auto = () => 'ok'
    const costOf = async (message: string) => {
      const before = { ...calls }
      await world.host.wait({ runId: await world.accept('s', message) })
      await until(() => world.host.lanes().length === 0)
      return { append: calls.append - before.append, read: calls.read - before.read }
    }
    await costOf('first')
    const early = await costOf('second')
    for (let run = 0; run < 200; run += 1) await costOf(`run ${run}`)
    expect(await costOf('last')).toEqual(early)
    expect(early.read).toBe(0)
  })
})

describe('a full queue', () => {
  it('that refuses a message costs it no attempt: it is accepted and run when there is room', async () => {
    const queue = { mode: 'followup', debounceMs: 500, maxDebounceMs: 5_000, cap: 1, drop: 'new' } as const
    const world = await World.boot({ config: { queue } })
    await world.createAgent('s')
    await world.accept('s', 'one')
    const call = await world.model.call(0)
    const second = await world.accept('s', 'two')
    await expect(world.accept('s', 'three')).rejects.toMatchObject({ code: 'busy' })
    call.reply('ok')
    ;(await world.model.call(1)).reply('ok')
    await world.host.wait({ runId: second })
    world.model.auto = () => 'at last'
    const third = await world.accept('s', 'three')
    expect(await world.host.wait({ runId: third })).toMatchObject({ status: 'ok', reply: 'at last' })
    expect(await world.entries('s')).not.toContain('run/deferred')
  })
})

describe('a session that another process holds', () => {
  it('holds up nobody who asks, and an abort of its run is acted on at once', async () => {
    const identity = (pid: number) => ({
      pid,
      startedAt: 'then',
      bootId: 'boot',
      machineId: 'machine',
      pidSpace: 'space',
    })
    const log = memoryLog()
    const processes = (pid: number) => ({ self: identity(pid), stateOf: () => 'alive' as const })
    const first = await World.boot({ log, processes: processes(1) })
    const second = await World.boot({ log, processes: processes(2) })
    await first.createAgent('s')
    await second.createAgent('s')
    await first.accept('s', 'mine')
    await first.model.call(0)
    // The holder does not hear of what is accepted elsewhere, as when its process stands still.
    await first.host.drain({ limitMs: 0 })
    const runId = await second.accept('s', 'theirs')
    expect(await second.host.wait({ runId, timeoutMs: 0 })).toMatchObject({ status: 'timeout' })
    expect(await second.host.abort({ runId })).toMatchObject({ aborted: true })
    expect(await second.host.wait({ runId })).toMatchObject({ state: 'aborted' })
    expect(second.model.calls).toHaveLength(0)
  })
})
