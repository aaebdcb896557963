/** Runs whose session is compacted in their middle. What compacts is DSH's own engine. */
import BasicCompactionEngine from '@deepseek-ai/dsh-compaction-basic'
import TokenMeter from '@deepseek-ai/dsh-token-meter'
import { SessionId } from '@deepseek-ai/dsh-session'
import { ScriptedLlm, type StepSource } from 'dsh-llm-scripted'
import { describe, expect, it } from 'vitest'
import { collect, eventsOf } from './support/scripted.ts'
import { until } from './support/until.ts'
import { World } from './support/world.ts'

const TALK = 'And on it goes. '.repeat(200)
const OVERFLOW: StepSource = { fault: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'too long' } }

async function compactingWorld(summary: StepSource, talk: readonly StepSource[]) {
  const world = await World.boot()
  await world.ctx.plugin(TokenMeter)
  await world.ctx.plugin(BasicCompactionEngine, { auto: true })
  const llm = new ScriptedLlm({
    tracks: [
      { name: 'summary', match: { purpose: 'compaction' }, steps: [summary] },
      { name: 'talk', match: {}, steps: [...talk] },
    ],
  })
  world.ctx.llm.registerAdapter(['long'], llm)
  const { agent } = await world.ctx.agents.create({
    sessionId: SessionId('s'),
    agentOptions: { provider: 'long', model: 'm' },
  })
  await eventsOf(world, 's', 'a long story')
  const compactions = () => agent.session.events.filter(({ type }) => type.startsWith('compaction/'))
  return { world, agent, compactions }
}

const typesOf = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type)

describe('a compaction that overflows itself', () => {
  it('ends the run after a bounded number of requests, and the next run is heard', async () => {
    const { world, compactions } = await compactingWorld({ ...OVERFLOW, repeat: true }, [
      { text: TALK },
      OVERFLOW,
      { text: 'a new start' },
    ])
    const runId = await world.accept('s', 'and now?')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'error' })
    expect(compactions().length).toBeLessThanOrEqual(4)
    expect(await world.host.wait({ runId: await world.accept('s', 'still there?') })).toMatchObject({
      status: 'ok',
      reply: 'a new start',
    })
  })

  it('has an end to its start, in the events and in the session', async () => {
    const { world, compactions } = await compactingWorld({ ...OVERFLOW, repeat: true }, [
      { text: TALK },
      OVERFLOW,
    ])
    const events = await eventsOf(world, 's', 'and now?')
    const told = events.filter(({ stream }) => stream === 'compaction')
    expect(told.map(({ data }) => (data as { phase: string }).phase)).toEqual(['start', 'end'])
    expect(typesOf(compactions())).toEqual(['compaction/start', 'compaction/end'])
  })
})

describe('a request that overflows again behind its compaction', () => {
  it('is not compacted for ever', async () => {
    const { world, compactions } = await compactingWorld({ text: 'They talked.', repeat: true }, [
      { text: TALK },
      { ...OVERFLOW, repeat: true },
    ])
    const runId = await world.accept('s', 'and now?')
    expect(await world.host.wait({ runId })).toMatchObject({ status: 'error' })
    const starts = typesOf(compactions()).filter((type) => type === 'compaction/start')
    expect(starts.length).toBeLessThanOrEqual(3)
    expect(typesOf(compactions()).filter((type) => type === 'compaction/end')).toHaveLength(starts.length)
  })
})

describe('a compaction that succeeded', () => {
  it('is not repeated for what follows, and puts no message into the conversation again', async () => {
    const { world, agent, compactions } = await compactingWorld({ text: 'They talked.' }, [
      { text: TALK },
      OVERFLOW,
      { text: 'the answer' },
      { text: 'and another' },
      { text: 'and a third' },
    ])
    for (const [message, reply] of [
      ['and now?', 'the answer'],
      ['and then?', 'and another'],
      ['and after?', 'and a third'],
    ] as const) {
      const runId = await world.accept('s', message)
      expect(await world.host.wait({ runId })).toMatchObject({ status: 'ok', reply })
    }
    expect(typesOf(compactions()).filter((type) => type === 'compaction/start')).toHaveLength(1)
    const said = agent.session.events.filter(({ type }) => type === 'user/message')
    expect(
      said.map(({ data }) => JSON.stringify(data)).filter((text) => text.includes('and now?')),
    ).toHaveLength(1)
  })
})

describe('a session with nothing to compact', () => {
  it('goes on when it is asked to', async () => {
    const world = await World.boot()
    await world.ctx.plugin(TokenMeter)
    await world.ctx.plugin(BasicCompactionEngine, { auto: true })
    await world.createAgent('s')
    world.model.auto = () => 'fine'
    expect(await world.host.wait({ runId: await world.accept('s', 'hi') })).toMatchObject({ reply: 'fine' })
    const agent = world.ctx.agents.list()[0]
    expect(agent?.session.events.some(({ type }) => type.startsWith('compaction/'))).toBe(false)
  })
})

describe('an abort in the middle of a compaction', () => {
  it('ends the run and the compaction, and leaves the session usable', async () => {
    const world = await World.boot()
    await world.ctx.plugin(TokenMeter)
    await world.ctx.plugin(BasicCompactionEngine, { auto: true })
    const agent = await world.createAgent('s')
    ;(await say(world, 'a long story')).reply(TALK)
    await until(() => world.host.lanes().length === 0)
    const runId = await world.accept('s', 'and now?')
    ;(await world.model.call(1)).fail('CONTEXT_WINDOW_EXCEEDED', 'too long')
    // The summary is being written.
    await world.model.call(2)
    await world.host.abort({ runId })
    expect(await world.host.wait({ runId })).toMatchObject({ state: 'aborted' })
    await agent.whenIdle()
    const types = typesOf(agent.session.events.filter(({ type }) => type.startsWith('compaction/')))
    expect(types).toEqual(['compaction/start', 'compaction/end'])
    world.model.auto = () => 'here'
    expect(await world.host.wait({ runId: await world.accept('s', 'hello?') })).toMatchObject({
      reply: 'here',
    })
    const events = await collect(world.host.subscribe({ runId }))
    expect(events.at(-1)).toMatchObject({ stream: 'lifecycle' })
  })
})

async function say(world: World, message: string) {
  await world.accept('s', message)
  return await world.model.call(0)
}
