import { describe, expect, it } from 'vitest'
import { Config, type QueueSettings } from '../src/index.ts'
import { faultyLog } from './support/faulty-log.ts'
import { settleDown, until } from './support/until.ts'
import { conversation, typed, World } from './support/world.ts'

async function worldWith(queue: Partial<QueueSettings> = {}): Promise<World> {
  const world = await World.boot({ config: { queue: { ...Config({}).queue, ...queue } } })
  await world.createAgent('s')
  return world
}

/** A world whose session is busy with a first run. */
async function busyWorld(queue: Partial<QueueSettings> = {}) {
  const world = await worldWith(queue)
  const first = await world.accept('s', 'first')
  const call = await world.model.call(0)
  return { world, first, call }
}

describe('followup', () => {
  it('gives every message a turn of its own, in order', async () => {
    const { world, call } = await busyWorld()
    const runIds = [await world.accept('s', 'one'), await world.accept('s', 'two')]
    world.model.auto = () => 'ok'
    call.reply('done')
    for (const runId of runIds) expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok' })
    expect(world.model.prompts).toEqual(['first', 'one', 'two'])
  })
})

describe('collect', () => {
  it('runs at once when the session is idle', async () => {
    const world = await worldWith({ mode: 'collect' })
    await world.accept('s', 'one')
    expect((await world.model.call(0)).prompt).toBe('one')
  })

  it('tells what came meanwhile in one turn, with the ids, and settles every run with it', async () => {
    const { world, call } = await busyWorld({ mode: 'collect' })
    const one = await world.accept('s', 'one', { messageId: 'mail-1' })
    const two = await world.accept('s', 'two')
    call.reply('done')
    await settleDown()
    expect(world.model.calls).toHaveLength(1)
    world.clock.advance(500)
    const both = await world.model.call(1)
    expect(both.prompt).toContain('2 messages came')
    expect(both.prompt).toMatch(/\[1\/2, mail-1\]\none/)
    expect(both.prompt).toContain(`[2/2, ${two}]\ntwo`)
    both.reply('to both')
    for (const runId of [one, two]) {
      expect(await world.host.wait({ runId })).toMatchObject({
        status: 'ok',
        reply: 'to both',
        result: { prompt: { collected: 2 } },
      })
    }
    expect(world.model.calls).toHaveLength(2)
    expect(new Set(Object.values(await world.terminalEntries('s')))).toEqual(new Set([1]))
    expect(world.host.lanes()).toEqual([])
  })

  it('waits for a pause in the coming, but not for ever', async () => {
    const { world, call } = await busyWorld({ mode: 'collect', debounceMs: 100, maxDebounceMs: 250 })
    call.reply('done')
    for (const text of ['m0', 'm1', 'm2', 'm3']) {
      await world.accept('s', text)
      await settleDown()
      expect(world.model.calls).toHaveLength(1)
      if (text !== 'm3') world.clock.advance(80)
    }
    world.clock.advance(9)
    await settleDown()
    expect(world.model.calls).toHaveLength(1)
    world.clock.advance(1)
    expect((await world.model.call(1)).prompt).toContain('[4/4')
  })

  it('begins when a pause has come', async () => {
    const { world, call } = await busyWorld({ mode: 'collect', debounceMs: 100, maxDebounceMs: 5000 })
    await world.accept('s', 'one')
    call.reply('done')
    await until(() => world.host.lanes()[0]?.running === undefined)
    world.clock.advance(99)
    await settleDown()
    expect(world.model.calls).toHaveLength(1)
    world.clock.advance(1)
    expect((await world.model.call(1)).prompt).toBe('one')
  })

  it('waits behind the turn of a person as well', async () => {
    const world = await worldWith({ mode: 'collect' })
    const [agent] = world.ctx.agents.list()
    agent?.followup(typed('mine'))
    const mine = await world.model.call(0)
    await world.accept('s', 'one')
    mine.reply('to the person')
    await agent?.whenIdle()
    await world.accept('s', 'two')
    await settleDown()
    expect(world.model.calls).toHaveLength(1)
    world.clock.advance(500)
    expect((await world.model.call(1)).prompt).toContain('[2/2')
  })

  it('counts how long it waits anew for what comes after a common turn has begun', async () => {
    const { world, call } = await busyWorld({ mode: 'collect', debounceMs: 100, maxDebounceMs: 250 })
    await world.accept('s', 'one')
    call.reply('done')
    await until(() => world.host.lanes()[0]?.running === undefined)
    world.clock.advance(100)
    const second = await world.model.call(1)
    world.clock.advance(1000)
    await world.accept('s', 'two')
    second.reply('done')
    await until(() => world.host.lanes()[0]?.running === undefined)
    world.clock.advance(99)
    await settleDown()
    expect(world.model.calls).toHaveLength(2)
    world.clock.advance(1)
    expect((await world.model.call(2)).prompt).toBe('two')
  })

  it('leaves a message with other wishes to a turn of its own', async () => {
    const { world, call } = await busyWorld({ mode: 'collect' })
    for (const [text, more] of [
      ['one', {}],
      ['two', {}],
      ['three', { verbose: 'full' }],
      ['four', {}],
    ] as const) {
      await world.accept('s', text, more)
    }
    world.model.auto = () => 'ok'
    call.reply('done')
    world.clock.advance(500)
    await until(() => world.model.calls.length === 4)
    await until(() => world.host.lanes().length === 0)
    expect(world.model.prompts.slice(1)).toEqual([expect.stringContaining('two'), 'three', 'four'])
  })

  it('ends for all when one of them is aborted in the common turn', async () => {
    const { world, call } = await busyWorld({ mode: 'collect' })
    const one = await world.accept('s', 'one')
    const two = await world.accept('s', 'two')
    call.reply('done')
    world.clock.advance(500)
    await world.model.call(1)
    expect(await world.host.abort({ runId: two })).toEqual({ aborted: true, runIds: [one, two] })
    for (const runId of [one, two])
      expect(await world.host.wait({ runId })).toMatchObject({ state: 'aborted' })
  })

  it('is told again as one after a crash, and settled as one', async () => {
    const { world, call } = await busyWorld({ mode: 'collect' })
    const one = await world.accept('s', 'one')
    const two = await world.accept('s', 'two')
    call.reply('done')
    world.clock.advance(500)
    await world.model.call(1)
    const next = await world.crash()
    expect(next.host.lanes()).toEqual([{ sessionId: 's', running: undefined, queued: [one] }])
    await next.createAgent('s')
    const again = await next.model.call(0)
    expect(again.prompt).toContain('one')
    expect(again.prompt).toContain('two')
    again.reply('to both')
    for (const runId of [one, two])
      expect(await next.host.wait({ runId })).toMatchObject({ reply: 'to both' })
    expect((await next.terminalEntries('s'))[two]).toBe(1)
  })
})

