import { describe, expect, it } from 'vitest'
import { join } from 'node:path'
import { sqliteLog } from 'dsh-durable-log'
import { AgentLoopError } from '../src/index.ts'
import { faultyLog } from './support/faulty-log.ts'
import { settleDown, until } from './support/until.ts'
import { temporaryFolder, World } from './support/world.ts'

const request = { sessionId: 's', message: 'hello', idempotencyKey: 'k' }

async function refused(accept: Promise<unknown>): Promise<AgentLoopError> {
  const error = await accept.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof AgentLoopError) return error
  throw new Error(`not refused but ${String(error)}`)
}

describe('accept', () => {
  it('is durable when it answers, and answers before the run is over', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const accepted = await world.host.accept(request)
    expect(accepted).toEqual({
      runId: expect.stringMatching(/^run_/),
      status: 'accepted',
      acceptedAt: world.clock.now(),
    })
    const [entry] = await world.log.read('run/s')
    expect(entry?.data).toMatchObject({
      v: 2,
      runId: accepted.runId,
      key: 'k',
      request: { message: 'hello' },
    })
  })

  it('refuses a malformed request and leaves nothing behind', async () => {
    const world = await World.boot()
    const error = await refused(world.host.accept({ ...request, message: '' }))
    expect(error.code).toBe('invalid')
    expect(await world.log.list()).toEqual({ streams: [] })
    expect(world.host.lanes()).toEqual([])
  })

  it('gives the same run for the same key and request, running, queued or settled', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const first = await world.host.accept(request)
    world.clock.advance(1000)
    expect(await world.host.accept(request)).toEqual(first)
    ;(await world.model.call(0)).reply('done')
    await world.host.wait({ runId: first.runId })
    expect(await world.host.accept(request)).toEqual(first)
    await settleDown()
    expect(world.model.calls).toHaveLength(1)
    expect(await world.entries('s')).toEqual(['run/accepted', 'run/started', 'run/settled'])
  })

  it('gives one run to many concurrent calls with one key', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const accepted = await Promise.all(Array.from({ length: 20 }, () => world.host.accept(request)))
    expect(new Set(accepted.map((run) => run.runId)).size).toBe(1)
    ;(await world.model.call(0)).reply('done')
    await world.host.wait({ runId: accepted[0]?.runId ?? '' })
    await settleDown()
    expect(world.model.calls).toHaveLength(1)
  })

  it('refuses another request under a known key, also concurrently', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const other = { ...request, message: 'something else' }
    const outcomes = await Promise.allSettled([world.host.accept(request), world.host.accept(other)])
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected'])
    const error = await refused(world.host.accept(other))
    expect(error.code).toBe('conflict')
    expect(error.message).toContain('"k"')
    expect(await world.entries('s')).not.toContain('run/settled')
  })

  it('writes that a run is accepted and started at once, where it begins at once', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    world.model.auto = () => 'ok'
    const appends: string[][] = []
    const { append } = world.log
    world.log.append = (stream, seq, entries, options) => {
      if (stream === 'run/s') appends.push(entries.map(({ type }) => type))
      return append.call(world.log, stream, seq, entries, options)
    }
    for (const message of ['one', 'two']) {
      await world.host.wait({ runId: await world.accept('s', message) })
      await until(() => world.host.lanes().length === 0)
    }
    expect(appends).toEqual([
      ['run/accepted'],
      ['run/started'],
      ['run/settled'],
      ['run/accepted', 'run/started'],
      ['run/settled'],
    ])
  })

  it('takes the same key in another session for another run', async () => {
    const world = await World.boot()
    const [a, b] = await Promise.all([
      world.host.accept(request),
      world.host.accept({ ...request, sessionId: 't' }),
    ])
    expect(a.runId).not.toBe(b.runId)
  })

  it('takes a run id of the caller, once', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    expect((await world.host.accept({ ...request, runId: 'activation-1' })).runId).toBe('activation-1')
    const sameSession = { ...request, idempotencyKey: 'k2', runId: 'activation-1' }
    expect((await refused(world.host.accept(sameSession))).code).toBe('conflict')
    expect((await refused(world.host.accept({ ...sameSession, sessionId: 't' }))).code).toBe('conflict')
    expect(await world.entries('t')).toEqual([])
  })

  it('gives a run id to one of two sessions that ask for it at once', async () => {
    const world = await World.boot()
    const outcomes = await Promise.allSettled(
      ['a', 'b'].map((sessionId) => world.host.accept({ ...request, sessionId, runId: 'mine' })),
    )
    expect(outcomes.map((outcome) => outcome.status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  it('answers the same after a restart on the same file', async () => {
    const path = join(await temporaryFolder(), 'log.sqlite')
    const log = sqliteLog({ path })
    const world = await World.boot({ log })
    await world.createAgent('s')
    const first = await world.host.accept(request)
    ;(await world.model.call(0)).reply('done')
    await world.host.wait({ runId: first.runId })
    await world.unload()
    await log.close()

    const reopened = sqliteLog({ path })
    const next = await World.boot({ log: reopened })
    await next.createAgent('s')
    expect(await next.host.accept(request)).toEqual(first)
    expect((await refused(next.host.accept({ ...request, message: 'other' }))).code).toBe('conflict')
    expect(await next.host.wait({ runId: first.runId })).toMatchObject({ status: 'ok', reply: 'done' })
    expect(next.model.calls).toHaveLength(0)
    await next.unload()
    await reopened.close()
  })

  it('fails when the log fails, and the run is not there', async () => {
    const { log, failNext } = faultyLog()
    const world = await World.boot({ log })
    await world.createAgent('s')
    failNext(1, 'before')
    await expect(world.host.accept(request)).rejects.toMatchObject({ code: 'unavailable' })
    await settleDown()
    expect(world.model.calls).toHaveLength(0)
    const { runId } = await world.host.accept(request)
    ;(await world.model.call(0)).reply('done')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok' })
  })

  it('runs once what the log stored although it said that it failed', async () => {
    const { log, failNext } = faultyLog()
    const world = await World.boot({ log })
    await world.createAgent('s')
    failNext(1, 'after')
    await expect(world.host.accept(request)).rejects.toMatchObject({ code: 'unavailable' })
    const { runId } = await world.host.accept(request)
    ;(await world.model.call(0)).reply('done')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok' })
    expect(await world.entries('s')).toEqual(['run/accepted', 'run/started', 'run/settled'])
  })

  it('leaves a run to the host that accepted it', async () => {
    const one = await World.boot()
    const two = await World.boot({ log: one.log })
    await one.createAgent('s')
    const accepted = await one.host.accept(request)
    await one.model.call(0)
    expect(await two.host.accept(request)).toEqual(accepted)
    await settleDown()
    expect(two.host.lanes()).toEqual([])
    expect(await one.host.read(accepted.runId)).toMatchObject({ state: 'running' })
  })

  it('gives one run, driven once, to two hosts that are asked at the same moment', async () => {
    const one = await World.boot()
    const two = await World.boot({ log: one.log })
    await one.createAgent('s')
    await two.createAgent('s')
    const accepted = await Promise.all([one.host.accept(request), two.host.accept(request)])
    expect(accepted[0].runId).toBe(accepted[1].runId)
    await until(() => one.model.calls.length + two.model.calls.length > 0)
    await settleDown()
    expect(one.model.calls.length + two.model.calls.length).toBe(1)
    expect(one.host.lanes().length + two.host.lanes().length).toBe(1)
  })

  it('drives the run outside of the turn of the agent that asks', async () => {
    const world = await World.boot()
    const asker = await world.createAgent('asker')
    const { agents } = world.ctx
    const initiators: unknown[] = []
    world.host.registerOpener(async (sessionId) => {
      initiators.push(agents.currentInitiator())
      return await world.createAgent(sessionId)
    })
    world.model.auto = () => 'ok'
    const runId = await agents.withInitiator(asker, () => world.accept('s', 'hello'))
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok' })
    expect(initiators).toEqual([undefined])
  })
})

describe('a run whose log is away for a while', () => {
  it('is settled when the log is back, and the lane waits for it', async () => {
    const faulty = faultyLog()
    const world = await World.boot({ log: faulty.log })
    await world.createAgent('s')
    const first = await world.accept('s', 'one')
    const second = await world.accept('s', 'two')
    const call = await world.model.call(0)
    faulty.failNext(2, 'before')
    call.reply('done')
    await until(() => faulty.left === 1)
    await settleDown()
    expect(world.model.calls).toHaveLength(1)
    world.clock.advance(100)
    await until(() => faulty.left === 0)
    await settleDown()
    expect(world.model.calls).toHaveLength(1)
    world.clock.advance(200)
    expect(await world.host.wait({ runId: first })).toMatchObject({ status: 'ok', reply: 'done' })
    ;(await world.model.call(1)).reply('too')
    expect(await world.host.wait({ runId: second })).toMatchObject({ status: 'ok' })
    expect(await world.terminalEntries('s')).toEqual({ [first]: 1, [second]: 1 })
  })

  it('is settled once when the entry was stored although the log said that it failed', async () => {
    const faulty = faultyLog()
    const world = await World.boot({ log: faulty.log })
    await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    const call = await world.model.call(0)
    faulty.failNext(1, 'after')
    call.reply('done')
    await until(() => faulty.left === 0)
    await settleDown()
    world.clock.advance(100)
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok' })
    expect(await world.terminalEntries('s')).toEqual({ [runId]: 1 })
  })
})
