import type { Session, SessionEvent } from '@deepseek-ai/dsh-session'
import { memoryLog } from 'dsh-durable-log'
import { describe, expect, it } from 'vitest'
import { shapeReplies, type Reply } from '../../src/index.ts'
import { eventsBehind, TurnRuns } from '../../src/streams/turn-runs.ts'
import type { RunRecord } from '../../src/run-record.ts'
import { collect, deltas, isGapless, outline } from '../support/scripted.ts'
import { final, lines } from '../support/tale.ts'
import { until } from '../support/until.ts'
import { temporaryFolder, World } from '../support/world.ts'

async function repliesOf(world: World, runId: string): Promise<Reply[]> {
  const all: Reply[] = []
  for await (const reply of shapeReplies(world.host.subscribe({ runId }))) all.push(reply)
  return all
}

describe('a run that another process had begun', () => {
  it('and whose turn was over tells what the session says about it', async () => {
    const world = await World.boot({ sessions: await temporaryFolder() })
    const agent = await world.createAgent('s')
    const runId = await world.accept('s', 'hi')
    ;(await world.model.call(0)).reply('Hello.')
    await world.host.wait({ runId })
    await world.ctx.sessions.flush(agent.session)
    // The process died between the end of the turn and the settling of the run.
    const { log, sessions } = await world.remains()
    const entries = (await log.read('run/s')).map(({ type, data }) => ({ type, data }))
    const early = memoryLog()
    await early.append('run/s', 0, entries.slice(0, 2))
    const after = await World.boot({ log: early, sessions: sessions ?? '', config: { recover: 'all' } })
    await after.host.wait({ runId })
    const events = await collect(after.host.subscribe({ runId }))
    expect(outline(events)).toEqual([
      'gap',
      'lifecycle/start',
      'assistant/delta',
      'assistant/text-end',
      'assistant/message-end',
      'lifecycle/end',
    ])
    expect(isGapless(events)).toBe(true)
    expect(lines(final(await repliesOf(after, runId)).payloads)).toEqual(['answer: Hello.'])
  })

  it('and had not brought its message to the model begins once more, and its answer is said once', async () => {
    const world = await World.boot({ sessions: await temporaryFolder() })
    await world.createAgent('s')
    const runId = await world.accept('s', 'hi')
    await until(() => world.host.lanes()[0]?.running === runId)
    const { log } = await world.remains()
    const after = await World.boot({ log })
    await after.createAgent('s')
    ;(await after.model.call(0)).reply('Hello.')
    const replies = await repliesOf(after, runId)
    expect(lines(final(replies).payloads)).toEqual(['answer: Hello.'])
    const events = await collect(after.host.subscribe({ runId }))
    expect(isGapless(events)).toBe(true)
    expect(deltas(events, 'assistant')).toBe('Hello.')
  })
})

describe('the runs of a turn', () => {
  const session = (...events: SessionEvent[]): Session => ({ id: 's', events }) as unknown as Session
  const event = (type: string, data: object = {}): SessionEvent => ({ type, data }) as unknown as SessionEvent
  const run = (name: string): RunRecord =>
    ({ runId: name, sessionId: 's', messageId: `m-${name}` }) as unknown as RunRecord
  const start = event('turn/start', { turn: 1 })
  const messageOf = (name: string): SessionEvent => event('user/message', { id: `m-${name}` })
  const chunk = event('assistant/chunk')
  const ids = (runs: readonly RunRecord[]): string[] => runs.map(({ runId }) => runId)

  it('are those whose message is in it, from then on', () => {
    const turns = new TurnRuns()
    turns.add(run('a'))
    turns.add(run('b'))
    const log: SessionEvent[] = []
    const follow = (one: SessionEvent): string[] => {
      log.push(one)
      return ids(turns.follow(session(...log), one))
    }
    expect(follow(start)).toEqual([])
    expect(follow(messageOf('a'))).toEqual(['a'])
    expect(follow(chunk)).toEqual(['a'])
    expect(follow(messageOf('b'))).toEqual(['a', 'b'])
    turns.remove(run('a'))
    expect(follow(chunk)).toEqual(['b'])
    expect(follow(event('turn/end'))).toEqual(['b'])
    expect(follow(chunk)).toEqual([])
    turns.remove(run('b'))
    expect(follow(messageOf('b'))).toEqual([])
  })

  it('are found when they come to be known in the middle of it', () => {
    const turns = new TurnRuns()
    turns.add(run('a'))
    const log = [start, messageOf('a'), messageOf('late'), chunk]
    for (const [index, one] of log.entries()) turns.follow(session(...log.slice(0, index + 1)), one)
    turns.add(run('late'))
    const more = [...log, chunk]
    expect(ids(turns.follow(session(...more), chunk)).toSorted()).toEqual(['a', 'late'])
    expect(turns.missed(session(...log), 'm-late')).toEqual([chunk])
    expect(turns.missed(session(...log, event('turn/end')), 'm-late')).toEqual([])
  })

  it('are told by the session when the turn is over', () => {
    const log = [start, messageOf('a'), chunk, event('turn/end'), start, messageOf('b')]
    expect(eventsBehind(session(...log), 'm-a')).toEqual([chunk])
    expect(eventsBehind(session(...log), 'm-b')).toEqual([])
    expect(eventsBehind(session(...log), 'm-c')).toEqual([])
  })
})
