import { SessionId } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { ManualClock } from './support/manual-clock.ts'
import { Deadline, type PassedLimit } from '../src/deadline.ts'
import { settleDown, until } from './support/until.ts'
import { typed, World } from './support/world.ts'

describe('the limits of a run', () => {
  it('count from its start and pass once, the first of them', () => {
    const clock = new ManualClock()
    const passed: PassedLimit[] = []
    const limits = { timeoutMs: 1000, idleTimeoutMs: 300 }
    const deadline = new Deadline(clock, limits, (limit) => void passed.push(limit))
    clock.advance(200)
    deadline.progress()
    clock.advance(299)
    expect(passed).toEqual([])
    clock.advance(1)
    expect(passed).toEqual([{ kind: 'idle', idleTimeoutMs: 300 }])
    clock.advance(5000)
    expect(passed).toHaveLength(1)
    expect(clock.pending).toBe(0)
  })

  it('are not put off by progress for ever', () => {
    const clock = new ManualClock()
    const passed: PassedLimit[] = []
    const deadline = new Deadline(clock, { timeoutMs: 1000, idleTimeoutMs: 300 }, (limit) =>
      passed.push(limit),
    )
    for (let step = 0; step < 10; step += 1) {
      clock.advance(100)
      deadline.progress()
    }
    expect(passed).toEqual([{ kind: 'deadline', timeoutMs: 1000 }])
    expect(clock.pending).toBe(0)
  })
})

describe('a run that makes no progress', () => {
  it('ends when its idle limit passes, and arrivals in its queue put it off in no way', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'one', { idleTimeoutMs: 1000 })
    await world.model.call(0)
    world.clock.advance(900)
    await world.accept('s', 'two')
    world.clock.advance(99)
    await settleDown()
    expect(await world.host.read(runId)).toMatchObject({ state: 'running' })
    world.clock.advance(1)
    expect(await world.host.wait({ runId })).toMatchObject({
      state: 'timed-out',
      error: { code: 'run-idle', message: 'the run made no progress for 1000 ms' },
    })
  })

  it('is one that writes nothing: words of the model count', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const runId = await world.accept('s', 'one', { idleTimeoutMs: 1000 })
    const call = await world.model.call(0)
    agent.steer(typed('more'))
    world.clock.advance(900)
    call.reply('so far')
    const next = await world.model.call(1)
    world.clock.advance(900)
    expect(await world.host.read(runId)).toMatchObject({ state: 'running' })
    next.reply('done')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok' })
  })
})

describe('the deadline of a lane', () => {
  it('holds for its runs that name none', async () => {
    const world = await World.boot({ config: { lanes: { cron: { width: 1, timeoutMs: 50 } } } })
    await world.createAgent('s')
    await world.createAgent('t')
    const cron = await world.accept('s', 'one', { lane: 'cron' })
    const main = await world.accept('t', 'two')
    await until(() => world.model.calls.length === 2)
    world.clock.advance(50)
    expect(await world.host.wait({ runId: cron })).toMatchObject({ error: { code: 'run-timeout' } })
    expect(await world.host.read(main)).toMatchObject({ state: 'running' })
  })
})

describe('the deadline of a request', () => {
  it('goes before that of its lane, shorter or longer', async () => {
    const world = await World.boot({ config: { lanes: { cron: { width: 2, timeoutMs: 50 } } } })
    await world.createAgent('s')
    await world.createAgent('t')
    const longer = await world.accept('s', 'one', { lane: 'cron', timeoutMs: 100 })
    const shorter = await world.accept('t', 'two', { lane: 'cron', timeoutMs: 20 })
    await until(() => world.model.calls.length === 2)
    world.clock.advance(20)
    expect(await world.host.wait({ runId: shorter })).toMatchObject({ error: { code: 'run-timeout' } })
    world.clock.advance(79)
    await settleDown()
    expect(await world.host.read(longer)).toMatchObject({ state: 'running' })
    world.clock.advance(1)
    expect(await world.host.wait({ runId: longer })).toMatchObject({ error: { code: 'run-timeout' } })
  })
})

