import BasicCompactionEngine from '@deepseek-ai/dsh-compaction-basic'
import TokenMeter from '@deepseek-ai/dsh-token-meter'
import { SessionId } from '@deepseek-ai/dsh-session'
import { ScriptedLlm, type StepSource } from 'dsh-llm-scripted'
import { describe, expect, it } from 'vitest'
import { shapeReplies, type Reply } from '../../src/index.ts'
import { collect, deltas, eventsOf, isGapless, outline, scriptedAgent } from '../support/scripted.ts'
import { settleDown, until } from '../support/until.ts'
import { typed, World } from '../support/world.ts'

async function replies(world: World, runId: string, blocks: 'off' | 'text_end'): Promise<Reply[]> {
  const all: Reply[] = []
  const events = world.host.subscribe({ runId })
  for await (const reply of shapeReplies(events, { blocks, deltaIntervalMs: 0 })) all.push(reply)
  return all
}

/** The first half of the answer, and then no more. */
const broken = (text: string): StepSource => ({
  text,
  chunkChars: 4,
  fault: { code: 'UNAVAILABLE', message: 'gone', after: 4 },
})

describe('a request that is made again', () => {
  it('takes back what the failed one said, and the answer is said once', async () => {
    const world = await World.boot()
    await scriptedAgent(world, 's', [broken('The answer is five.'), { text: 'The answer is four.' }])
    world.ctx.on('agent/request-error', () => Promise.resolve({ kind: 'retry' }))
    const events = await eventsOf(world, 's', 'ask')
    expect(outline(events)).toEqual([
      'lifecycle/start',
      'assistant/delta',
      'assistant/reset',
      'assistant/delta',
      'assistant/text-end',
      'assistant/message-end',
      'lifecycle/end',
    ])
    expect(isGapless(events)).toBe(true)
    const runId = events[0]?.runId ?? ''
    const final = (await replies(world, runId, 'off')).at(-1)
    expect(final).toMatchObject({ kind: 'final', payloads: [{ text: 'The answer is four.' }] })
    const told = await replies(world, runId, 'text_end')
    expect(told.filter(({ kind }) => kind === 'block')).toMatchObject([
      { payload: { text: 'The answer is four.' } },
    ])
  })
})

describe('a compaction in the middle of a run', () => {
  it('is told, and what was said before the request that overflowed is taken back', async () => {
    const world = await World.boot()
    await world.ctx.plugin(TokenMeter)
    await world.ctx.plugin(BasicCompactionEngine, { auto: true })
    const llm = new ScriptedLlm({
      tracks: [
        { name: 'summary', match: { purpose: 'compaction' }, steps: [{ text: 'They talked.' }] },
        {
          name: 'talk',
          match: {},
          steps: [
            { text: `It is long. ${'And on it goes. '.repeat(200)}` },
            {
              text: 'Half of an answer, cut off.',
              chunkChars: 4,
              fault: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'too long', after: 4 },
            },
            { text: 'The whole answer.' },
          ],
        },
      ],
    })
    world.ctx.llm.registerAdapter(['overflowing'], llm)
    await world.ctx.agents.create({
      sessionId: SessionId('s'),
      agentOptions: { provider: 'overflowing', model: 'm' },
    })
    await eventsOf(world, 's', 'tell me a lot')
    const events = await eventsOf(world, 's', 'and now?')
    expect(outline(events)).toEqual([
      'lifecycle/start',
      'assistant/delta',
      'compaction/start',
      'compaction/end',
      'assistant/reset',
      'assistant/delta',
      'assistant/text-end',
      'assistant/message-end',
      'lifecycle/end',
    ])
    expect(events.filter(({ stream }) => stream === 'compaction')[1]).toMatchObject({
      data: { willRetry: true },
    })
    expect(events.find(({ stream, data }) => stream === 'assistant' && 'reason' in data)).toMatchObject({
      data: { reason: 'compaction-retry' },
    })
    const final = (await replies(world, events[0]?.runId ?? '', 'off')).at(-1)
    expect(final).toMatchObject({ payloads: [{ kind: 'answer', text: 'The whole answer.' }] })
  })
})

describe('a turn', () => {
  it('of a person is no part of the run before it or behind it', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    world.model.auto = ({ prompt }) => `to ${prompt}`
    agent.followup(typed('mine'))
    const events = await eventsOf(world, 's', 'one')
    expect(deltas(events, 'assistant')).toBe('to one')
  })

  it('that a person steers stays one run, with both answers', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    const call = await world.model.call(0)
    agent.steer(typed('and this'))
    call.reply('first thoughts')
    ;(await world.model.call(1)).reply('with both')
    const events = await collect(world.host.subscribe({ runId }))
    expect(deltas(events, 'assistant')).toBe('first thoughtswith both')
    expect(events.at(-1)).toMatchObject({ data: { phase: 'end' } })
  })

  it('that outlives the host is taken up by the next one from where the run came in', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    const call = await world.model.call(0)
    await world.unload()
    await world.mount()
    const events = collect(world.host.subscribe({ runId }))
    await settleDown()
    call.reply('still here')
    const told = await events
    expect(deltas(told, 'assistant')).toBe('still here')
    expect(outline(told)).toEqual([
      'lifecycle/start',
      'gap',
      'lifecycle/start',
      'assistant/delta',
      'assistant/text-end',
      'assistant/message-end',
      'lifecycle/end',
    ])
    expect(isGapless(told)).toBe(true)
    await until(() => world.host.lanes().length === 0)
  })
})
