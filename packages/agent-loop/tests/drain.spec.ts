import { describe, expect, it } from 'vitest'
import { settleDown } from './support/until.ts'
import { World } from './support/world.ts'

async function busyWorld() {
  const world = await World.boot()
  await world.createAgent('s')
  const running = await world.accept('s', 'one')
  const queued = await world.accept('s', 'two')
  const call = await world.model.call(0)
  return { world, running, queued, call }
}

describe('draining', () => {
  it('refuses what is new, lets finish what runs, and keeps the rest', async () => {
    const { world, running, queued, call } = await busyWorld()
    const draining = world.host.drain()
    await expect(world.accept('s', 'three')).rejects.toMatchObject({ code: 'draining' })
    await expect(world.accept('t', 'three')).rejects.toMatchObject({ code: 'draining' })
    expect(await world.accept('s', 'two')).toBe(queued)
    call.reply('done')
    expect(await draining).toEqual({ left: [] })
    expect(await world.host.wait({ runId: running })).toMatchObject({ status: 'ok' })
    await settleDown()
    expect(world.model.calls).toHaveLength(1)
    expect(await world.host.read(queued)).toMatchObject({ state: 'queued' })
    await world.unload()
    await world.mount()
    ;(await world.model.call(1)).reply('after the restart')
    expect(await world.host.wait({ runId: queued })).toMatchObject({ status: 'ok' })
  })

  it('does not wait longer than its limit, and says what is left', async () => {
    const { world, running, call } = await busyWorld()
    const draining = world.host.drain({ limitMs: 1000 })
    await settleDown()
    world.clock.advance(1000)
    expect(await draining).toEqual({ left: [running] })
    call.reply('late')
    expect(await world.host.wait({ runId: running })).toMatchObject({ status: 'ok' })
  })

  it('with a limit of 0 waits for nothing, and ends nothing', async () => {
    const { world, running, call } = await busyWorld()
    expect(await world.host.drain({ limitMs: 0 })).toEqual({ left: [running] })
    expect(call.signal?.aborted).toBe(false)
    call.reply('done')
    expect(await world.host.wait({ runId: running })).toMatchObject({ status: 'ok' })
    expect(world.model.calls).toHaveLength(1)
  })

  it('is done at once when nothing runs', async () => {
    const world = await World.boot()
    expect(await world.host.drain()).toEqual({ left: [] })
    expect(await world.host.drain()).toEqual({ left: [] })
    expect(world.clock.pending).toBe(0)
  })
})