describe('a deadline that passes when the turn has just ended', () => {
  it('leaves the answer as it is', async () => {
    const world = await World.boot({ config: { graceMs: 300 } })
    await world.createAgent('s')
    world.ctx.on(
      'session/event',
      (_session, event) => {
        if (event.type === 'turn/end') world.clock.advance(1000)
      },
      { prepend: true },
    )
    const runId = await world.accept('s', 'one', { timeoutMs: 1000 })
    ;(await world.model.call(0)).reply('done')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'done' })
    expect(await world.terminalEntries('s')).toEqual({ [runId]: 1 })
  })
})

describe('a turn that does not heed its end', () => {
  /** A world whose one tool never answers. */
  async function worldWithStuckTool() {
    const world = await World.boot({ config: { graceMs: 300, lanes: { main: { width: 1 } } } })
    const agent = await world.createAgent('s')
    const answer = Promise.withResolvers<string>()
    const calls: string[] = []
    world.ctx.tools.register({
      name: 'stuck',
      description: 'never answers',
      parameters: { type: 'object', properties: {} },
      output: {
        schema: { type: 'string' },
        render: (_args, value) => [{ type: 'text', text: String(value) }],
      },
      execute: async () => {
        calls.push('called')
        return await answer.promise
      },
    })
    return { world, agent, answer, calls }
  }

  it('in a tool is released after the grace, and the next run of the session starts', async () => {
    const { world, agent, answer, calls } = await worldWithStuckTool()
    const first = await world.accept('s', 'one', { timeoutMs: 1000 })
    const second = await world.accept('s', 'two')
    ;(await world.model.call(0)).useTool('stuck')
    await until(() => calls.length === 1)
    world.clock.advance(1000)
    await settleDown()
    expect(await world.host.read(first)).toMatchObject({ state: 'running' })
    world.clock.advance(300)
    expect(await world.host.wait({ runId: first })).toMatchObject({ state: 'timed-out' })
    const next = await world.model.call(1)
    expect(next.prompt).toBe('two')
    next.reply('fine')
    expect(await world.host.wait({ runId: second })).toMatchObject({ status: 'ok', reply: 'fine' })
    expect(world.host.metrics().find(({ lane }) => lane === 'main')).toMatchObject({ forcedReleases: 1 })
    const events = agent.session.events.length
    answer.resolve('far too late')
    await settleDown()
    expect(agent.session.events).toHaveLength(events)
    expect(await world.terminalEntries('s')).toEqual({ [first]: 1, [second]: 1 })
  })

  it('in the model is released as well, and lets ten successors run in order', async () => {
    const world = await World.boot({ config: { graceMs: 300 } })
    await world.createAgent('s')
    const first = await world.accept('s', 'hung', { timeoutMs: 1000 })
    const texts = Array.from({ length: 10 }, (_, index) => `text ${index}`)
    const runIds = await Promise.all(texts.map((text) => world.accept('s', text)))
    const hung = await world.model.call(0)
    hung.deaf = true
    world.model.auto = () => 'ok'
    world.clock.advance(1000)
    await settleDown()
    world.clock.advance(300)
    expect(await world.host.wait({ runId: first })).toMatchObject({ state: 'timed-out' })
    for (const runId of runIds) expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok' })
    expect(world.model.prompts.slice(1)).toEqual(texts)
  })

  it('frees the global slot for other sessions', async () => {
    const { world, calls } = await worldWithStuckTool()
    await world.createAgent('t')
    await world.accept('s', 'one', { timeoutMs: 1000 })
    await world.accept('t', 'other')
    ;(await world.model.call(0)).useTool('stuck')
    await until(() => calls.length === 1)
    world.clock.advance(1000)
    await settleDown()
    world.clock.advance(300)
    const next = await world.model.call(1)
    expect(next.sessionId).toBe(SessionId('t'))
  })

  it('is asked for nothing more of what it still tries', async () => {
    const { world, calls } = await worldWithStuckTool()
    await world.accept('s', 'one', { timeoutMs: 1000 })
    ;(await world.model.call(0)).useTool('stuck', 'stuck', 'stuck')
    await until(() => calls.length === 1)
    world.clock.advance(1000)
    await settleDown()
    world.clock.advance(300)
    await until(() => world.host.lanes().length === 0)
    await settleDown()
    expect(calls).toHaveLength(1)
    expect(world.model.calls).toHaveLength(1)
  })
})