describe('interrupt', () => {
  it('stops the run under way, drops what persons queued, and is next', async () => {
    const { world, first } = await busyWorld()
    const waiting = await world.accept('s', 'waiting')
    const provenance = { kind: 'plugin', plugin: 'p', summary: 's' }
    const notice = await world.accept('s', 'notice', { provenance })
    const urgent = await world.accept('s', 'urgent', { queueMode: 'interrupt' })
    expect(await world.host.wait({ runId: first })).toMatchObject({
      state: 'aborted',
      error: { code: 'aborted', message: expect.stringContaining(urgent) },
    })
    expect(await world.host.read(waiting)).toMatchObject({
      state: 'superseded',
      error: { code: 'superseded' },
    })
    const call = await world.model.call(1)
    expect(call.prompt).toBe('urgent')
    call.reply('ok')
    ;(await world.model.call(2)).reply('ok')
    expect(await world.host.wait({ runId: notice })).toMatchObject({ status: 'ok' })
  })

  it('leaves the turn of a person alone', async () => {
    const world = await worldWith()
    const agent = world.ctx.agents.list()[0]
    agent?.followup(typed('mine'))
    const mine = await world.model.call(0)
    await world.accept('s', 'urgent', { queueMode: 'interrupt' })
    await settleDown()
    expect(mine.signal?.aborted).toBe(false)
    mine.reply('to the person')
    expect((await world.model.call(1)).prompt).toBe('urgent')
  })
})

