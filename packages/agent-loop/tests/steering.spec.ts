import { describe, expect, it } from 'vitest'
import { settleDown, until } from './support/until.ts'
import { conversation, temporaryFolder, typed, World } from './support/world.ts'

const steer = { queueMode: 'steer' } as const

async function runningWorld() {
  const world = await World.boot()
  const agent = await world.createAgent('s')
  const first = await world.accept('s', 'first')
  const call = await world.model.call(0)
  return { world, agent, first, call }
}

describe('a steer', () => {
  it('runs like any other message when nothing is under way', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'hello', steer)
    ;(await world.model.call(0)).reply('hi')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'hi' })
  })

  it('goes into the open turn and settles with it', async () => {
    const { world, first, call } = await runningWorld()
    const runId = await world.accept('s', 'and this', { queueMode: 'queue' })
    expect(await world.host.queue.list('s')).toMatchObject([{ runId, status: 'steering', mode: 'steer' }])
    call.reply('first thoughts')
    const next = await world.model.call(1)
    expect(next.prompts).toEqual(['first', 'and this'])
    expect(world.host.lanes()).toEqual([{ sessionId: 's', running: first, queued: [] }])
    next.reply('with both')
    for (const id of [first, runId]) {
      expect(await world.host.wait({ runId: id })).toMatchObject({ status: 'ok', reply: 'with both' })
    }
    expect((await world.host.read(first))?.turn).toBe((await world.host.read(runId))?.turn)
    expect(new Set(Object.values(await world.terminalEntries('s')))).toEqual(new Set([1]))
  })

  it('is tried although other messages wait, and keeps its order among its kind', async () => {
    const { world, agent, call } = await runningWorld()
    await world.accept('s', 'later')
    await world.accept('s', 's1', steer)
    await world.accept('s', 's2', steer)
    await until(() => agent.inbox.nextStep.length === 2)
    call.reply('so far')
    const next = await world.model.call(1)
    expect(next.prompts).toEqual(['first', 's1', 's2'])
    next.reply('done')
    expect((await world.model.call(2)).prompt).toBe('later')
  })

  it('goes into the turn of a person', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    agent.followup(typed('mine'))
    const mine = await world.model.call(0)
    const runId = await world.accept('s', 'and this', steer)
    await until(() => agent.inbox.nextStep.length === 1)
    mine.reply('so far')
    const next = await world.model.call(1)
    expect(next.prompts).toEqual(['mine', 'and this'])
    next.reply('both')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'both' })
  })

  it('that comes when the turn is closing has a turn of its own', async () => {
    const { world, agent, first, call } = await runningWorld()
    const stopping = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    agent.ctx.on('session/event', (_session, event) => {
      if (event.type === 'turn/end') stopping.resolve()
    })
    call.reply('done')
    await stopping.promise
    const runId = await world.accept('s', 'too late', steer)
    held.resolve()
    expect(await world.host.wait({ runId: first })).toMatchObject({ reply: 'done' })
    ;(await world.model.call(1)).reply('late but read')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'late but read' })
  })

  it('that the turn does not take keeps its place before what came later', async () => {
    const { world, agent, call } = await runningWorld()
    const runId = await world.accept('s', 's1', steer)
    await until(() => agent.inbox.nextStep.length === 1)
    await world.accept('s', 'later')
    call.fail('QUOTA', 'no')
    const parked = await world.model.call(1)
    expect(parked.prompt).toBe('s1')
    parked.reply('now')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'now' })
    expect((await world.model.call(2)).prompt).toBe('later')
    expect(new Set(conversation(agent)).size).toBe(conversation(agent).length)
  })

  it('is aborted while it is parked, and the turn goes on', async () => {
    const { world, agent, first, call } = await runningWorld()
    const runId = await world.accept('s', 's1', steer)
    await until(() => agent.inbox.nextStep.length === 1)
    expect(await world.host.abort({ runId })).toEqual({ aborted: true, runIds: [runId] })
    expect(await world.host.wait({ runId })).toMatchObject({ state: 'aborted' })
    expect(agent.inbox.nextStep).toHaveLength(0)
    call.reply('done')
    expect(await world.host.wait({ runId: first })).toMatchObject({ reply: 'done' })
    await settleDown()
    expect(world.model.calls).toHaveLength(1)
  })

  it('goes with an abort of its session, and nothing more is asked of the model', async () => {
    const { world, agent } = await runningWorld()
    await world.accept('s', 's1', steer)
    await until(() => agent.inbox.nextStep.length === 1)
    await world.accept('s', 'later')
    const { runIds } = await world.host.abort({ sessionId: 's' })
    expect(runIds).toHaveLength(3)
    for (const runId of runIds) expect(await world.host.wait({ runId })).toMatchObject({ state: 'aborted' })
    await agent.whenIdle()
    await settleDown()
    expect(world.model.calls).toHaveLength(1)
    expect(world.host.lanes()).toEqual([])
  })

  it('that cannot be handed over falls back to a turn of its own, and is not tried again and again', async () => {
    const { world, call } = await runningWorld()
    const attachments = [{ kind: 'image', mediaType: 'image/png', data: 'AAAA' }]
    const runId = await world.accept('s', 'look', { ...steer, attachments })
    await settleDown()
    const before = (await world.entries('s')).length
    await settleDown()
    expect(await world.entries('s')).toHaveLength(before)
    call.reply('done')
    expect(await world.host.wait({ runId })).toMatchObject({ error: { code: 'attachment-failed' } })
    expect(world.model.calls).toHaveLength(1)
  })

  it('passes its own deadline without harm to the turn', async () => {
    const { world, agent, first, call } = await runningWorld()
    const runId = await world.accept('s', 's1', { ...steer, timeoutMs: 100 })
    await until(() => agent.inbox.nextStep.length === 1)
    world.clock.advance(100)
    expect(await world.host.wait({ runId })).toMatchObject({ state: 'timed-out' })
    expect(call.signal?.aborted).toBe(false)
    call.reply('done')
    expect(await world.host.wait({ runId: first })).toMatchObject({ status: 'ok' })
  })

  it('is delivered once after a crash that caught it parked', async () => {
    const world = await World.boot({ sessions: await temporaryFolder() })
    const agent = await world.createAgent('s')
    await world.accept('s', 'first')
    await world.model.call(0)
    const runId = await world.accept('s', 's1', steer)
    await until(() => agent.inbox.nextStep.length === 1)
    await world.ctx.sessions.flush(agent.session)
    const next = await world.crash()
    next.model.auto = (call) => `answer to ${call.prompt}`
    await next.ctx.agents.resume({
      resumeSessionId: agent.id,
      agentOptions: { provider: 'gate', model: 'm' },
    })
    expect(await next.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'answer to s1' })
    const [resumed] = next.ctx.agents.list()
    if (resumed === undefined) throw new Error('nothing was resumed')
    expect(conversation(resumed)).toHaveLength(2)
  })
})

describe('a steer that is kept as well', () => {
  it('goes into the open turn and has a turn of its own', async () => {
    const { world, agent, call } = await runningWorld()
    const runId = await world.accept('s', 'twice', { queueMode: 'steer-backlog' })
    await until(() => agent.inbox.nextStep.length === 1)
    call.reply('so far')
    const next = await world.model.call(1)
    expect(next.prompts).toEqual(['first', 'twice'])
    expect(await world.host.read(runId)).toMatchObject({ state: 'queued' })
    next.reply('done')
    const own = await world.model.call(2)
    expect(own.prompt).toBe('twice')
    own.reply('again')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'again' })
  })

  it('takes the copy back that no turn has read', async () => {
    const { world, agent, call } = await runningWorld()
    await world.accept('s', 'twice', { queueMode: 'steer-backlog' })
    await until(() => agent.inbox.nextStep.length === 1)
    call.fail('QUOTA', 'no')
    expect((await world.model.call(1)).prompts).toEqual(['first', 'twice'])
  })
})
