import { describe, expect, it } from 'vitest'
import { settleDown, until } from './support/until.ts'
import { occupy, typed, World } from './support/world.ts'

describe('the turn of a person', () => {
  it('before a run is neither disturbed nor taken for the run', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    agent.followup(typed('mine'))
    const mine = await world.model.call(0)
    const runId = await world.accept('s', 'one')
    await settleDown()
    mine.reply('to the person')
    const ours = await world.model.call(1)
    expect(ours.prompt).toBe('one')
    expect(await world.host.wait({ runId, timeoutMs: 0 })).toMatchObject({ state: 'running' })
    ours.reply('to the caller')
    expect(await world.host.wait({ runId })).toMatchObject({
      reply: 'to the caller',
      usage: { inputTokens: 7, outputTokens: 3 },
    })
    expect(await world.host.read(runId)).toMatchObject({ turn: 2 })
  })

  it('between two runs keeps its place', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const first = await world.accept('s', 'one')
    const second = await world.accept('s', 'two')
    const call = await world.model.call(0)
    agent.followup(typed('mine'))
    call.reply('a')
    ;(await world.model.call(1)).reply('b')
    ;(await world.model.call(2)).reply('c')
    expect(world.model.prompts).toEqual(['one', 'mine', 'two'])
    expect(await world.host.wait({ runId: first })).toMatchObject({ reply: 'a' })
    expect(await world.host.wait({ runId: second })).toMatchObject({ reply: 'c' })
  })

  it('that steers a run becomes part of its turn', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    const call = await world.model.call(0)
    agent.steer(typed('and this'))
    call.reply('first thoughts')
    ;(await world.model.call(1)).reply('with both')
    expect(await world.host.wait({ runId })).toMatchObject({
      reply: 'with both',
      usage: { inputTokens: 14, outputTokens: 6 },
    })
  })

  it('that fails does not leave the run behind it parked', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const leave = occupy(agent)
    agent.followup(typed('mine'))
    const runId = await world.accept('s', 'one')
    await until(() => agent.inbox.nextTurn.length === 2)
    leave()
    const mine = await world.model.call(0)
    mine.fail('QUOTA', 'no')
    ;(await world.model.call(1)).reply('done')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'done' })
    expect(world.model.prompts).toEqual(['mine', 'one'])
  })

  it('that the person stops leaves the run waiting until the person goes on', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const leave = occupy(agent)
    agent.followup(typed('mine'))
    const runId = await world.accept('s', 'one')
    await until(() => agent.inbox.nextTurn.length === 2)
    leave()
    await world.model.call(0)
    agent.cancel({ kind: 'user' }, { keepInbox: true })
    await agent.whenIdle()
    await settleDown()
    expect(world.model.calls).toHaveLength(1)
    expect(await world.host.wait({ runId, timeoutMs: 0 })).toMatchObject({ state: 'running' })
    agent.followup(typed('go on'))
    ;(await world.model.call(1)).reply('done')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok', reply: 'done' })
    ;(await world.model.call(2)).reply('and on')
    await agent.whenIdle()
    expect(world.model.prompts).toEqual(['mine', 'one', 'go on'])
  })
})
