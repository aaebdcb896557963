import { describe, expect, it } from 'vitest'
import { SessionId } from '@deepseek-ai/dsh-session'
import { settleDown, until } from './support/until.ts'
import { conversation, occupy, temporaryFolder, typed, World } from './support/world.ts'

/** A world on disk whose agent `s` has a session on disk too. */
async function persistentWorld(): Promise<World> {
  const world = await World.boot({ sessions: await temporaryFolder() })
  const agent = await world.createAgent('s')
  agent.followup(typed('before'))
  ;(await world.model.call(0)).reply('noted')
  await agent.whenIdle()
  await world.ctx.sessions.flush(agent.session)
  return world
}

/** Opens the session as the web app does when a person comes back. */
async function resume(world: World, sessionId = 's') {
  const { agent } = await world.ctx.agents.resume({
    resumeSessionId: SessionId(sessionId),
    agentOptions: { provider: 'gate', model: 'm' },
  })
  return agent
}

async function flush(world: World): Promise<void> {
  const session = world.ctx.sessions.get(SessionId('s'))
  if (session !== undefined) await world.ctx.sessions.flush(session)
}

describe('after a restart', () => {
  it('a run that was only accepted runs once its session is live, in order', async () => {
    const world = await persistentWorld()
    const agent = world.ctx.agents.get(SessionId('s'))
    agent?.followup(typed('mine'))
    await world.model.call(1)
    const first = await world.accept('s', 'one')
    const second = await world.accept('s', 'two')
    const third = await world.accept('s', 'three')
    const next = await world.crash()
    expect(next.host.lanes()).toEqual([
      { sessionId: 's', running: undefined, queued: [first, second, third] },
    ])
    await settleDown()
    expect(next.model.calls).toHaveLength(0)
    const wait = next.host.wait({ runId: third })
    next.model.auto = (call) => `answer to ${call.prompt}`
    await resume(next)
    expect(await wait).toMatchObject({ status: 'ok', reply: 'answer to three' })
    expect(await next.host.read(first)).toMatchObject({ state: 'ok', reply: 'answer to one' })
    expect(await next.terminalEntries('s')).toEqual({ [first]: 1, [second]: 1, [third]: 1 })
  })

  it('a run whose turn was open ends as interrupted, and the next one runs', async () => {
    const world = await persistentWorld()
    const first = await world.accept('s', 'one')
    const second = await world.accept('s', 'two')
    await world.model.call(1)
    await flush(world)
    const next = await world.crash()
    const wait = next.host.wait({ runId: first })
    const agent = await resume(next)
    expect(await wait).toMatchObject({ state: 'interrupted', error: { code: 'interrupted' } })
    ;(await next.model.call(0)).reply('two is fine')
    expect(await next.host.wait({ runId: second })).toMatchObject({ status: 'ok' })
    const sent = conversation(agent)
    expect(new Set(sent).size).toBe(sent.length)
    expect(sent).toHaveLength(3)
  })

  it('a run whose turn was over settles from the session, without another turn', async () => {
    const world = await persistentWorld()
    const runId = await world.accept('s', 'one')
    const call = await world.model.call(1)
    const copy = await world.remains()
    call.reply('done already')
    await world.host.wait({ runId })
    await flush(world)
    // The log from before the settlement, the session from after it.
    const { sessions } = await world.remains()
    const next = await World.boot({ log: copy.log, ...(sessions === undefined ? {} : { sessions }) })
    expect(await next.host.read(runId)).toMatchObject({ state: 'running' })
    await resume(next)
    expect(await next.host.wait({ runId })).toMatchObject({
      status: 'ok',
      reply: 'done already',
      usage: { inputTokens: 7, outputTokens: 3 },
    })
    expect(next.model.calls).toHaveLength(0)
    expect(await next.entries('s')).toEqual(['run/accepted', 'run/started', 'run/settled'])
  })

  it('a run whose message the session lost is sent again under the same id', async () => {
    const world = await persistentWorld()
    const { sessions } = await world.remains()
    const runId = await world.accept('s', 'one')
    await world.model.call(1)
    const { log } = await world.remains()
    const next = await World.boot({ log, ...(sessions === undefined ? {} : { sessions }) })
    const agent = await resume(next)
    ;(await next.model.call(0)).reply('done')
    expect(await next.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'done' })
    expect(await next.entries('s')).toEqual(['run/accepted', 'run/started', 'run/started', 'run/settled'])
    expect(conversation(agent).filter((id) => id.startsWith('run-message_'))).toHaveLength(1)
  })

  it('a run whose message was claimed but never reached the conversation is sent again', async () => {
    const world = await persistentWorld()
    const agent = world.ctx.agents.get(SessionId('s'))
    const reached = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    agent?.ctx.on('agent/pre-step', async (_step, next) => {
      reached.resolve()
      await held.promise
      return await next()
    })
    const runId = await world.accept('s', 'one')
    await reached.promise
    await flush(world)
    const next = await world.crash()
    const resumed = await resume(next)
    ;(await next.model.call(0)).reply('done')
    expect(await next.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'done' })
    expect(conversation(resumed)).toHaveLength(2)
    held.resolve()
  })

  it('a run whose message waits in the resumed inbox is woken and not sent twice', async () => {
    const world = await persistentWorld()
    const agent = world.ctx.agents.get(SessionId('s'))
    if (agent !== undefined) occupy(agent)
    const runId = await world.accept('s', 'one')
    await until(() => agent?.inbox.nextTurn.length === 1)
    await flush(world)
    const next = await world.crash()
    const resumed = await resume(next)
    expect(resumed.inbox.nextTurn).toHaveLength(1)
    ;(await next.model.call(0)).reply('done')
    expect(await next.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'done' })
    expect(await next.entries('s')).toEqual(['run/accepted', 'run/started', 'run/settled'])
    expect(conversation(resumed)).toHaveLength(2)
  })

  it('a run that was aborted while its session slept does not run when it wakes up', async () => {
    const world = await persistentWorld()
    const agent = world.ctx.agents.get(SessionId('s'))
    if (agent !== undefined) occupy(agent)
    const runId = await world.accept('s', 'one')
    await until(() => agent?.inbox.nextTurn.length === 1)
    await flush(world)
    const next = await world.crash()
    expect(await next.host.abort({ runId })).toEqual({ aborted: true, runIds: [runId] })
    expect(await next.host.wait({ runId })).toMatchObject({ state: 'aborted' })
    const resumed = await resume(next)
    expect(resumed.inbox.nextTurn).toHaveLength(0)
    await settleDown()
    expect(next.model.calls).toHaveLength(0)
    expect(next.host.lanes()).toEqual([])
  })

  it('no session is adopted by itself, unless it is configured', async () => {
    const world = await persistentWorld()
    const agent = world.ctx.agents.get(SessionId('s'))
    agent?.followup(typed('mine'))
    await world.model.call(1)
    const runId = await world.accept('s', 'one')
    const idle = await world.crash()
    await settleDown()
    expect(idle.ctx.agents.list()).toEqual([])

    const keen = await world.crash({ config: { recover: 'all' } })
    ;(await keen.model.call(0)).reply('done')
    expect(await keen.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'done' })
  })

  it('a session that something is accepted for is opened, and its older runs go first', async () => {
    const world = await persistentWorld()
    const agent = world.ctx.agents.get(SessionId('s'))
    agent?.followup(typed('mine'))
    await world.model.call(1)
    const first = await world.accept('s', 'one')
    const next = await world.crash()
    next.model.auto = (call) => `answer to ${call.prompt}`
    const second = await next.accept('s', 'two')
    expect(await next.host.wait({ runId: second })).toMatchObject({ status: 'ok' })
    expect(await next.host.read(first)).toMatchObject({ state: 'ok' })
    expect(next.model.prompts).toEqual(['one', 'two'])
  })

  it('a run may be accepted again with its key and goes on', async () => {
    const world = await persistentWorld()
    const agent = world.ctx.agents.get(SessionId('s'))
    agent?.followup(typed('mine'))
    await world.model.call(1)
    const runId = await world.accept('s', 'one')
    const next = await world.crash()
    expect(await next.accept('s', 'one')).toBe(runId)
    ;(await next.model.call(0)).reply('done')
    expect(await next.host.wait({ runId })).toMatchObject({ status: 'ok' })
  })
})

