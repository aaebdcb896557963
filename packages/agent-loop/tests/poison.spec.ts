import { describe, expect, it } from 'vitest'
import { settleDown, until } from './support/until.ts'
import { conversation, temporaryFolder, World } from './support/world.ts'

describe('a message that cannot be handed over', () => {
  it('is tried again with growing pauses, and does not block what comes after it', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const { followup } = agent
    let refusals = 2
    agent.followup = (message) => {
      if (message.content.some((block) => block.type === 'text' && block.text === 'poison') && refusals > 0) {
        refusals -= 1
        throw new Error('not this one')
      }
      followup.call(agent, message)
    }
    const poison = await world.accept('s', 'poison')
    const other = await world.accept('s', 'other')
    ;(await world.model.call(0)).reply('fine')
    expect(await world.host.wait({ runId: other })).toMatchObject({ status: 'ok' })
    expect(await world.host.queue.list('s')).toMatchObject([
      { runId: poison, status: 'deferred', retryAt: world.clock.now() + 1000 },
    ])
    await until(() => world.clock.pending === 1)
    world.clock.advance(1000)
    await until(() => refusals === 0 && world.clock.pending === 1)
    world.clock.advance(1999)
    await settleDown()
    expect(world.model.calls).toHaveLength(1)
    world.clock.advance(1)
    ;(await world.model.call(1)).reply('at last')
    expect(await world.host.wait({ runId: poison })).toMatchObject({ status: 'ok', reply: 'at last' })
    expect(conversation(agent)).toHaveLength(2)
  })

  it('is never put off by more than a minute', async () => {
    const world = await World.boot({ config: { attempts: 9 } })
    const agent = await world.createAgent('s')
    agent.followup = () => {
      throw new Error('not this one')
    }
    const runId = await world.accept('s', 'poison')
    const pauses: number[] = []
    for (let attempt = 1; attempt < 9; attempt += 1) {
      await until(() => world.clock.pending === 1)
      const [item] = await world.host.queue.list('s')
      const pauseMs = (item?.retryAt ?? 0) - world.clock.now()
      pauses.push(pauseMs)
      world.clock.advance(pauseMs)
      await until(() => world.clock.pending === 0)
    }
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
    expect(await world.host.wait({ runId })).toMatchObject({ error: { code: 'send-failed' } })
  })

  it('ends with its reason after the last attempt', async () => {
    const world = await World.boot({ config: { attempts: 2 } })
    const agent = await world.createAgent('s')
    agent.followup = () => {
      throw new Error('not this one')
    }
    const poison = await world.accept('s', 'poison')
    await until(() => world.clock.pending === 1)
    world.clock.advance(1000)
    expect(await world.host.wait({ runId: poison })).toMatchObject({
      state: 'error',
      error: { code: 'send-failed', message: 'not this one' },
    })
    expect((await world.entries('s')).filter((type) => type === 'run/deferred')).toHaveLength(1)
    await until(() => world.host.lanes().length === 0)
    expect(world.host.lanes()).toEqual([])
  })

  it('can be aborted and cancelled while it waits for its next attempt', async () => {
    const world = await World.boot()
    world.host.registerOpener(async () => {
      throw new Error('the door is jammed')
    })
    for (const [session, end] of [
      ['a', (runId: string) => world.host.abort({ runId })],
      ['b', (runId: string) => world.host.queue.cancel(runId)],
    ] as const) {
      const runId = await world.accept(session, `to ${session}`)
      await until(() => world.clock.pending === 1)
      await end(runId)
      expect(await world.host.wait({ runId })).toMatchObject({ state: 'aborted' })
      expect(world.clock.pending).toBe(0)
    }
  })

  it('keeps its pause over a restart', async () => {
    const world = await World.boot()
    world.host.registerOpener(async () => {
      throw new Error('the door is jammed')
    })
    const runId = await world.accept('s', 'one')
    await until(() => world.clock.pending === 1)
    const next = await world.crash()
    await next.createAgent('s')
    await settleDown()
    expect(next.model.calls).toHaveLength(0)
    next.clock.advance(1000)
    ;(await next.model.call(0)).reply('ok')
    expect(await next.host.wait({ runId })).toMatchObject({ status: 'ok' })
  })

  it('that ends the process whenever it is sent is given up after ten times', async () => {
    let world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'poison')
    for (let attempt = 1; attempt < 10; attempt += 1) {
      await world.model.call(0)
      world = await world.crash()
      await world.createAgent('s')
    }
    await world.model.call(0)
    world = await world.crash()
    await world.createAgent('s')
    expect(await world.host.wait({ runId })).toMatchObject({
      state: 'error',
      error: { code: 'too-many-attempts' },
    })
    expect(world.model.calls).toHaveLength(0)
  })
})

