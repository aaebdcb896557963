import { describe, expect, it } from 'vitest'
import { Config } from '../src/index.ts'
import { conversation, occupy, World } from './support/world.ts'
import { settleDown, until } from './support/until.ts'

describe('a run', () => {
  it('sends one message with an id of its own and settles with the turn that answers it', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const runId = await world.accept('s', 'hello')
    const call = await world.model.call(0)
    expect(call.prompt).toBe('hello')
    expect(await world.host.read(runId)).toMatchObject({ runId, sessionId: 's', state: 'running' })
    call.reply('hi there')
    expect(await world.host.wait({ runId })).toMatchObject({
      status: 'ok',
      state: 'ok',
      startedAt: world.clock.now(),
      endedAt: world.clock.now(),
      reply: 'hi there',
      usage: { inputTokens: 7, outputTokens: 3 },
    })
    expect(await world.host.read(runId)).toMatchObject({ turn: 1, acceptedAt: world.clock.now() })
    expect(await world.entries('s')).toEqual(['run/accepted', 'run/started', 'run/settled'])
    expect(conversation(agent)).toHaveLength(1)
  })

  it('shows a plugin as the source of its message, never as a person', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    world.model.auto = () => 'ok'
    const provenance = { kind: 'plugin', plugin: 'graphs', summary: 'work "a" is done' }
    const runId = await world.accept('s', 'a finished', { provenance })
    await world.host.wait({ runId })
    const sent = agent.session.events.find((event) => event.type === 'user/message')
    expect(sent?.data).toMatchObject({ source: { ...provenance, form: 'notice' } })
  })

  it('ends as error with the code of the model failure', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'hello')
    ;(await world.model.call(0)).fail('QUOTA', 'no money left')
    expect(await world.host.wait({ runId })).toMatchObject({
      status: 'error',
      state: 'error',
      error: { code: 'QUOTA', message: 'no money left' },
    })
  })

  it('ends as error with its partial reply when the output limit is reached', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'hello')
    ;(await world.model.call(0)).cutShort('half an ans')
    expect(await world.host.wait({ runId })).toMatchObject({
      state: 'error',
      reply: 'half an ans',
      error: { code: 'max-tokens' },
    })
  })

  it('ends as error when a hook refuses its step', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    agent.ctx.on('agent/pre-step', async () => ({ kind: 'reject' }))
    const runId = await world.accept('s', 'hello')
    expect(await world.host.wait({ runId })).toMatchObject({ state: 'error', error: { code: 'blocked' } })
    expect(world.model.calls).toHaveLength(0)
  })

  it('ends as aborted when a person stops its turn', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const runId = await world.accept('s', 'hello')
    await world.model.call(0)
    agent.cancel({ kind: 'user' }, { keepInbox: true })
    expect(await world.host.wait({ runId })).toMatchObject({
      state: 'aborted',
      error: { code: 'aborted', message: 'the turn was cancelled by user' },
    })
  })

  it('ends as interrupted when its agent is disposed under it', async () => {
    const world = await World.boot()
    const handle = await world.ctx.agents.create({
      sessionId: 's' as never,
      agentOptions: { provider: 'gate', model: 'm' },
    })
    const runId = await world.accept('s', 'hello')
    await world.model.call(0)
    await handle.dispose()
    expect(await world.host.wait({ runId })).toMatchObject({
      state: 'interrupted',
      error: { code: 'interrupted' },
    })
  })

  it('ends as aborted when its message is taken out of the inbox', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    occupy(agent)
    const runId = await world.accept('s', 'hello')
    await until(() => agent.inbox.nextTurn.length === 1)
    const [waiting] = agent.inbox.nextTurn
    if (waiting === undefined) throw new Error('nothing waits')
    agent.inbox.remove(waiting.id)
    expect(await world.host.wait({ runId })).toMatchObject({ state: 'aborted', error: { code: 'aborted' } })
  })

  it('ends as open-failed when nobody can open its session', async () => {
    const world = await World.boot()
    const runId = await world.accept('nowhere', 'hello')
    const outcome = await world.host.wait({ runId })
    expect(outcome).toMatchObject({ state: 'error', error: { code: 'open-failed' } })
    expect(outcome.error?.message).toContain('"nowhere"')
    expect(await world.entries('nowhere')).toEqual(['run/accepted', 'run/settled'])
  })
})

describe('a lane', () => {
  it('runs one run of a session at a time, in the order of acceptance', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runIds = await Promise.all(['one', 'two', 'three'].map((text) => world.accept('s', text)))
    for (const [index, text] of ['one', 'two', 'three'].entries()) {
      const call = await world.model.call(index)
      expect(call.prompt).toBe(text)
      await settleDown()
      expect(world.model.calls).toHaveLength(index + 1)
      expect(world.host.lanes()).toEqual([
        { sessionId: 's', running: runIds[index], queued: runIds.slice(index + 1) },
      ])
      call.reply(`answer ${text}`)
      await world.host.wait({ runId: runIds[index] ?? '' })
    }
    await until(() => world.host.lanes().length === 0)
  })

  it('does not hold up other sessions', async () => {
    const world = await World.boot()
    const sessions = ['a', 'b', 'c']
    for (const session of sessions) await world.createAgent(session)
    for (const session of sessions) await world.accept(session, `for ${session}`)
    await until(() => world.model.calls.length === 3)
    expect(world.model.calls.map((call) => call.sessionId).sort()).toEqual(sessions)
    expect(world.host.lanes()).toHaveLength(3)
    for (const call of world.model.calls) call.reply('done')
    await until(() => world.host.lanes().length === 0)
  })

  it('goes on after a run that failed', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    await world.accept('s', 'one')
    const second = await world.accept('s', 'two')
    ;(await world.model.call(0)).fail('QUOTA', 'no')
    ;(await world.model.call(1)).reply('fine')
    expect(await world.host.wait({ runId: second })).toMatchObject({ status: 'ok', reply: 'fine' })
  })

  it('keeps its order over many runs and sessions', async () => {
    const world = await World.boot({ config: { queue: { ...Config({}).queue, cap: 100 } } })
    const answered = new Map<string, string[]>()
    world.model.auto = (call) => {
      answered.set(call.sessionId, [...(answered.get(call.sessionId) ?? []), call.prompt])
      return 'ok'
    }
    const sessions = ['a', 'b', 'c', 'd']
    for (const session of sessions) await world.createAgent(session)
    const texts = Array.from({ length: 25 }, (_, index) => `text ${index}`)
    const accepted = texts.flatMap((text) => sessions.map((session) => world.accept(session, text)))
    for (const runId of await Promise.all(accepted)) await world.host.wait({ runId })
    for (const session of sessions) {
      expect(answered.get(session)).toEqual(texts)
      expect(new Set(Object.values(await world.terminalEntries(session)))).toEqual(new Set([1]))
    }
  })
})
