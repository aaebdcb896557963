import { describe, expect, it } from 'vitest'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { SessionId } from '@deepseek-ai/dsh-session'
import { settleDown, until } from './support/until.ts'
import { temporaryFolder, typed, World } from './support/world.ts'

describe('an opener', () => {
  it('is asked in the order of registration, before the session is resumed', async () => {
    const world = await World.boot()
    const asked: string[] = []
    world.host.registerOpener(async () => void asked.push('first'))
    world.host.registerOpener(async (sessionId) => {
      asked.push('second')
      return await world.createAgent(sessionId)
    })
    world.host.registerOpener(async () => void asked.push('third'))
    const runId = await world.accept('s', 'one')
    ;(await world.model.call(0)).reply('done')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok' })
    expect(asked).toEqual(['first', 'second'])
  })

  it('is not asked when the agent is live, nor after its undo', async () => {
    const world = await World.boot()
    const asked: string[] = []
    const undo = world.host.registerOpener(async (sessionId) => void asked.push(sessionId))
    await world.createAgent('live')
    const first = await world.accept('live', 'one')
    ;(await world.model.call(0)).reply('done')
    await world.host.wait({ runId: first })
    undo()
    undo()
    const second = await world.accept('other', 'two')
    expect(await world.host.wait({ runId: second })).toMatchObject({ error: { code: 'open-failed' } })
    expect(asked).toEqual([])
  })

  it('that fails again and again ends the run as open-failed with its reason', async () => {
    const world = await World.boot()
    world.host.registerOpener(async () => {
      throw new Error('the door is jammed')
    })
    const runId = await world.accept('s', 'one')
    for (const pauseMs of [1000, 2000]) {
      await until(() => world.clock.pending === 1)
      expect(await world.host.wait({ runId, timeoutMs: 0 })).toMatchObject({ state: 'queued' })
      world.clock.advance(pauseMs)
    }
    expect(await world.host.wait({ runId })).toMatchObject({
      state: 'error',
      error: { code: 'open-failed', message: 'the door is jammed' },
    })
    expect(await world.entries('s')).toEqual(['run/accepted', 'run/deferred', 'run/deferred', 'run/settled'])
  })

  it('that answers with another session is refused', async () => {
    const world = await World.boot()
    const wrong = await world.createAgent('wrong')
    world.host.registerOpener(async () => wrong)
    const runId = await world.accept('s', 'one')
    expect(await world.host.wait({ runId })).toMatchObject({ error: { code: 'open-failed' } })
    expect(world.model.calls).toHaveLength(0)
  })

  it('that comes later takes up the runs it claims and no others', async () => {
    const world = await World.boot()
    for (const session of ['mine', 'theirs']) {
      const agent = await world.createAgent(session)
      agent.followup(typed('busy'))
    }
    await until(() => world.model.calls.length === 2)
    const mine = await world.accept('mine', 'one')
    const theirs = await world.accept('theirs', 'two')
    const next = await world.crash()
    next.model.auto = () => 'done'
    next.host.registerOpener(async (sessionId) =>
      sessionId === 'mine' ? await next.createAgent(sessionId) : undefined,
    )
    expect(await next.host.wait({ runId: mine })).toMatchObject({ status: 'ok' })
    await settleDown()
    expect(next.host.lanes()).toEqual([{ sessionId: 'theirs', running: undefined, queued: [theirs] }])
  })

  it('that fails for a waiting session leaves its runs waiting', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    agent.followup(typed('busy'))
    await world.model.call(0)
    const runId = await world.accept('s', 'one')
    const next = await world.crash()
    next.host.registerOpener(async () => {
      throw new Error('not now')
    })
    await settleDown()
    expect(next.host.lanes()).toEqual([{ sessionId: 's', running: undefined, queued: [runId] }])
  })
})

describe('a persisted session that nobody claims', () => {
  async function closedSession(meta: object = {}): Promise<World> {
    const world = await World.boot({ sessions: await temporaryFolder() })
    const handle = await world.ctx.agents.create({
      sessionId: SessionId('s'),
      agentOptions: { provider: 'gate', model: 'chosen' },
      meta,
    })
    handle.agent.followup(typed('before'))
    ;(await world.model.call(0)).reply('noted')
    await handle.agent.whenIdle()
    await world.ctx.sessions.flush(handle.agent.session)
    await handle.dispose()
    return world
  }

  it('is resumed with the model it used', async () => {
    const world = await closedSession()
    const runId = await world.accept('s', 'one')
    const call = await world.model.call(1)
    expect(call.prompts).toEqual(['before', 'one'])
    const agent = world.ctx.agents.get(SessionId('s'))
    expect(agent?.options).toMatchObject({ provider: 'gate', model: 'chosen' })
    call.reply('done')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok' })
  })

  it('joins the preset it was composed from', async () => {
    const world = await closedSession({ agentPreset: 'careful' })
    const mounted: [Agent | undefined, string | undefined][] = []
    world.ctx.provide('agentPresets', {
      mount: async (ctx: { agent?: Agent }, id?: string) => void mounted.push([ctx.agent, id]),
    })
    const runId = await world.accept('s', 'one')
    ;(await world.model.call(1)).reply('done')
    await world.host.wait({ runId })
    expect(mounted).toEqual([[world.ctx.agents.get(SessionId('s')), 'careful']])
  })

  it('is not opened when it belongs to a parent', async () => {
    const world = await closedSession({ origin: 'subagent', delegationDepth: 1 })
    const runId = await world.accept('s', 'one')
    const outcome = await world.host.wait({ runId })
    expect(outcome).toMatchObject({ error: { code: 'open-failed' } })
    expect(outcome.error?.message).toContain('subagent')
    expect(world.ctx.agents.list()).toEqual([])
  })

  it('goes with the host that resumed it', async () => {
    const world = await closedSession()
    const runId = await world.accept('s', 'one')
    ;(await world.model.call(1)).reply('done')
    await world.host.wait({ runId })
    await world.unload()
    expect(world.ctx.agents.list()).toEqual([])
  })
})
