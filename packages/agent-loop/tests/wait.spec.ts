import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { settleDown } from './support/until.ts'
import { World } from './support/world.ts'

async function worldWithRun() {
  const world = await World.boot()
  await world.createAgent('s')
  const runId = await world.accept('s', 'hello')
  const call = await world.model.call(0)
  return { world, runId, call }
}

describe('wait', () => {
  it('answers every waiter when the run settles', async () => {
    const { world, runId, call } = await worldWithRun()
    const waits = Array.from({ length: 5 }, () => world.host.wait({ runId }))
    call.reply('done')
    for (const outcome of await Promise.all(waits))
      expect(outcome).toMatchObject({ status: 'ok', state: 'ok' })
  })

  it('answers at once when the run is settled', async () => {
    const { world, runId, call } = await worldWithRun()
    call.fail('QUOTA', 'no')
    await world.host.wait({ runId })
    expect(await world.host.wait({ runId, timeoutMs: 0 })).toMatchObject({
      status: 'error',
      state: 'error',
      error: { code: 'QUOTA' },
    })
  })

  it('says timeout when only the window passed, and the run goes on', async () => {
    const { world, runId, call } = await worldWithRun()
    const wait = world.host.wait({ runId, timeoutMs: 100 })
    await settleDown()
    world.clock.advance(99)
    await settleDown()
    world.clock.advance(1)
    expect(await wait).toEqual({ status: 'timeout', state: 'running', startedAt: expect.any(Number) })
    call.reply('done')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok' })
  })

  it('waits 30 seconds when nothing is said', async () => {
    const { world, runId } = await worldWithRun()
    const wait = world.host.wait({ runId })
    await settleDown()
    world.clock.advance(30_000)
    expect(await wait).toMatchObject({ status: 'timeout', state: 'running' })
  })

  it('with a window of 0 asks for the state', async () => {
    const { world, runId } = await worldWithRun()
    const queued = await world.accept('s', 'later')
    expect(await world.host.wait({ runId, timeoutMs: 0 })).toMatchObject({
      status: 'timeout',
      state: 'running',
    })
    expect(await world.host.wait({ runId: queued, timeoutMs: 0 })).toEqual({
      status: 'timeout',
      state: 'queued',
    })
  })

  it('refuses an unknown id at once', async () => {
    const world = await World.boot()
    await expect(world.host.wait({ runId: 'none' })).rejects.toMatchObject({ code: 'run-not-found' })
    expect(await world.host.read('none')).toBeUndefined()
  })

  it('refuses a malformed request', async () => {
    const world = await World.boot()
    await expect(world.host.wait({ runId: 'x', timeoutMs: -1 })).rejects.toMatchObject({ code: 'invalid' })
  })

  it('ends with its signal, and the run goes on', async () => {
    const { world, runId, call } = await worldWithRun()
    const controller = new AbortController()
    const wait = world.host.wait({ runId, signal: controller.signal })
    await settleDown()
    controller.abort(new Error('never mind'))
    await expect(wait).rejects.toThrow('never mind')
    await expect(world.host.wait({ runId, signal: controller.signal })).rejects.toThrow('never mind')
    call.reply('done')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok' })
  })

  it('ends with a signal that fires at once', async () => {
    const { world, runId } = await worldWithRun()
    const controller = new AbortController()
    const wait = world.host.wait({ runId, signal: controller.signal })
    controller.abort(new Error('never mind'))
    await expect(wait).rejects.toThrow('never mind')
  })

  it('leaves no timer and no listener behind, however it ends', async () => {
    const { world, runId, call } = await worldWithRun()
    const before = world.clock.pending
    const kept = new AbortController()
    const waits = [
      world.host.wait({ runId, timeoutMs: 10, signal: kept.signal }),
      world.host.wait({ runId, timeoutMs: 1000, signal: kept.signal }),
    ]
    const fired = new AbortController()
    const ended = world.host.wait({ runId, signal: fired.signal }).catch(() => 'ended')
    await settleDown()
    expect(world.clock.pending).toBe(before + 3)
    world.clock.advance(10)
    fired.abort()
    call.reply('done')
    await Promise.all([...waits, ended])
    expect(world.clock.pending).toBe(0)
    expect(getEventListeners(kept.signal, 'abort')).toEqual([])
    expect(getEventListeners(fired.signal, 'abort')).toEqual([])
  })
})

describe('wait between processes', () => {
  it('learns of a run that another host on the same log accepted and settled', async () => {
    const one = await World.boot()
    const two = await World.boot({ log: one.log })
    await one.createAgent('s')
    const runId = await one.accept('s', 'hello')
    const wait = two.host.wait({ runId })
    ;(await one.model.call(0)).reply('done')
    expect(await wait).toMatchObject({ status: 'ok', reply: 'done' })
    expect(two.host.lanes()).toEqual([])
    expect(two.model.calls).toHaveLength(0)
  })
})
