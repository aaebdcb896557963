/** Hooks where runs and queue modes meet them. */
import { describe, expect, it } from 'vitest'
import { settleDown, until } from '../support/until.ts'
import { typed, World } from '../support/world.ts'
import { listen } from './support/hook-world.ts'

describe('the reply of a turn that several runs are told in', () => {
  it('passes the hooks once, and is what each of them gets', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    let sent = 0
    await listen(world.ctx, 'polite', (hook) => {
      hook('message_sending', ({ content }) => {
        sent += 1
        return { content: `${content}!` }
      })
    })
    const first = await world.accept('s', 'first')
    const call = await world.model.call(0)
    const steered = await world.accept('s', 'steered', { queueMode: 'steer' })
    await until(() => agent.inbox.nextStep.length === 1)
    call.reply('so far')
    ;(await world.model.call(1)).reply('with both')
    for (const runId of [first, steered]) {
      expect(await world.host.wait({ runId })).toMatchObject({ reply: 'with both!' })
    }
    expect(sent).toBe(1)
  })
})

describe('message_received', () => {
  it('tells a message once that goes into a turn as a copy and has one of its own', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const received: string[] = []
    await listen(world.ctx, 'reader', (hook) => {
      hook('message_received', ({ content }) => void received.push(content))
    })
    await world.accept('s', 'first')
    const first = await world.model.call(0)
    const copied = await world.accept('s', 'copied', { queueMode: 'steer-backlog' })
    await until(() => agent.inbox.nextStep.length === 1)
    world.model.auto = () => 'ok'
    first.reply('ok')
    await world.host.wait({ runId: copied })
    await settleDown()
    expect(received).toEqual(['first', 'copied'])
  })
})

describe('the run of a turn', () => {
  it('is not the one whose copy a person’s turn reads', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const ends: unknown[] = []
    await listen(world.ctx, 'reader', (hook) => {
      hook('agent_end', ({ turn, runId }) => void ends.push([turn, runId]))
    })
    agent.followup(typed('mine'))
    const mine = await world.model.call(0)
    const copied = await world.accept('s', 'copied', { queueMode: 'steer-backlog' })
    await until(() => agent.inbox.nextStep.length === 1)
    world.model.auto = () => 'ok'
    mine.reply('ok')
    await world.host.wait({ runId: copied })
    await settleDown()
    expect(ends).toEqual([
      [1, undefined],
      [2, copied],
    ])
  })
})

describe('a model that a run asks for', () => {
  it('gives way to the choice of a hook, and the turn after goes back to the model of the session', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    world.model.auto = () => 'ok'
    await listen(world.ctx, 'router', (hook) => {
      hook('before_model_resolve', ({ prompt }) => (prompt === 'both' ? { modelOverride: 'x' } : null))
    })
    const model = { provider: 'gate', model: 'y' }
    for (const [text, more] of [
      ['own', {}],
      ['both', { model }],
      ['own again', {}],
      ['run', { model }],
      ['own at last', {}],
    ] as const) {
      await world.host.wait({ runId: await world.accept('s', text, more) })
    }
    expect(world.model.calls.map((call) => call.model)).toEqual(['m', 'x', 'm', 'y', 'm'])
  })
})
