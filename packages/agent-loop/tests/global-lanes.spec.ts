import { SessionId } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import type { RunListener } from '../src/index.ts'
import { settleDown, until } from './support/until.ts'
import { typed, World } from './support/world.ts'

async function worldOf(sessions: readonly string[], config: object = {}): Promise<World> {
  const world = await World.boot({ config })
  for (const session of sessions) await world.createAgent(session)
  return world
}

const lettersTo = (count: number) => Array.from({ length: count }, (_, index) => `s${index}`)

describe('a global lane', () => {
  it('carries four runs of "main" at a time', async () => {
    const sessions = lettersTo(6)
    const world = await worldOf(sessions)
    const runIds = await Promise.all(sessions.map((session) => world.accept(session, `to ${session}`)))
    await until(() => world.model.calls.length === 4)
    await settleDown()
    expect(world.model.calls).toHaveLength(4)
    expect(await world.host.read(runIds[5] ?? '')).toMatchObject({ state: 'queued' })
    expect(world.host.metrics().find(({ lane }) => lane === 'main')).toMatchObject({
      width: 4,
      active: 4,
      depth: 2,
      started: 4,
    })
    world.model.auto = () => 'ok'
    world.model.calls[0]?.reply('ok')
    await world.model.call(4)
  })

  it('gives the sessions of subagents a lane of their own', async () => {
    const world = await World.boot()
    for (const session of lettersTo(10)) {
      const { agent } = await world.ctx.agents.create({
        sessionId: SessionId(session),
        agentOptions: { provider: 'gate', model: 'm' },
        meta: { origin: 'subagent', delegationDepth: 1 },
      })
      await world.accept(agent.id, 'hello')
    }
    await until(() => world.model.calls.length === 8)
    await settleDown()
    expect(world.model.calls).toHaveLength(8)
    for (const call of world.model.calls) call.reply('ok')
    world.model.auto = () => 'ok'
  })

  it('serializes cron and runs targets of "nested" side by side', async () => {
    const sessions = lettersTo(4)
    const world = await worldOf(sessions)
    await world.accept('s0', 'cron one', { lane: 'cron' })
    await world.accept('s1', 'cron two', { lane: 'cron' })
    await world.accept('s2', 'nested one', { lane: 'nested' })
    await world.accept('s3', 'nested two', { lane: 'nested' })
    await until(() => world.model.calls.length === 3)
    await settleDown()
    expect(world.model.prompts.toSorted()).toEqual(['cron one', 'nested one', 'nested two'])
  })

  it('is refused when it is not declared, and named when it is', async () => {
    const world = await worldOf(['s'], { lanes: { batch: { width: 1 } } })
    await expect(world.accept('s', 'x', { lane: 'anything' })).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining('main, subagent, cron, batch, nested'),
    })
    expect(await world.entries('s')).toEqual([])
    await world.accept('s', 'y', { lane: 'batch' })
    expect((await world.model.call(0)).prompt).toBe('y')
  })

  it('that has no room says when to ask again, and knows its runs all the same', async () => {
    const world = await worldOf(['a', 'b', 'c'], { lanes: { main: { width: 1, maxQueued: 1 } } })
    await world.accept('a', 'one')
    await world.model.call(0)
    const queued = await world.accept('b', 'two')
    const refused = await world.accept('c', 'three').catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'busy', retryAfterMs: expect.any(Number) })
    expect((refused as { retryAfterMs: number }).retryAfterMs).toBeGreaterThanOrEqual(1000)
    expect(await world.accept('b', 'two')).toBe(queued)
    expect(await world.entries('c')).toEqual([])
  })

  it('goes to what has the higher priority', async () => {
    const world = await worldOf(['a', 'b', 'c'], { lanes: { main: { width: 1 } } })
    await world.accept('a', 'now')
    const call = await world.model.call(0)
    await world.accept('b', 'some time', { priority: 'background' })
    await world.accept('c', 'soon', { priority: 'foreground' })
    call.reply('ok')
    const next = await world.model.call(1)
    expect(next.prompt).toBe('soon')
    next.reply('ok')
    expect((await world.model.call(2)).prompt).toBe('some time')
  })

  it('is free again after every way in which a run can end', async () => {
    const endings: Record<string, (world: World, runId: string, dispose: () => Promise<unknown>) => unknown> =
      {
        answer: (world) => world.model.calls.at(-1)?.reply('ok'),
        failure: (world) => world.model.calls.at(-1)?.fail('QUOTA', 'no'),
        'output limit': (world) => world.model.calls.at(-1)?.cutShort('so far'),
        abort: (world, runId) => world.host.abort({ runId }),
        deadline: (world) => world.clock.advance(600_000),
        disposal: (_world, _runId, dispose) => dispose(),
      }
    for (const [name, end] of Object.entries(endings)) {
      const world = await worldOf(['t'], { lanes: { main: { width: 1 } } })
      const { dispose } = await world.ctx.agents.create({
        sessionId: SessionId('s'),
        agentOptions: { provider: 'gate', model: 'm' },
      })
      const runId = await world.accept('s', 'one')
      await world.accept('t', 'next')
      await world.model.call(0)
      await end(world, runId, dispose)
      expect([name, (await world.model.call(1)).prompt]).toEqual([name, 'next'])
      const [outcome, main] = [await world.host.wait({ runId }), world.host.metrics()[0]]
      expect([name, outcome.endedAt, main?.active]).toEqual([name, expect.any(Number), 1])
    }
  })
})