describe('a full queue', () => {
  it('drops the oldest and tells the next turn what they were about', async () => {
    const { world, call } = await busyWorld({ cap: 2 })
    const runIds: string[] = []
    for (const text of ['one', 'two', 'three', 'four']) runIds.push(await world.accept('s', text))
    expect(await world.host.read(runIds[0] ?? '')).toMatchObject({
      state: 'superseded',
      error: { code: 'queue-full' },
    })
    call.reply('done')
    const next = await world.model.call(1)
    expect(next.prompt).toMatch(/2 earlier messages were dropped.*\n- one\n- two\n?three$/s)
    next.reply('ok')
    const last = await world.model.call(2)
    expect(last.prompt).toBe('four')
    last.reply('ok')
    await world.host.wait({ runId: runIds[3] ?? '' })
    expect(world.model.calls).toHaveLength(3)
    expect(await world.host.read(runIds[2] ?? '')).toMatchObject({ result: { prompt: { digested: 2 } } })
  })

  it('with "old" drops the oldest and says nothing', async () => {
    const { world, call } = await busyWorld({ cap: 1, drop: 'old' })
    await world.accept('s', 'one')
    await world.accept('s', 'two')
    call.reply('done')
    expect((await world.model.call(1)).prompt).toBe('two')
  })

  it('with "new" refuses the arrival with a time to ask again, and stores nothing', async () => {
    const { world } = await busyWorld({ cap: 1, drop: 'new' })
    await world.accept('s', 'one')
    const before = (await world.entries('s')).length
    await expect(world.accept('s', 'two')).rejects.toMatchObject({
      code: 'busy',
      retryAfterMs: expect.any(Number),
    })
    expect(await world.entries('s')).toHaveLength(before)
  })

  it('counts a message that waits for its session to be opened', async () => {
    const world = await World.boot({ config: { queue: { ...Config({}).queue, cap: 1, drop: 'new' } } })
    world.host.registerOpener(() => new Promise(() => undefined))
    const one = await world.accept('s', 'one')
    await expect(world.accept('s', 'two')).rejects.toMatchObject({ code: 'busy' })
    expect((await world.host.read(one))?.endedAt).toBeUndefined()
  })

  it('never drops what is under way, a run of a plugin, or a steer', async () => {
    const { world, first } = await busyWorld({ cap: 1 })
    const provenance = { kind: 'plugin', plugin: 'p', summary: 's' }
    const notices = [
      await world.accept('s', 'n1', { provenance }),
      await world.accept('s', 'n2', { provenance }),
    ]
    const one = await world.accept('s', 'one')
    const two = await world.accept('s', 'two')
    expect(await world.host.read(one)).toMatchObject({ state: 'superseded' })
    expect(world.host.lanes()).toEqual([{ sessionId: 's', running: first, queued: [...notices, two] }])
  })

  it('gives way to no run of a plugin and to no steer', async () => {
    const { world } = await busyWorld({ cap: 1 })
    const one = await world.accept('s', 'one')
    const provenance = { kind: 'plugin', plugin: 'p', summary: 's' }
    await world.accept('s', 'notice', { provenance })
    await world.accept('s', 'steered', { queueMode: 'steer' })
    expect(await world.host.read(one)).toMatchObject({ state: 'queued' })
  })

  it('keeps a summary that is due when the policy changes, and tells it once', async () => {
    const { world, call } = await busyWorld({ cap: 1 })
    await world.accept('s', 'one')
    await world.accept('s', 'two')
    await world.host.configure('s', { queue: { drop: 'new' } })
    call.reply('done')
    const next = await world.model.call(1)
    expect(next.prompt).toContain('- one')
    await world.accept('s', 'three')
    next.reply('ok')
    expect((await world.model.call(2)).prompt).toBe('three')
  })
})

