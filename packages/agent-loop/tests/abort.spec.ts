import { describe, expect, it } from 'vitest'
import { settleDown, until } from './support/until.ts'
import { conversation, occupy, typed, World } from './support/world.ts'

describe('abort', () => {
  it('settles a queued run at once, and it never starts', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const first = await world.accept('s', 'one')
    const second = await world.accept('s', 'two')
    const call = await world.model.call(0)
    expect(await world.host.abort({ runId: second, cause: 'not needed' })).toEqual({
      aborted: true,
      runIds: [second],
    })
    expect(await world.host.wait({ runId: second, timeoutMs: 0 })).toMatchObject({
      status: 'error',
      state: 'aborted',
      endedAt: world.clock.now(),
      error: { code: 'aborted', message: 'not needed' },
    })
    call.reply('done')
    expect(await world.host.wait({ runId: first })).toMatchObject({ status: 'ok' })
    await settleDown()
    expect(world.model.calls).toHaveLength(1)
    expect(await world.terminalEntries('s')).toEqual({ [first]: 1, [second]: 1 })
  })

  it('cancels the running one and keeps its partial reply', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    const call = await world.model.call(0)
    expect(await world.host.abort({ runId })).toEqual({ aborted: true, runIds: [runId] })
    expect(await world.host.wait({ runId })).toMatchObject({ state: 'aborted', error: { code: 'aborted' } })
    expect(call.signal?.aborted).toBe(true)
    expect(await world.host.read(runId)).toMatchObject({ state: 'aborted', turn: 1 })
  })

  it('works right after the ack', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    for (let turns = 0; turns < 6; turns += 1) {
      const runId = await world.accept('s', `text ${turns}`)
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve()
      expect(await world.host.abort({ runId })).toEqual({ aborted: true, runIds: [runId] })
      expect(await world.host.wait({ runId })).toMatchObject({ state: 'aborted' })
      await agent.whenIdle()
    }
    expect(new Set(Object.values(await world.terminalEntries('s')))).toEqual(new Set([1]))
  })

  it('of a session takes the queued runs first and then the running one', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    await world.createAgent('t')
    const runIds = await Promise.all(['one', 'two', 'three'].map((text) => world.accept('s', text)))
    const other = await world.accept('t', 'other')
    await world.model.call(1)
    expect(await world.host.abort({ sessionId: 's' })).toEqual({ aborted: true, runIds })
    for (const runId of runIds) expect(await world.host.wait({ runId })).toMatchObject({ state: 'aborted' })
    expect(await world.host.wait({ runId: other, timeoutMs: 0 })).toMatchObject({ state: 'running' })
    await settleDown()
    expect(world.model.calls).toHaveLength(2)
    await until(() => world.host.lanes().length === 1)
  })

  it('is idempotent and says so', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    await world.model.call(0)
    await Promise.all([world.host.abort({ runId }), world.host.abort({ runId, cause: 'again' })])
    await world.host.wait({ runId })
    expect(await world.host.abort({ runId })).toEqual({ aborted: false, runIds: [] })
    expect(await world.host.abort({ runId: 'none' })).toEqual({ aborted: false, runIds: [] })
    expect(await world.host.abort({ sessionId: 'none' })).toEqual({ aborted: false, runIds: [] })
    expect(await world.terminalEntries('s')).toEqual({ [runId]: 1 })
  })

  it('refuses a run id of another session', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    await expect(world.host.abort({ runId, sessionId: 't' })).rejects.toMatchObject({ code: 'invalid' })
  })

  it('lets the next run of the lane go on', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const first = await world.accept('s', 'one')
    const second = await world.accept('s', 'two')
    await world.model.call(0)
    await world.host.abort({ runId: first })
    ;(await world.model.call(1)).reply('fine')
    expect(await world.host.wait({ runId: second })).toMatchObject({ status: 'ok', reply: 'fine' })
  })

  it('takes a message back that waits behind the turn of a person, and leaves that turn alone', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const leave = occupy(agent)
    agent.followup(typed('mine'))
    const runId = await world.accept('s', 'one')
    await until(() => agent.inbox.nextTurn.length === 2)
    leave()
    const mine = await world.model.call(0)
    await world.host.abort({ runId })
    expect(await world.host.wait({ runId })).toMatchObject({ state: 'aborted' })
    expect(agent.inbox.nextTurn).toHaveLength(0)
    expect(mine.signal?.aborted).toBe(false)
    mine.reply('to the person')
    await agent.whenIdle()
    expect(conversation(agent)).toHaveLength(1)
    expect(agent.session.events.findLast((event) => event.type === 'turn/end')?.data.reason.kind).toBe(
      'completed',
    )
  })

  it('does not strand what a person queued behind the cancelled turn', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    await world.model.call(0)
    agent.followup(typed('mine'))
    await world.host.abort({ runId })
    const mine = await world.model.call(1)
    expect(mine.prompt).toBe('mine')
    expect(await world.host.wait({ runId })).toMatchObject({ state: 'aborted' })
    mine.reply('to the person')
    await agent.whenIdle()
    expect(conversation(agent)).toHaveLength(2)
  })

  it('ends a run whose session is still being opened', async () => {
    const world = await World.boot()
    const asked: AbortSignal[] = []
    world.host.registerOpener((_sessionId, signal) => {
      asked.push(signal)
      return new Promise(() => undefined)
    })
    const runId = await world.accept('s', 'one')
    await until(() => asked.length === 1)
    await world.host.abort({ runId })
    expect(await world.host.wait({ runId })).toMatchObject({ state: 'aborted' })
    expect(asked[0]?.aborted).toBe(true)
    expect(await world.entries('s')).toEqual(['run/accepted', 'run/settled'])
  })

  it('reaches a run that another host on the same log drives', async () => {
    const one = await World.boot()
    const two = await World.boot({ log: one.log })
    await one.createAgent('s')
    const runId = await one.accept('s', 'hello')
    const call = await one.model.call(0)
    expect(await two.host.abort({ runId })).toEqual({ aborted: true, runIds: [runId] })
    await until(() => call.signal?.aborted === true)
    await until(() => one.host.lanes().length === 0)
    expect(await one.terminalEntries('s')).toEqual({ [runId]: 1 })
  })

  it('reaches a run that waits in the lane of another host', async () => {
    const one = await World.boot()
    const two = await World.boot({ log: one.log })
    await one.createAgent('s')
    const running = await one.accept('s', 'one')
    const queued = await one.accept('s', 'two')
    await one.model.call(0)
    expect(await two.host.abort({ runId: queued })).toEqual({ aborted: true, runIds: [queued] })
    await until(() => one.host.lanes()[0]?.queued.length === 0)
    expect(one.host.lanes()).toEqual([{ sessionId: 's', running, queued: [] }])
  })
})
