/**
 * Turns whose end DSH does not manage to write: a model client that puts something into the reason of a
 * cancellation makes it one that the session log refuses, and the loop goes idle without a `turn/end`.
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import { describe, expect, it } from 'vitest'
import { listen } from './hooks/support/hook-world.ts'
import { collect } from './support/scripted.ts'
import type { ModelCall } from './support/gate-model.ts'
import { settleDown } from './support/until.ts'
import { typed, World } from './support/world.ts'

/** From now on the cancellation of this call cannot be written down. */
function spoil({ signal }: ModelCall): void {
  signal?.addEventListener('abort', () => {
    Object.defineProperty(signal.reason, 'stack', { value: 'somewhere', enumerable: false })
  })
}

function hasEnd({ session }: Agent, turn: number): boolean {
  return session.events.some((event) => event.type === 'turn/end' && event.data.turn === turn)
}

describe('a turn that ended without a word of how', () => {
  it('settles its run as it was stopped, at once, and the next one begins', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const first = await world.accept('s', 'one')
    const second = await world.accept('s', 'two')
    spoil(await world.model.call(0))
    await world.host.abort({ runId: first, cause: 'enough' })
    expect(await world.host.wait({ runId: first })).toMatchObject({
      state: 'aborted',
      error: { code: 'aborted', message: 'enough' },
    })
    expect(hasEnd(agent, 1)).toBe(false)
    ;(await world.model.call(1)).reply('done')
    expect(await world.host.wait({ runId: second })).toMatchObject({ state: 'ok', reply: 'done' })
  })

  it('settles a run that somebody else stopped as an error, and its events end', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const runId = await world.accept('s', 'one')
    spoil(await world.model.call(0))
    agent.cancel({ kind: 'user' })
    expect(await world.host.wait({ runId })).toMatchObject({ state: 'error', error: { code: 'turn-lost' } })
    const events = await collect(world.host.subscribe({ runId }))
    expect(events.at(-1)).toMatchObject({ stream: 'lifecycle', data: { phase: 'error' } })
  })

  it('lets the lane go on when a person began it, and the hooks are told', async () => {
    const world = await World.boot()
    const agent = await world.createAgent('s')
    const ends: unknown[] = []
    await listen(world.ctx, 'reader', (hook) => {
      hook('agent_end', ({ turn, reason, success }) => void ends.push([turn, reason, success]))
    })
    agent.followup(typed('mine'))
    const mine = await world.model.call(0)
    spoil(mine)
    const queued = await world.accept('s', 'queued')
    agent.cancel({ kind: 'user' })
    world.model.auto = () => 'ok'
    expect(await world.host.wait({ runId: queued })).toMatchObject({ state: 'ok' })
    const events = await collect(world.host.subscribe({ runId: 'turn_s_1' }))
    expect(events.at(-1)).toMatchObject({ data: { phase: 'error', error: { code: 'turn-lost' } } })
    await settleDown()
    expect(ends).toEqual([
      [1, 'error', false],
      [2, 'completed', true],
    ])
  })
})
