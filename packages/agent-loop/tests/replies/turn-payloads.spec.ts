import { describe, expect, it } from 'vitest'
import { messageIdOf } from '../../src/run-message.ts'
import { eventsBehind } from '../../src/streams/turn-runs.ts'
import { shapeReplies, type Reply } from '../../src/index.ts'
import { scriptedAgent } from '../support/scripted.ts'
import { final, lines } from '../support/tale.ts'
import { World } from '../support/world.ts'

describe('the payloads of a turn that is over', () => {
  it('are those of the final, read from the session alone', async () => {
    const world = await World.boot()
    const agent = await scriptedAgent(world, 's', [
      { text: 'Let me look.', reasoning: 'Hm.', toolCalls: [{ name: 'nobody-has-this' }] },
      { text: 'It is not there.\n\nNO_REPLY' },
    ])
    const runId = await world.accept('s', 'look')
    const options = { verbose: true, reasoning: 'on' } as const
    const replies: Reply[] = []
    for await (const reply of shapeReplies(world.host.subscribe({ runId }), options)) replies.push(reply)
    const events = eventsBehind(agent.session, messageIdOf(runId))
    const end = { phase: 'end', state: 'ok', endedAt: 0 } as const
    const payloads = world.streams.payloadsOf(events, end, options)
    expect(payloads).toEqual(final(replies).all)
    expect(lines(payloads)).toEqual([
      'tool: nobody-has-this – failed',
      'reasoning: Hm.',
      'answer: Let me look.',
      'answer: It is not there.',
    ])
  })
})
