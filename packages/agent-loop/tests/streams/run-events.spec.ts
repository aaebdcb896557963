import { defineTool } from '@deepseek-ai/dsh-tools'
import { describe, expect, it } from 'vitest'
import { collect, deltas, eventsOf, isGapless, outline, scriptedAgent } from '../support/scripted.ts'
import { World } from '../support/world.ts'

describe('the events of a run', () => {
  it('tell its start, its text and its end, without holes', async () => {
    const world = await World.boot()
    await scriptedAgent(world, 's', [{ text: 'Hello, person.', reasoning: 'Greet.', chunkChars: 3 }])
    const events = await eventsOf(world, 's', 'hi')
    expect(outline(events)).toEqual([
      'lifecycle/start',
      'thinking/delta',
      'thinking/end',
      'assistant/delta',
      'assistant/text-end',
      'assistant/message-end',
      'lifecycle/end',
    ])
    expect(isGapless(events)).toBe(true)
    expect(deltas(events, 'assistant')).toBe('Hello, person.')
    expect(deltas(events, 'thinking')).toBe('Greet.')
    expect(events[0]).toMatchObject({ seq: 1, sessionId: 's', ts: world.clock.now() })
    expect(events.at(-1)).toMatchObject({ data: { phase: 'end', state: 'ok' } })
  })

  it('tell each tool call with its result, between the messages', async () => {
    const world = await World.boot()
    world.ctx.tools.register(
      defineTool({
        name: 'count',
        description: 'counts',
        parameters: { text: { type: 'string', required: true } },
        output: {
          schema: { type: 'object', additionalProperties: true },
          render: (_args, value) => [{ type: 'text', text: JSON.stringify(value) }],
        },
        execute: (args) => Promise.resolve({ words: args.text.split(' ').length }),
      }),
    )
    await scriptedAgent(world, 's', [
      { text: 'Counting.', toolCalls: [{ name: 'count', arguments: { text: 'one two' } }] },
      { text: 'Two.' },
    ])
    const events = await eventsOf(world, 's', 'count')
    expect(outline(events)).toEqual([
      'lifecycle/start',
      'assistant/delta',
      'assistant/text-end',
      'assistant/message-end',
      'tool/start',
      'tool/end',
      'assistant/delta',
      'assistant/text-end',
      'assistant/message-end',
      'lifecycle/end',
    ])
    const tools = events.flatMap((event) => (event.stream === 'tool' ? [event.data] : []))
    expect(tools).toMatchObject([
      { phase: 'start', message: 1, name: 'count', args: { text: 'one two' } },
      { phase: 'end', message: 1, isError: false, content: [{ type: 'text', text: '{"words":2}' }] },
    ])
  })

  it('are replayed from the log alone when the process is another one', async () => {
    const world = await World.boot()
    await scriptedAgent(world, 's', [{ text: 'Hello.', reasoning: 'Greet.', chunkChars: 2 }])
    const runId = await world.accept('s', 'hi')
    await collect(world.host.subscribe({ runId }))
    await world.unload()
    const other = await world.crash()
    const events = await collect(other.host.subscribe({ runId }))
    expect(outline(events)).toEqual([
      'lifecycle/start',
      'thinking/end',
      'assistant/message-end',
      'lifecycle/end',
    ])
    expect(isGapless(events)).toBe(true)
    expect(events[2]).toMatchObject({ data: { text: 'Hello.' } })
  })
})
