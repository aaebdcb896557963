/** Turns that nobody accepted, and runs that share a turn: each has its events. */
import { describe, expect, it } from 'vitest'
import { settleDown, until } from '../support/until.ts'
import { collect, deltas, isGapless, outline, reader } from '../support/scripted.ts'
import { temporaryFolder, typed, World } from '../support/world.ts'

const TURN = [
  'lifecycle/start',
  'assistant/delta',
  'assistant/text-end',
  'assistant/message-end',
  'lifecycle/end',
]

describe('a turn that a person began', () => {
  it('streams its events under an id of its own', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    agent.followup(typed('hi'))
    const call = await world.model.call(0)
    const events = collect(world.host.subscribe({ runId: 'turn_s_1' }))
    await settleDown()
    call.reply('hello')
    const told = await events
    expect(outline(told)).toEqual(TURN)
    expect(isGapless(told)).toBe(true)
    expect(deltas(told, 'assistant')).toBe('hello')
    expect(told.at(-1)).toMatchObject({ runId: 'turn_s_1', sessionId: 's', data: { state: 'ok' } })
  })

  it('is told to those who follow the session, at its place among the runs', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    world.model.auto = () => 'ok'
    const end = new AbortController()
    const live = reader(world, { sessionId: 's', signal: end.signal })
    const first = live.next()
    await world.host.wait({ runId: await world.accept('s', 'a') })
    world.clock.advance(10)
    agent.followup(typed('b'))
    await agent.whenIdle()
    world.clock.advance(10)
    const last = await world.accept('s', 'c')
    await world.host.wait({ runId: last })
    const runsOf = (events: readonly { runId: string }[]) => [...new Set(events.map(({ runId }) => runId))]
    const told = [await first]
    while (told.at(-1)?.runId !== last || told.at(-1)?.stream !== 'lifecycle' || told.length < 3) {
      told.push(await live.next())
    }
    expect(runsOf(told).slice(1)).toEqual(['turn_s_2', last])
    await live.end()
    const again = reader(world, { sessionId: 's', afterSeq: 0, signal: end.signal })
    const later = [await again.next()]
    while (later.at(-1)?.runId !== last) later.push(await again.next())
    expect(runsOf(later)[1]).toBe('turn_s_2')
    await again.end()
  })

  it('ends as an error when it is stopped, and says which', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    agent.followup(typed('hi'))
    await world.model.call(0)
    const events = collect(world.host.subscribe({ runId: 'turn_s_1' }))
    await settleDown()
    agent.cancel({ kind: 'user' })
    expect((await events).at(-1)).toMatchObject({ data: { phase: 'error', state: 'aborted' } })
  })

  it('can be read later, also by a host that came in the middle of it', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    agent.followup(typed('hi'))
    const call = await world.model.call(0)
    await world.unload()
    await world.mount()
    call.reply('hello')
    await agent.whenIdle()
    const events = await collect(world.host.subscribe({ runId: 'turn_s_1' }))
    expect(outline(events)).toEqual(TURN)
    const after = await world.crash()
    await until(() => after.host !== undefined)
    const kept = await collect(after.host.subscribe({ runId: 'turn_s_1' }))
    expect(outline(kept)).toEqual(['lifecycle/start', 'assistant/message-end', 'lifecycle/end'])
  })

  it('has an id that no run may take, and an unknown one is an error', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    await expect(world.accept('s', 'hi', { runId: 'turn_s_1' })).rejects.toMatchObject({ code: 'invalid' })
    await expect(collect(world.host.subscribe({ runId: 'turn_s_1' }))).rejects.toMatchObject({
      code: 'run-not-found',
    })
  })
})

describe('runs that are told in one turn', () => {
  it('each have its events and their own end', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const blocker = await world.accept('s', 'first')
    const first = await world.model.call(0)
    const one = await world.accept('s', 'one', { queueMode: 'collect' })
    const two = await world.accept('s', 'two', { queueMode: 'collect' })
    first.reply('ok')
    await world.host.wait({ runId: blocker })
    world.clock.advance(500)
    const call = await world.model.call(1)
    expect(call.prompt).toContain('one')
    expect(call.prompt).toContain('two')
    const both = [one, two].map((runId) => collect(world.host.subscribe({ runId })))
    await settleDown()
    call.reply('to both')
    for (const events of await Promise.all(both)) {
      expect(outline(events)).toEqual(TURN)
      expect(isGapless(events)).toBe(true)
      expect(deltas(events, 'assistant')).toBe('to both')
    }
  })

  it('are told from the message on that carries them: a copy of one is not its turn', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    await world.accept('s', 'first')
    const first = await world.model.call(0)
    const copied = await world.accept('s', 'copied', { queueMode: 'steer-backlog' })
    await until(() => agent.inbox.nextStep.length === 1)
    first.reply('so far')
    ;(await world.model.call(1)).reply('with the copy')
    ;(await world.model.call(2)).reply('its own')
    await world.host.wait({ runId: copied })
    const events = await collect(world.host.subscribe({ runId: copied }))
    expect(deltas(events, 'assistant')).toBe('its own')
  })

  it('go on with the continuation of one that a crash cut off', async () => {
    const world = await World.boot({ sessions: await temporaryFolder() })
    const agent = await world.createAgent('s')
    const runId = await world.accept('s', 'work')
    await world.model.call(0)
    await world.ctx.sessions.flush(agent.session)
    const after = await world.crash({ config: { recover: 'all', afterCrash: 'resume' } })
    const call = await after.model.call(0)
    const events = collect(after.host.subscribe({ runId, afterSeq: 1 }))
    await settleDown()
    call.reply('done')
    const told = await events
    expect(deltas(told, 'assistant')).toBe('done')
    expect(isGapless(told, 1)).toBe(true)
    expect((await after.host.wait({ runId })).result?.payloads).toEqual([{ kind: 'answer', text: 'done' }])
  })
})
