import { defineTool } from '@deepseek-ai/dsh-tools'
import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../src/index.ts'
import { collect, isGapless, reader, scriptedAgent } from '../support/scripted.ts'
import { randomOf } from '../support/random.ts'
import { temporaryFolder, World } from '../support/world.ts'

const steps = [
  { text: 'Let me count that for you.', chunkChars: 3, toolCalls: [{ name: 'count' }] },
  { reasoning: 'Two of them.', text: 'There are two.', chunkChars: 4, toolCalls: [{ name: 'count' }] },
  { text: 'And that is all.', chunkChars: 2 },
]

function isTerminal({ stream, data }: AgentEvent): boolean {
  return stream === 'lifecycle' && 'phase' in data && data.phase !== 'start'
}

describe('a subscriber of a process that is killed at some event', () => {
  it('goes on in the next one without a seq twice, and is told one end', async () => {
    for (let seed = 0; seed < 25; seed += 1) {
      const random = randomOf(seed)
      const world = await World.boot({ sessions: await temporaryFolder() })
      world.ctx.tools.register(
        defineTool({
          name: 'count',
          description: 'counts',
          parameters: {},
          output: { schema: { type: 'string' }, render: () => [{ type: 'text', text: 'two' }] },
          execute: () => Promise.resolve('two'),
        }),
      )
      const agent = await scriptedAgent(world, 's', steps)
      const runId = await world.accept('s', 'count')
      const subscriber = reader(world, { runId })
      const before: AgentEvent[] = []
      for (let left = 1 + random.int(20); left > 0; left -= 1) {
        const event = await subscriber.next()
        before.push(event)
        if (isTerminal(event)) break
      }
      if (random.int(2) === 0) await world.ctx.sessions.flush(agent.session)
      const after = await world.crash({ config: { recover: 'all' } })
      const afterSeq = before.at(-1)?.seq ?? 0
      await after.host.wait({ runId })
      const rest = await collect(after.host.subscribe({ runId, afterSeq }))
      expect(isGapless([...before, ...rest]), `seed ${seed}`).toBe(true)
      expect([...before, ...rest].filter(isTerminal), `seed ${seed}`).toHaveLength(1)
      await subscriber.end()
    }
  })
})