describe('a supersede key', () => {
  it('lets the newest win at the place of the oldest, with a count', async () => {
    const { world, call } = await busyWorld()
    const supersedeKey = 'weather'
    const rain = await world.accept('s', 'rain', { supersedeKey })
    const other = await world.accept('s', 'other')
    await world.accept('s', 'wind', { supersedeKey })
    const sun = await world.accept('s', 'sun', { supersedeKey })
    expect(await world.host.wait({ runId: rain })).toMatchObject({
      status: 'error',
      state: 'superseded',
      error: { code: 'superseded' },
    })
    expect(world.host.lanes()[0]?.queued).toEqual([sun, other])
    call.reply('done')
    expect((await world.model.call(1)).prompt).toMatch(/replaces 2 earlier messages about "weather".\n?sun/s)
  })

  it('does not touch the run that is under way', async () => {
    const world = await worldWith()
    const supersedeKey = 'weather'
    const rain = await world.accept('s', 'rain', { supersedeKey })
    const call = await world.model.call(0)
    await world.accept('s', 'sun', { supersedeKey })
    call.reply('ok')
    expect(await world.host.wait({ runId: rain })).toMatchObject({ status: 'ok' })
    expect((await world.model.call(1)).prompt).toBe('sun')
  })
})

describe('an expiry', () => {
  it('drops a run that is still queued by then and lists it', async () => {
    const { world, call } = await busyWorld()
    const runId = await world.accept('s', 'stale', { expiresAt: world.clock.now() + 1000 })
    const wait = world.host.wait({ runId })
    await settleDown()
    world.clock.advance(1000)
    expect(await wait).toMatchObject({ state: 'timed-out', error: { code: 'expired' } })
    expect(await world.host.queue.list('s')).toEqual([
      expect.objectContaining({ runId, status: 'dropped', reason: 'expired', preview: 'stale' }),
    ])
    call.reply('done')
    await settleDown()
    expect(world.model.calls).toHaveLength(1)
  })

  it('that is past when the run would begin keeps it from running', async () => {
    const world = await worldWith()
    const runId = await world.accept('s', 'stale', { expiresAt: world.clock.now() - 1 })
    expect(await world.host.wait({ runId })).toMatchObject({ error: { code: 'expired' } })
    expect(world.model.calls).toHaveLength(0)
  })

  it('does not touch a run that has begun', async () => {
    const world = await worldWith()
    const runId = await world.accept('s', 'in time', { expiresAt: world.clock.now() + 1000 })
    const call = await world.model.call(0)
    world.clock.advance(5000)
    call.reply('done')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok' })
  })

  it('holds over a restart: old messages are not sent again', async () => {
    const { world } = await busyWorld()
    const runId = await world.accept('s', 'stale', { expiresAt: world.clock.now() + 1000 })
    const next = await world.crash()
    next.clock.advance(2000)
    expect(await next.host.wait({ runId })).toMatchObject({ error: { code: 'expired' } })
    await next.createAgent('s')
    await next.model.call(0)
    await settleDown()
    expect(next.model.prompts).toEqual(['first'])
  })
})

describe('a message id', () => {
  it('makes a second delivery the same message, queued, running or done', async () => {
    const world = await worldWith()
    const one = await world.accept('s', 'hello', { messageId: 'm1', idempotencyKey: 'a' })
    const call = await world.model.call(0)
    expect(await world.accept('s', 'hello', { messageId: 'm1', idempotencyKey: 'b' })).toBe(one)
    call.fail('QUOTA', 'no')
    await world.host.wait({ runId: one })
    expect(await world.accept('s', 'hello', { messageId: 'm1', idempotencyKey: 'c' })).toBe(one)
    const next = await world.crash()
    expect(await next.accept('s', 'hello', { messageId: 'm1', idempotencyKey: 'd' })).toBe(one)
    await settleDown()
    expect(world.model.calls).toHaveLength(1)
    expect(next.model.calls).toHaveLength(0)
  })
})