describe('after a restart, an opener', () => {
  it('is asked for no session whose runs have all ended', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    await world.createAgent('t')
    const done = await world.accept('s', 'one')
    ;(await world.model.call(0)).reply('done')
    await world.host.wait({ runId: done })
    await world.accept('t', 'two')
    await world.model.call(1)
    const next = await world.crash()
    const asked: string[] = []
    next.host.registerOpener(async (sessionId) => void asked.push(sessionId))
    await until(() => asked.length > 0)
    await settleDown()
    expect(asked).toEqual(['t'])
  })
})

describe('after a reload of the host alone', () => {
  it('a turn that still runs is observed further', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    const queued = await world.accept('s', 'two')
    const call = await world.model.call(0)
    await world.unload()
    await world.mount()
    expect(world.host.lanes()).toEqual([{ sessionId: 's', running: runId, queued: [queued] }])
    await settleDown()
    call.reply('done')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'done' })
    ;(await world.model.call(1)).reply('done too')
    expect(await world.host.wait({ runId: queued })).toMatchObject({ status: 'ok' })
    expect(conversation(agent)).toHaveLength(2)
  })

  it('a turn that ended meanwhile is read from the session', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    const call = await world.model.call(0)
    await world.unload()
    call.fail('QUOTA', 'no')
    await agent.whenIdle()
    await world.mount()
    expect(await world.host.wait({ runId })).toMatchObject({ state: 'error', error: { code: 'QUOTA' } })
    expect(world.model.calls).toHaveLength(1)
  })
})

