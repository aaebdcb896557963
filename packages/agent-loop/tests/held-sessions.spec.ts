/** Sessions whose runs wait, after a restart, for somebody who can open them. */
import { describe, expect, it } from 'vitest'
import { SessionId } from '@deepseek-ai/dsh-session'
import { settleDown, until } from './support/until.ts'
import { occupy, temporaryFolder, typed, World } from './support/world.ts'

const SESSIONS = ['a', 'b', 'c', 'd', 'e', 'f']

/** A world after a restart, in which one run waits in each of six sessions. */
async function worldOfHeld(): Promise<World> {
  const world = await World.boot()
  world.host.registerOpener(() => new Promise(() => undefined))
  for (const sessionId of SESSIONS) await world.accept(sessionId, `to ${sessionId}`)
  return await world.crash()
}

/** An opener whose every answer the test gives. */
function openerOf() {
  const asked: { sessionId: string; signal: AbortSignal; answer: PromiseWithResolvers<undefined> }[] = []
  return {
    asked,
    opener: async (sessionId: string, signal: AbortSignal) => {
      const answer = Promise.withResolvers<undefined>()
      asked.push({ sessionId, signal, answer })
      return await answer.promise
    },
  }
}

describe('an opener that comes when sessions are held', () => {
  it('is asked for all of them, four at a time', async () => {
    const world = await worldOfHeld()
    const { asked, opener } = openerOf()
    world.host.registerOpener(opener)
    await settleDown()
    expect(asked).toHaveLength(4)
    asked[0]?.answer.resolve(undefined)
    await until(() => asked.length === 5)
    await settleDown()
    expect(asked).toHaveLength(5)
    for (const { answer } of asked) answer.resolve(undefined)
    await until(() => asked.length === 6)
    asked[5]?.answer.resolve(undefined)
    await settleDown()
    expect(asked.map(({ sessionId }) => sessionId).toSorted()).toEqual(SESSIONS)
    expect(world.host.lanes().filter(({ running }) => running !== undefined)).toEqual([])
  })

  it('that fails for one is asked for the others all the same', async () => {
    const world = await worldOfHeld()
    const { asked, opener } = openerOf()
    world.host.registerOpener(opener)
    await until(() => asked.length === 4)
    for (const { answer } of asked) answer.reject(new Error('the door is jammed'))
    await until(() => asked.length === 6)
    for (const { answer } of asked) answer.resolve(undefined)
    await settleDown()
    expect(world.host.lanes().map(({ queued }) => queued.length)).toEqual(SESSIONS.map(() => 1))
  })

  it.each([
    ['its undo', async (_world: World, undo: () => void) => undo()],
    ['the end of the host', async (world: World) => await world.unload()],
  ])('is told of %s, and asked for nothing more', async (_what, end) => {
    const world = await worldOfHeld()
    const { asked, opener } = openerOf()
    const undo = world.host.registerOpener(opener)
    await until(() => asked.length === 4)
    await end(world, undo)
    expect(asked.map(({ signal }) => signal.aborted)).toEqual([true, true, true, true])
    for (const { answer } of asked) answer.resolve(undefined)
    await settleDown()
    expect(asked).toHaveLength(4)
  })
})

describe('the inbox of a session that is resumed', () => {
  it('keeps what a person has in it, for the next step and for the next turn', async () => {
    const world = await World.boot({ sessions: await temporaryFolder() })
    const agent = await world.createAgent('s')
    agent.followup(typed('before'))
    ;(await world.model.call(0)).reply('noted')
    await agent.whenIdle()
    occupy(agent)
    await world.accept('s', 'of the host')
    await until(() => agent.inbox.nextTurn.length === 1)
    agent.followup(typed('mine'))
    agent.steer(typed('hint'))
    await world.ctx.sessions.flush(agent.session)
    const next = await world.crash()
    next.model.auto = () => 'ok'
    const { agent: resumed } = await next.ctx.agents.resume({
      resumeSessionId: SessionId('s'),
      agentOptions: { provider: 'gate', model: 'm' },
    })
    await until(() => next.model.calls.length >= 2)
    await resumed.whenIdle()
    const texts = JSON.stringify(resumed.session.events.filter(({ type }) => type === 'user/message'))
    for (const text of ['before', 'mine', 'hint', 'of the host']) expect(texts).toContain(text)
  })
})
