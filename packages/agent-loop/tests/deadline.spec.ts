import { describe, expect, it } from 'vitest'
import { settleDown, until } from './support/until.ts'
import { conversation, occupy, typed, World } from './support/world.ts'

describe('the deadline of a run', () => {
  it('cancels its turn and settles it as timed-out', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const runId = await world.accept('s', 'one', { timeoutMs: 2000 })
    const call = await world.model.call(0)
    world.clock.advance(1999)
    expect(call.signal?.aborted).toBe(false)
    world.clock.advance(1)
    expect(await world.host.wait({ runId })).toMatchObject({
      status: 'error',
      state: 'timed-out',
      error: { code: 'run-timeout', message: 'the run passed its deadline of 2000 ms' },
    })
    const end = agent.session.events.findLast((event) => event.type === 'turn/end')
    expect(end?.data.reason).toMatchObject({ kind: 'aborted', reason: { kind: 'hook' } })
  })

  it('comes from the configuration when the request names none', async () => {
    const world = await World.boot({ config: { defaultTimeoutMs: 50 } })
    await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    await world.model.call(0)
    world.clock.advance(50)
    expect(await world.host.wait({ runId })).toMatchObject({ state: 'timed-out' })
  })

  it('begins when the run is at the head of its lane', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    await world.accept('s', 'one', { timeoutMs: 10_000 })
    const second = await world.accept('s', 'two', { timeoutMs: 1000 })
    const call = await world.model.call(0)
    world.clock.advance(5000)
    call.reply('done')
    ;(await world.model.call(1)).reply('in time')
    expect(await world.host.wait({ runId: second })).toMatchObject({ status: 'ok' })
  })

  it('does not count while the run waits for a slot of its global lane', async () => {
    const world = await World.boot({ config: { lanes: { main: { width: 1 } } } })
    await world.createAgent('s')
    await world.createAgent('t')
    await world.accept('s', 'one', { timeoutMs: 10_000 })
    const second = await world.accept('t', 'two', { timeoutMs: 1000, idleTimeoutMs: 1000 })
    const call = await world.model.call(0)
    world.clock.advance(5000)
    await settleDown()
    expect(await world.host.read(second)).toMatchObject({ state: 'queued' })
    call.reply('done')
    ;(await world.model.call(1)).reply('in time')
    expect(await world.host.wait({ runId: second })).toMatchObject({ status: 'ok' })
  })

  it('lets the lane go on after the grace when the turn does not end', async () => {
    const world = await World.boot({ config: { graceMs: 300 } })
    await world.createAgent('s')
    const first = await world.accept('s', 'one', { timeoutMs: 1000 })
    const second = await world.accept('s', 'two')
    const call = await world.model.call(0)
    call.deaf = true
    world.clock.advance(1000)
    await settleDown()
    expect(await world.host.wait({ runId: first, timeoutMs: 0 })).toMatchObject({ state: 'running' })
    world.clock.advance(300)
    expect(await world.host.wait({ runId: first })).toMatchObject({ state: 'timed-out' })
    ;(await world.model.call(1)).reply('fine')
    call.reply('far too late')
    expect(await world.host.wait({ runId: second })).toMatchObject({ status: 'ok', reply: 'fine' })
    expect(await world.terminalEntries('s')).toEqual({ [first]: 1, [second]: 1 })
  })

  it('takes the message back when it still waits behind the turn of a person', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const leave = occupy(agent)
    agent.followup(typed('mine'))
    const runId = await world.accept('s', 'one', { timeoutMs: 100 })
    await until(() => agent.inbox.nextTurn.length === 2)
    leave()
    const mine = await world.model.call(0)
    world.clock.advance(100)
    expect(await world.host.wait({ runId })).toMatchObject({ state: 'timed-out' })
    expect(mine.signal?.aborted).toBe(false)
    mine.reply('done')
    await agent.whenIdle()
    expect(conversation(agent)).toHaveLength(1)
  })

  it('covers the opening of the session', async () => {
    const world = await World.boot()
    world.host.registerOpener(() => new Promise(() => undefined))
    const runId = await world.accept('s', 'one', { timeoutMs: 100 })
    await until(() => world.clock.pending === 1)
    world.clock.advance(100)
    expect(await world.host.wait({ runId })).toMatchObject({ state: 'timed-out' })
  })

  it('leaves a run alone that ended in time', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'one', { timeoutMs: 100 })
    ;(await world.model.call(0)).reply('done')
    await world.host.wait({ runId })
    await until(() => world.clock.pending === 0, 'the end of its limits')
    world.clock.advance(1000)
    await settleDown()
    expect(await world.host.read(runId)).toMatchObject({ state: 'ok' })
    expect(world.clock.pending).toBe(0)
  })
})