describe('a stream that cannot be read', () => {
  it('sets its session aside and no other', async () => {
    const world = await World.boot()
    await world.createAgent('good')
    const kept = await world.accept('good', 'one')
    const { log } = await world.remains()
    await log.append('run/bad', 0, [{ type: 'run/forgotten', data: { v: 1 } }])
    const next = await World.boot({ log })
    await expect(next.accept('bad', 'x')).rejects.toMatchObject({ code: 'quarantined' })
    await expect(next.host.abort({ sessionId: 'bad' })).rejects.toMatchObject({ code: 'quarantined' })
    expect(next.host.lanes()).toEqual([{ sessionId: 'good', running: undefined, queued: [kept] }])
    await next.createAgent('good')
    ;(await next.model.call(0)).reply('done')
    expect(await next.host.wait({ runId: kept })).toMatchObject({ status: 'ok' })
    expect(await log.read('run/bad')).toHaveLength(1)
  })

  it('keeps its open runs out of the lanes', async () => {
    const world = await World.boot()
    await world.createAgent('busy')
    await world.accept('busy', 'two')
    await world.model.call(0)
    const { log } = await world.remains()
    await log.append('run/busy', 'any', [{ type: 'run/forgotten', data: { v: 1 } }])
    const next = await World.boot({ log })
    expect(next.host.lanes()).toEqual([])
    await next.createAgent('busy')
    await settleDown()
    expect(next.model.calls).toHaveLength(0)
  })

  it('keeps what stands before the damage readable', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    ;(await world.model.call(0)).reply('done')
    await world.host.wait({ runId })
    const { log } = await world.remains()
    await log.append('run/s', 'any', [
      { type: 'run/settled', data: { v: 1, runId, state: 'ok', endedAt: 1 } },
    ])
    const next = await World.boot({ log })
    expect(await next.host.read(runId)).toMatchObject({ state: 'ok', reply: 'done' })
    await expect(next.accept('s', 'two')).rejects.toMatchObject({ code: 'quarantined' })
  })
})
