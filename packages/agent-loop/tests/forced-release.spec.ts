/** A turn that somebody else holds up, whatever it waits for, is released after the grace. */
import { SessionId } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { ForcedReleases } from '../src/forced-release.ts'
import type { ModelCall } from './support/gate-model.ts'
import { settleDown, until } from './support/until.ts'
import { typed, World } from './support/world.ts'

/** Holds up whoever comes, until it is lifted for those that come later. */
class Hold {
  isTaken = false
  private isLifted = false

  async stand(): Promise<void> {
    if (this.isLifted) return
    this.isTaken = true
    await new Promise<never>(() => undefined)
  }

  async before<T>(next: () => Promise<T>): Promise<T> {
    await this.stand()
    return await next()
  }

  lift(): void {
    this.isLifted = true
  }
}

/** Everything in a turn that others can listen to and be waited for, and how the turn gets there. */
const PLACES: Readonly<
  Record<string, { put: (world: World, hold: Hold) => void; reach?: (call: ModelCall) => void }>
> = {
  'before a step': {
    put: ({ ctx }, hold) => void ctx.on('agent/pre-step', (_at, next) => hold.before(next)),
  },
  'before a request': {
    put: ({ ctx }, hold) => void ctx.on('agent/request', (_at, next) => hold.before(next)),
  },
  'around the model': {
    put: ({ ctx }, hold) =>
      void ctx.on('llm/stream', async function* (_options, next) {
        yield* next()
        await hold.stand()
      }),
    reach: (call) => call.reply('said'),
  },
  'after a failed request': {
    put: ({ ctx }, hold) => void ctx.on('agent/request-error', (_at, next) => hold.before(next)),
    reach: (call) => call.fail('FLAKY', 'no'),
  },
  'before a tool': {
    put: ({ ctx }, hold) => void ctx.on('tools/pre-execute', (_exec, next) => hold.before(next)),
    reach: (call) => call.useTool('count'),
  },
  'around a tool': {
    put: ({ ctx }, hold) => void ctx.on('tools/execute', (_exec, next) => hold.before(next)),
    reach: (call) => call.useTool('count'),
  },
  'after a tool': {
    put: ({ ctx }, hold) => void ctx.on('tools/post-execute', (_exec, _result, next) => hold.before(next)),
    reach: (call) => call.useTool('count'),
  },
  'by a summary it asks the model for': {
    put: ({ ctx }, hold) => {
      ctx.on('agent/pre-step', async ({ signal }, next) => {
        const messages = [typed('sum it up')]
        for await (const chunk of ctx.llm.stream({ provider: 'gate', model: 'm', messages, signal }))
          if (chunk.type === 'finish') break
        return await next()
      })
      ctx.on('llm/stream', async function* ({ sessionId }, next) {
        if (sessionId === undefined) await hold.stand()
        yield* next()
      })
    },
  },
}

/** A tool that answers at once. */
function registerTool({ ctx }: World, text: string): void {
  ctx.tools.register({
    name: 'count',
    description: 'counts',
    parameters: { type: 'object', properties: {} },
    output: { schema: { type: 'string' }, render: () => [{ type: 'text', text }] },
    execute: async () => 'one',
  })
}

describe('a turn that is held up for ever by somebody else', () => {
  it.each(
    Object.keys(PLACES).flatMap((where) => [
      { where, order: 'before' },
      { where, order: 'behind' },
    ]),
  )('$where, by what is loaded $order the host, is released after the grace', async ({ where, order }) => {
    const world = await World.boot({ config: { graceMs: 300, lanes: { main: { width: 1 } } } })
    await world.createAgent('s')
    registerTool(world, 'one')
    const hold = new Hold()
    if (order === 'before') await world.unload()
    PLACES[where]?.put(world, hold)
    if (order === 'before') await world.mount()
    const first = await world.accept('s', 'one', { timeoutMs: 1000 })
    const second = await world.accept('s', 'two')
    const { reach } = PLACES[where] ?? {}
    if (reach !== undefined) reach(await world.model.call(0))
    await until(() => hold.isTaken, 'the hold')
    hold.lift()
    world.model.auto = () => 'fine'
    world.clock.advance(1000)
    await settleDown()
    expect(await world.host.read(first)).toMatchObject({ state: 'running' })
    world.clock.advance(300)
    expect(await world.host.wait({ runId: first })).toMatchObject({ state: 'timed-out' })
    expect(await world.host.wait({ runId: second })).toMatchObject({ status: 'ok', reply: 'fine' })
    expect(await world.terminalEntries('s')).toEqual({ [first]: 1, [second]: 1 })
  })

  it('in the checking of a result has that result withheld', async () => {
    const world = await World.boot({ config: { graceMs: 300 } })
    const agent = await world.createAgent('s')
    registerTool(world, 'a secret')
    const hold = new Hold()
    world.ctx.on('tools/post-execute', (_exec, _result, next) => hold.before(next))
    const runId = await world.accept('s', 'one', { timeoutMs: 1000 })
    ;(await world.model.call(0)).useTool('count')
    await until(() => hold.isTaken, 'the hold')
    world.clock.advance(1000)
    await settleDown()
    world.clock.advance(300)
    expect(await world.host.wait({ runId })).toMatchObject({ state: 'timed-out' })
    await agent.whenIdle()
    const results = agent.session.events.filter(({ type }) => type === 'tool/result')
    expect(results).toHaveLength(1)
    expect(JSON.stringify(results)).not.toContain('a secret')
  })
})

describe('the release of a turn', () => {
  it('touches no other turn of the session, neither one before nor one after', async () => {
    const world = await World.boot()
    await world.unload()
    const agent = await world.createAgent('s')
    let open = 0
    const releases = new ForcedReleases(world.ctx, () => open)
    const endOf = async (text: string, answer: string): Promise<string | undefined> => {
      open += 1
      agent.followup(typed(text))
      const call = await world.model.call(open - 1)
      if (open === 1) releases.release(agent, 2)
      else releases.release(agent, 1)
      call.reply(answer)
      await agent.whenIdle()
      const end = agent.session.events.findLast((event) => event.type === 'turn/end')
      return end?.data.reason.kind
    }
    expect([await endOf('one', 'first'), await endOf('two', 'second')]).toEqual(['completed', 'completed'])
  })

  it('is over with the turn although nobody said that it has closed', async () => {
    const world = await World.boot()
    await world.unload()
    const agent = await world.createAgent('s')
    let open = 1
    const releases = new ForcedReleases(world.ctx, () => open)
    agent.followup(typed('one'))
    const deaf = await world.model.call(0)
    deaf.deaf = true
    releases.release(agent, 1)
    await agent.whenIdle()
    open = 2
    agent.followup(typed('two'))
    ;(await world.model.call(1)).reply('second')
    await agent.whenIdle()
    const ends = agent.session.events.filter((event) => event.type === 'turn/end')
    expect(ends.map((event) => event.data.reason.kind === 'completed')).toEqual([false, true])
  })

  it('leaves no stream of the model open that its reader has left', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    let isClosed = false
    world.ctx.on('llm/stream', async function* (_options, next) {
      try {
        yield* next()
      } finally {
        isClosed = true
      }
    })
    world.model.auto = () => 'ok'
    const messages = [typed('hello')]
    for await (const _chunk of world.ctx.llm.stream({
      provider: 'gate',
      model: 'm',
      messages,
      sessionId: SessionId('s'),
    }))
      break
    await until(() => isClosed, 'the end of the stream')
    expect(isClosed).toBe(true)
  })
})