describe('a run whose turn a crash cut off', () => {
  async function cutOff(afterCrash: 'interrupt' | 'resume') {
    const world = await World.boot({ sessions: await temporaryFolder() })
    const agent = await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    await world.model.call(0)
    await world.ctx.sessions.flush(agent.session)
    const next = await world.crash({ config: { afterCrash } })
    const { agent: resumed } = await next.ctx.agents.resume({
      resumeSessionId: agent.id,
      agentOptions: { provider: 'gate', model: 'm' },
    })
    return { next, resumed, runId }
  }

  it('is told to go on where that is the policy, once, and settles with that turn', async () => {
    const { next, resumed, runId } = await cutOff('resume')
    const call = await next.model.call(0)
    expect(call.prompts[0]).toBe('one')
    expect(call.prompt).toContain('finish the work')
    call.reply('finished')
    expect(await next.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'finished' })
    expect(conversation(resumed).filter((id) => id.startsWith('run-message_'))).toHaveLength(2)
    expect(await next.terminalEntries('s')).toEqual({ [runId]: 1 })
  })

  it('ends interrupted where it is not', async () => {
    const { next, runId } = await cutOff('interrupt')
    expect(await next.host.wait({ runId })).toMatchObject({ state: 'interrupted' })
    await settleDown()
    expect(next.model.calls).toHaveLength(0)
  })

  it('ends interrupted when its last continuation is cut off as well', async () => {
    const config = { afterCrash: 'resume', attempts: 2 } as const
    const { next, resumed, runId } = await cutOff('resume')
    await next.model.call(0)
    await next.ctx.sessions.flush(resumed.session)
    const third = await next.crash({ config })
    await third.ctx.agents.resume({
      resumeSessionId: resumed.id,
      agentOptions: { provider: 'gate', model: 'm' },
    })
    expect(await third.host.wait({ runId })).toMatchObject({ state: 'interrupted' })
    await settleDown()
    expect(third.model.calls).toHaveLength(0)
  })

  it('settles from the session when the turn of its continuation was over', async () => {
    const { next, resumed, runId } = await cutOff('resume')
    const call = await next.model.call(0)
    const { log } = await next.remains()
    call.reply('finished')
    await next.host.wait({ runId })
    await next.ctx.sessions.flush(resumed.session)
    // The log from before the settlement, the session from after it.
    const { sessions } = await next.remains()
    const third = await World.boot({
      log,
      config: { afterCrash: 'resume' },
      ...(sessions === undefined ? {} : { sessions }),
    })
    await third.ctx.agents.resume({
      resumeSessionId: resumed.id,
      agentOptions: { provider: 'gate', model: 'm' },
    })
    expect(await third.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'finished' })
    expect(third.model.calls).toHaveLength(0)
  })

  it('is told once more when its continuation is cut off as well, up to the limit', async () => {
    const { next, resumed } = await cutOff('resume')
    await next.model.call(0)
    await next.ctx.sessions.flush(resumed.session)
    const third = await next.crash({ config: { afterCrash: 'resume' } })
    await third.ctx.agents.resume({
      resumeSessionId: resumed.id,
      agentOptions: { provider: 'gate', model: 'm' },
    })
    ;(await third.model.call(0)).reply('finished')
    const [view] = await Promise.all(
      (await third.host.queue.list('s')).map(({ runId }) => third.host.read(runId)),
    )
    expect(view).toBeUndefined()
    await until(() => third.host.lanes().length === 0)
    expect((await third.entries('s')).at(-1)).toBe('run/settled')
  })
})