describe('the placement in front', () => {
  it('goes before the messages of persons and keeps their order and its own', async () => {
    const { world, call } = await busyWorld()
    const provenance = { kind: 'plugin', plugin: 'p', summary: 's' }
    await world.accept('s', 'one')
    await world.accept('s', 'two')
    await world.accept('s', 'f1', { provenance, placement: 'front' })
    await world.accept('s', 'f2', { provenance, placement: 'front' })
    world.model.auto = () => 'ok'
    call.reply('done')
    await until(() => world.model.calls.length === 5)
    expect(world.model.prompts).toEqual(['first', 'f1', 'f2', 'one', 'two'])
  })

  it('is the same after a restart', async () => {
    const { world } = await busyWorld()
    const provenance = { kind: 'plugin', plugin: 'p', summary: 's' }
    await world.accept('s', 'one')
    await world.accept('s', 'f1', { provenance, placement: 'front' })
    const next = await world.crash()
    next.model.auto = () => 'ok'
    await next.createAgent('s')
    await until(() => next.model.calls.length === 3)
    expect(next.model.prompts).toEqual(['first', 'f1', 'one'])
  })

  it('is refused to persons', async () => {
    const world = await worldWith()
    await expect(world.accept('s', 'me first', { placement: 'front' })).rejects.toMatchObject({
      code: 'invalid',
    })
  })
})

describe('the queue by hand', () => {
  it('is listed in order', async () => {
    const { world, call } = await busyWorld()
    const one = await world.accept('s', 'one\nwith a second line')
    const two = await world.accept('s', 'two', { expiresAt: world.clock.now() + 5000 })
    expect(await world.host.queue.list('s')).toEqual([
      {
        runId: one,
        status: 'queued',
        mode: 'followup',
        acceptedAt: expect.any(Number),
        preview: 'one with a second line',
      },
      expect.objectContaining({ runId: two, expiresAt: world.clock.now() + 5000 }),
    ])
    expect(await world.host.queue.list('elsewhere')).toEqual([])
    call.reply('done')
  })

  it('cancels a waiting run, once, and no run that has begun', async () => {
    const { world, first } = await busyWorld()
    const one = await world.accept('s', 'one')
    expect(await world.host.queue.cancel(one)).toBe(true)
    expect(await world.host.queue.cancel(one)).toBe(false)
    expect(await world.host.queue.cancel(first)).toBe(false)
    expect(await world.host.queue.cancel('none')).toBe(false)
    expect(await world.host.read(one)).toMatchObject({ state: 'aborted' })
    expect(await world.host.read(first)).toMatchObject({ state: 'running' })
  })

  it('cancels what waits in the lane of another host', async () => {
    const { world } = await busyWorld()
    const other = await World.boot({ log: world.log })
    const queued = await world.accept('s', 'one')
    expect(await other.host.queue.cancel(queued)).toBe(true)
    await until(() => world.host.lanes()[0]?.queued.length === 0)
    expect(await world.host.read(queued)).toMatchObject({ state: 'aborted' })
  })

  it('keeps a run in its place whose cancel the log does not take', async () => {
    const faulty = faultyLog()
    const world = await World.boot({ log: faulty.log })
    await world.createAgent('s')
    const first = await world.accept('s', 'first')
    await world.model.call(0)
    const queued = [await world.accept('s', 'one'), await world.accept('s', 'two')]
    faulty.failNext(10, 'before')
    await expect(world.host.queue.cancel(queued[0] ?? '')).rejects.toMatchObject({ code: 'unavailable' })
    faulty.failNext(0, 'before')
    expect(world.host.lanes()).toEqual([{ sessionId: 's', running: first, queued }])
  })

  it('cannot be taken a steer from that is on its way', async () => {
    const { world } = await busyWorld()
    const steer = await world.accept('s', 'more', { queueMode: 'steer' })
    await until(() => world.ctx.agents.list()[0]?.inbox.nextStep.length === 1)
    expect(await world.host.queue.list('s')).toMatchObject([{ runId: steer, status: 'steering' }])
    expect([await world.host.queue.cancel(steer), await world.host.queue.move(steer)]).toEqual([false, false])
    expect(await world.host.queue.clear('s')).toEqual([])
  })

  it('acts on a cancel before the next item', async () => {
    const { world, call } = await busyWorld()
    const one = await world.accept('s', 'one')
    await world.accept('s', 'two')
    const cancelled = world.host.queue.cancel(one)
    call.reply('done')
    await cancelled
    expect((await world.model.call(1)).prompt).toBe('two')
  })

  it('is cleared of what waits', async () => {
    const { world, first } = await busyWorld()
    const runIds = [await world.accept('s', 'one'), await world.accept('s', 'two')]
    expect(await world.host.queue.clear('s')).toEqual(runIds)
    expect(await world.host.queue.clear('s')).toEqual([])
    expect(world.host.lanes()).toEqual([{ sessionId: 's', running: first, queued: [] }])
  })

  it('is reordered durably', async () => {
    const { world } = await busyWorld()
    const [one, two, three] = [
      await world.accept('s', 'one'),
      await world.accept('s', 'two'),
      await world.accept('s', 'three'),
    ]
    expect(await world.host.queue.move(three, one)).toBe(true)
    expect(await world.host.queue.move(one)).toBe(true)
    expect(world.host.lanes()[0]?.queued).toEqual([three, two, one])
    expect(await world.host.queue.move('none', one)).toBe(false)
    const other = await world.accept('t', 'elsewhere')
    await expect(world.host.queue.move(one, other)).rejects.toMatchObject({ code: 'invalid' })
    const next = await world.crash()
    expect(next.host.lanes()[0]?.queued.slice(1)).toEqual([three, two, one])
  })
})

