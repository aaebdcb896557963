/** What went wrong in public for others, and must not here. */
import { describe, expect, it } from 'vitest'
import { RunControl } from '../src/run-control.ts'
import { settleDown, until } from './support/until.ts'
import { conversation, occupy, typed, World } from './support/world.ts'

describe('the end of a run', () => {
  it('is the first one that comes', () => {
    const control = new RunControl()
    control.stop({ kind: 'abort', cause: 'first' })
    control.stop({ kind: 'deadline', timeoutMs: 1 })
    expect(control.stopped).toEqual({ kind: 'abort', cause: 'first' })
  })

  it('is an abort when the deadline passes after it', async () => {
    const world = await World.boot({ config: { graceMs: 300 } })
    await world.createAgent('s')
    const runId = await world.accept('s', 'one', { timeoutMs: 1000 })
    const call = await world.model.call(0)
    call.deaf = true
    world.clock.advance(900)
    await world.host.abort({ runId })
    world.clock.advance(200)
    await settleDown()
    world.clock.advance(300)
    expect(await world.host.wait({ runId })).toMatchObject({ state: 'aborted' })
  })

  it('frees the lane although the model never heeds the abort', async () => {
    const world = await World.boot({ config: { graceMs: 300, lanes: { main: { width: 1 } } } })
    await world.createAgent('s')
    await world.createAgent('t')
    const runId = await world.accept('s', 'one')
    const call = await world.model.call(0)
    call.deaf = true
    const others = [await world.accept('s', 'two'), await world.accept('t', 'three')]
    await world.host.abort({ runId })
    await settleDown()
    world.clock.advance(300)
    world.model.auto = () => 'ok'
    for (const other of others)
      expect(await world.host.wait({ runId: other })).toMatchObject({ status: 'ok' })
  })

  it('comes no later than the deadline and the grace together', async () => {
    const world = await World.boot({ config: { graceMs: 300 } })
    await world.createAgent('s')
    const runId = await world.accept('s', 'one', { timeoutMs: 3000 })
    const call = await world.model.call(0)
    call.deaf = true
    world.clock.advance(3000)
    await settleDown()
    world.clock.advance(300)
    const outcome = await world.host.wait({ runId })
    expect(outcome).toMatchObject({
      state: 'timed-out',
      error: { message: expect.stringContaining('3000 ms') },
    })
    expect((outcome.endedAt ?? 0) - (outcome.startedAt ?? 0)).toBeLessThanOrEqual(3300)
  })

  it('has one deadline and no other that is hidden somewhere', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'one', { timeoutMs: 2_000_000_000 })
    const call = await world.model.call(0)
    world.clock.advance(1_999_999_999)
    await settleDown()
    expect(call.signal?.aborted).toBe(false)
    call.reply('ok')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok' })
  })
})

describe('a restart', () => {
  it('destroys none of ten queued runs, and runs each once', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    occupy(agent)
    const texts = Array.from({ length: 10 }, (_, index) => `text ${index}`)
    const runIds: string[] = []
    for (const text of texts) runIds.push(await world.accept('s', text))
    const next = await world.crash()
    next.model.auto = () => 'ok'
    await next.createAgent('s')
    for (const runId of runIds) expect(await next.host.wait({ runId })).toMatchObject({ status: 'ok' })
    expect(next.model.prompts).toEqual(texts)
  })

  it('takes an ack for nothing more than it is', async () => {
    const world = await World.boot()
    const runId = await world.accept('s', 'one')
    const next = await world.crash()
    expect(await next.host.read(runId)).toMatchObject({ state: 'queued' })
    expect(await next.host.wait({ runId, timeoutMs: 0 })).toMatchObject({ status: 'timeout' })
  })
})

describe('a message while the session is being compacted', () => {
  it.each(['followup', 'steer', 'collect', 'steer-backlog', 'interrupt'])(
    'as %s is delivered after',
    async (queueMode) => {
      const world = await World.boot()
      const agent = await world.createAgent('s')
      const leave = occupy(agent)
      const runId = await world.accept('s', 'hello', { queueMode })
      await settleDown()
      expect(world.model.calls).toHaveLength(0)
      leave()
      ;(await world.model.call(0)).reply('hi')
      expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'hi' })
      expect(conversation(agent)).toHaveLength(1)
    },
  )
})

describe('a reply that comes after the window', () => {
  it('is there for the next wait, once', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    const call = await world.model.call(0)
    expect(await world.host.wait({ runId, timeoutMs: 0 })).toMatchObject({ status: 'timeout' })
    call.reply('late')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'late' })
    expect(await world.terminalEntries('s')).toEqual({ [runId]: 1 })
  })
})

describe('a stop', () => {
  it('does not wait behind the run it stops', async () => {
    const world = await World.boot({ config: { lanes: { main: { width: 1 } } } })
    await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    await world.model.call(0)
    expect(await world.host.abort({ sessionId: 's' })).toEqual({ aborted: true, runIds: [runId] })
  })

  it('of one turn by a person leaves the runs behind it in order', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const first = await world.accept('s', 'one')
    const rest = [await world.accept('s', 'two'), await world.accept('s', 'three')]
    await world.model.call(0)
    agent.cancel({ kind: 'user' }, { keepInbox: true })
    expect(await world.host.wait({ runId: first })).toMatchObject({ state: 'aborted' })
    world.model.auto = () => 'ok'
    if (world.model.calls.length > 1) world.model.calls[1]?.reply('ok')
    for (const runId of rest) expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok' })
    expect(world.model.prompts).toEqual(['one', 'two', 'three'])
  })
})

describe('a client that goes away', () => {
  it('ends its waiting only', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    const call = await world.model.call(0)
    const client = new AbortController()
    const waiting = world.host.wait({ runId, signal: client.signal }).catch(() => 'gone')
    await settleDown()
    client.abort()
    expect(await waiting).toBe('gone')
    call.reply('ok')
    await until(() => world.host.lanes().length === 0)
    expect(await world.host.read(runId)).toMatchObject({ state: 'ok' })
  })
})

describe('a queued person and a queued run', () => {
  it('are both heard, whoever came first', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    await world.accept('s', 'run one')
    const call = await world.model.call(0)
    await world.accept('s', 'run two')
    agent.followup(typed('mine'))
    world.model.auto = () => 'ok'
    call.reply('ok')
    await until(() => world.model.calls.length === 3)
    expect(world.model.prompts.toSorted()).toEqual(['mine', 'run one', 'run two'])
  })
})