describe('a turn that waits', () => {
  /** Runs an operation inside a tool call of a run of this session; the tool answers with what came of it. */
  async function inTurnOf<T>(
    world: World,
    sessionId: string,
    operation: () => Promise<T>,
    more = {},
  ): Promise<T> {
    const name = `wait-${sessionId}`
    const outcome = Promise.withResolvers<T>()
    const undo = world.ctx.tools.register({
      name,
      description: 'waits',
      parameters: { type: 'object', properties: {} },
      output: { schema: { type: 'string' }, render: () => [{ type: 'text', text: 'done' }] },
      execute: async () => {
        await operation().then(outcome.resolve, outcome.reject)
        return 'done'
      },
    })
    const before = world.model.calls.length
    await world.accept(sessionId, `holder of ${sessionId}`, more)
    const call = await world.model.call(before)
    call.useTool(name)
    return await outcome.promise.finally(undo)
  }

  it('for a run of its own session is refused with a code', async () => {
    const world = await worldOf(['s'])
    const waiting = inTurnOf(world, 's', async () => {
      const child = await world.accept('s', 'child')
      return await world.host.wait({ runId: child })
    })
    await expect(waiting).rejects.toMatchObject({ code: 'self-wait' })
    world.model.auto = () => 'ok'
  })

  it('for a run in its own lane is refused, in another one it is not', async () => {
    const world = await worldOf(['s', 't', 'u'], { lanes: { main: { width: 1 } } })
    const outcomes = await inTurnOf(world, 's', async () => {
      const child = await world.accept('t', 'child')
      const nested = await world.accept('u', 'nested', { lane: 'nested' })
      void world.model.call(1).then((call) => call.reply('done'))
      return [
        await world.host.wait({ runId: child }).catch((error: unknown) => error),
        await world.host.wait({ runId: nested }),
        await world.host.wait({ runId: child, timeoutMs: 0 }),
      ]
    })
    expect(outcomes).toMatchObject([
      { code: 'self-wait', message: expect.stringContaining('lane "main"') },
      { status: 'ok' },
      { status: 'timeout', state: 'queued' },
    ])
  })

  it('for a run that has what it needs is not refused', async () => {
    const world = await worldOf(['s', 't'])
    const child = await world.accept('t', 'child')
    const call = await world.model.call(0)
    const waiting = inTurnOf(world, 's', () => world.host.wait({ runId: child }))
    await world.model.call(1)
    await settleDown()
    call.reply('done')
    expect(await waiting).toMatchObject({ status: 'ok' })
  })

  it('in a circle over two sessions is refused where the circle closes', async () => {
    const world = await worldOf(['a', 'b'])
    const second = Promise.withResolvers<string>()
    const outer = inTurnOf(world, 'a', async () => {
      const inner = inTurnOf(
        world,
        'b',
        async () => {
          const back = await world.accept('a', 'back', { lane: 'cron' })
          return await world.host.wait({ runId: back })
        },
        { lane: 'nested', runId: 'inner' },
      ).catch((error: unknown) => error)
      await world.model.call(1)
      const waiting = world.host.wait({ runId: 'inner' })
      second.resolve('waits')
      return await Promise.race([inner, waiting])
    })
    await second.promise
    expect(await outer).toMatchObject({ code: 'self-wait' })
    world.model.auto = () => 'ok'
  })

  it('in the background of a call that is over holds nothing up', async () => {
    const world = await worldOf(['s'])
    const left = Promise.withResolvers<unknown>()
    const go = Promise.withResolvers<void>()
    await inTurnOf(world, 's', async () => {
      const child = await world.accept('s', 'child')
      left.resolve(go.promise.then(() => world.host.wait({ runId: child })))
      void left.promise.catch(() => undefined)
    })
    const next = await world.model.call(1)
    go.resolve()
    await settleDown()
    world.model.auto = () => 'ok'
    next.reply('ok')
    expect(await left.promise).toMatchObject({ status: 'ok' })
  })
})

