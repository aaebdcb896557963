import { Context } from '@deepseek-ai/cordis'
import { memoryLog } from 'dsh-durable-log'
import { describe, expect, it, onTestFinished } from 'vitest'
import * as plugin from '../src/index.ts'
import { faultyLog } from './support/faulty-log.ts'
import { settleDown, until } from './support/until.ts'
import { bootServices, World } from './support/world.ts'

/** How many listeners each event of the host's kind has. */
function listeners(ctx: Context): Record<string, number> {
  const hooks = (ctx.events as unknown as { _hooks: Record<string, Iterable<unknown> | undefined> })._hooks
  const names = ['agent/created', 'agent/session-start', 'agent/inbox/claimed', 'agent/inbox/discarded']
  const all = [...names, 'agent/status', 'agent/disposed', 'session/event']
  return Object.fromEntries(all.map((name) => [name, [...(hooks[name] ?? [])].length]))
}

describe('the disposal of the host', () => {
  it('leaves the running run open in the log, and refuses and wakes everybody', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    const queued = await world.accept('s', 'two')
    await world.model.call(0)
    const { host } = world
    const ended = host.wait({ runId }).catch((error: unknown) => error)
    await settleDown()
    await world.unload()
    expect(await ended).toMatchObject({ code: 'closed' })
    expect(await world.entries('s')).toEqual(['run/accepted', 'run/accepted', 'run/started'])
    for (const attempt of [
      host.accept({ sessionId: 's', message: 'x', idempotencyKey: 'x' }),
      host.wait({ runId: queued }),
      host.abort({ runId: queued }),
      host.read(queued),
    ]) {
      await expect(attempt).rejects.toMatchObject({ code: 'closed' })
    }
    expect(() => host.registerOpener(async () => undefined)).toThrow(/shutting down/)
    expect(world.clock.pending).toBe(0)
    expect(world.ctx.get('agentLoopHost')).toBeUndefined()
  })

  it('takes its listeners away', async () => {
    const ctx = new Context()
    onTestFinished(async () => void (await ctx.fiber.dispose()))
    await bootServices(ctx, undefined)
    ctx.provide('durableLog', memoryLog())
    const before = listeners(ctx)
    const row = await ctx.plugin(plugin, {})
    expect(
      Object.values(listeners(ctx)).every((count, index) => count > (Object.values(before)[index] ?? 0)),
    ).toBe(true)
    await row.dispose()
    expect(listeners(ctx)).toEqual(before)
  })

  it('is done when a run is being opened, stopped or written', async () => {
    const world = await World.boot()
    const asked: AbortSignal[] = []
    world.host.registerOpener((_sessionId, signal) => {
      asked.push(signal)
      return new Promise(() => undefined)
    })
    await world.accept('opening', 'one')
    await world.createAgent('stopping')
    const stopped = await world.accept('stopping', 'two')
    const call = await world.model.call(0)
    call.deaf = true
    await world.host.abort({ runId: stopped })
    await until(() => asked.length === 1)
    const { host } = world
    const accepting = host.accept({ sessionId: 'late', message: 'three', idempotencyKey: 'k' })
    await world.unload()
    await Promise.allSettled([accepting])
    expect(asked[0]?.aborted).toBe(true)
    expect(world.clock.pending).toBe(0)
    expect(await world.entries('stopping')).toEqual(['run/accepted', 'run/started'])
    call.reply('too late')
  })
})

describe('the disposal of the host in the middle of a write', () => {
  it('ends the repeating of a write that the log does not take', async () => {
    const faulty = faultyLog()
    const world = await World.boot({ log: faulty.log })
    await world.createAgent('s')
    await world.accept('s', 'one')
    const call = await world.model.call(0)
    faulty.failNext(1000, 'before')
    call.reply('done')
    await until(() => faulty.left < 1000)
    await world.unload()
    expect(world.clock.pending).toBe(0)
    expect(await world.entries('s')).toEqual(['run/accepted', 'run/started'])
  })

  it('leaves a run open whose session is not durable yet', async () => {
    const world = await World.boot()
    const flushing = Promise.withResolvers<void>()
    const done = Promise.withResolvers<void>()
    world.ctx.on('session/flush', () => {
      flushing.resolve()
      return done.promise
    })
    await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    ;(await world.model.call(0)).reply('done')
    await flushing.promise
    await world.unload()
    done.resolve()
    expect(await world.entries('s')).toEqual(['run/accepted', 'run/started'])
    await world.mount()
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'done' })
    expect(world.model.calls).toHaveLength(1)
  })
})

describe('the plugin', () => {
  it('boots without configuration, waits for the log, and provides plain functions', async () => {
    const ctx = new Context()
    onTestFinished(async () => void (await ctx.fiber.dispose()))
    await bootServices(ctx, undefined)
    await ctx.plugin(plugin, {})
    expect(ctx.get('agentLoopHost')).toBeUndefined()
    ctx.provide('durableLog', memoryLog())
    await until(() => ctx.get('agentLoopHost') !== undefined)
    const { accept } = ctx.get('agentLoopHost') as plugin.AgentLoopHost
    expect(await accept({ sessionId: 's', message: 'x', idempotencyKey: 'k' })).toMatchObject({
      status: 'accepted',
    })
  })

  it('stands by when another row has loaded it', async () => {
    const ctx = new Context()
    onTestFinished(async () => void (await ctx.fiber.dispose()))
    await bootServices(ctx, undefined)
    ctx.provide('durableLog', memoryLog())
    const rows = await Promise.all([
      ctx.plugin({ ...plugin, name: 'row one' }, {}),
      ctx.plugin({ ...plugin, name: 'row two' }, {}),
    ])
    expect(ctx.get('agentLoopHost')).toBeDefined()
    await rows[0].dispose()
    await until(() => ctx.get('agentLoopHost') !== undefined)
  })

  it('refuses a configuration that makes no sense', async () => {
    expect(() => plugin.Config({ recover: 'some' as never })).toThrow(/recover|some/)
    expect(() => plugin.Config({ graceMs: -1 })).toThrow(/graceMs|-1/)
    expect(plugin.Config({})).toMatchObject({ recover: 'live', defaultTimeoutMs: 600_000, graceMs: 5_000 })
  })
})