describe('the settings of a session', () => {
  it('hold for its messages, over a restart, until they are taken back', async () => {
    const { world } = await busyWorld()
    const settings = await world.host.configure('s', { queue: { mode: 'collect', cap: 5 }, verbose: 'on' })
    expect(settings).toMatchObject({ queue: { mode: 'collect', cap: 5, drop: 'summarize' }, verbose: 'on' })
    const runId = await world.accept('s', 'one')
    expect(await world.host.queue.list('s')).toMatchObject([{ runId, mode: 'collect' }])
    const next = await world.crash()
    expect(await next.host.settings('s')).toEqual(settings)
    await next.host.configure('s', { queue: { mode: null }, verbose: null })
    expect(await next.host.settings('s')).toEqual({ queue: { ...Config({}).queue, cap: 5 } })
    expect(await next.host.settings('t')).toEqual({ queue: Config({}).queue })
  })

  it('give way to what a message says for itself', async () => {
    const { world } = await busyWorld({ mode: 'collect' })
    await world.accept('s', 'one', { queueMode: 'followup' })
    expect(await world.host.queue.list('s')).toMatchObject([{ mode: 'followup' }])
  })

  it('are refused when malformed', async () => {
    const world = await worldWith()
    await expect(world.host.configure('s', { queue: { cap: 0 } })).rejects.toMatchObject({ code: 'invalid' })
    await expect(world.host.configure('s', { colour: 'red' } as never)).rejects.toMatchObject({
      code: 'invalid',
    })
  })
})

describe('a message in the idle gap', () => {
  it('runs without another push', async () => {
    const world = await worldWith()
    world.model.auto = () => 'ok'
    const agent = world.ctx.agents.list()[0]
    for (let gap = 0; gap < 12; gap += 1) {
      const before = await world.accept('s', `before ${gap}`)
      await world.host.wait({ runId: before })
      for (let tick = 0; tick < gap; tick += 1) await Promise.resolve()
      const runId = await world.accept('s', `after ${gap}`)
      expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok' })
    }
    expect(new Set(agent === undefined ? [] : conversation(agent)).size).toBe(24)
  })
})