describe('a turn that DSH starts itself', () => {
  it('is adopted: it holds the lane, is told of, and is not delayed', async () => {
    const world = await worldOf(['s'])
    const [agent] = world.ctx.agents.list()
    const told: unknown[] = []
    const listener: RunListener = {
      started: (run) => void told.push(['started', run.observed, run.turn]),
      observedEnded: (run) => void told.push(['ended', run.runId, run.reason]),
      settled: (run) => void told.push(['settled', run.runId, run.state]),
    }
    const undo = world.host.observe(listener)
    agent?.followup(typed('mine'))
    const mine = await world.model.call(0)
    const runId = await world.accept('s', 'one')
    await settleDown()
    expect(world.host.lanes()).toEqual([
      { sessionId: 's', running: undefined, queued: [runId], observed: { runId: 'turn_s_1', turn: 1 } },
    ])
    expect(world.model.calls).toHaveLength(1)
    mine.reply('to the person')
    ;(await world.model.call(1)).reply('to the caller')
    await world.host.wait({ runId })
    expect(told).toEqual([
      ['started', true, 1],
      ['ended', 'turn_s_1', 'completed'],
      ['started', false, 2],
      ['settled', runId, 'ok'],
    ])
    undo()
    await world.accept('s', 'two')
    await world.model.call(2)
    expect(told).toHaveLength(4)
  })

  it('takes no slot of a global lane', async () => {
    const sessions = lettersTo(6)
    const world = await worldOf(sessions)
    for (const agent of world.ctx.agents.list()) agent.followup(typed('mine'))
    await until(() => world.model.calls.length === 6)
    expect(world.host.metrics()[0]).toMatchObject({ lane: 'main', active: 0, started: 0 })
  })

  it('does not let a run starve, however many a person queues', async () => {
    const world = await worldOf(['s'])
    const [agent] = world.ctx.agents.list()
    world.model.auto = (call) => {
      if (call.prompt.startsWith('mine') && world.model.calls.length < 50) agent?.followup(typed('mine'))
      return 'ok'
    }
    agent?.followup(typed('mine'))
    const runId = await world.accept('s', 'one')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok' })
    expect(world.model.prompts.indexOf('one')).toBeLessThan(20)
  })

  it('that the person stops holds what is queued until something is accepted', async () => {
    const world = await worldOf(['s'])
    const [agent] = world.ctx.agents.list()
    agent?.followup(typed('mine'))
    await world.model.call(0)
    const queued = await world.accept('s', 'one')
    agent?.cancel({ kind: 'user' }, { keepInbox: true })
    await agent?.whenIdle()
    await settleDown()
    expect(world.model.calls).toHaveLength(1)
    world.model.auto = () => 'ok'
    const runIds = [queued, await world.accept('s', 'two')]
    for (const runId of runIds) expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok' })
    expect(world.model.prompts).toEqual(['mine', 'one', 'two'])
  })

  it('that the person stops holds what is queued until something new happens', async () => {
    const world = await worldOf(['s'])
    const [agent] = world.ctx.agents.list()
    agent?.followup(typed('mine'))
    await world.model.call(0)
    const queued = [await world.accept('s', 'one'), await world.accept('s', 'two')]
    agent?.cancel({ kind: 'user' }, { keepInbox: true })
    await agent?.whenIdle()
    await settleDown()
    expect(world.model.calls).toHaveLength(1)
    expect(world.host.lanes()).toEqual([{ sessionId: 's', running: undefined, queued }])
    world.model.auto = () => 'ok'
    agent?.followup(typed('go on'))
    for (const runId of queued) expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok' })
    expect(world.model.prompts).toEqual(['mine', 'go on', 'one', 'two'])
  })
})
