import { defineTool } from '@deepseek-ai/dsh-tools'
import { memoryLog } from 'dsh-durable-log'
import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../src/index.ts'
import { SETTLE_GRACE_MS } from '../../src/streams/run-reader.ts'
import { ATTEMPT_ROOM } from '../../src/streams/run-hub.ts'
import { partlyAway } from '../support/faulty-log.ts'
import { collect, deltas, isGapless, outline, reader, scriptedAgent } from '../support/scripted.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { settleDown, until } from '../support/until.ts'
import { temporaryFolder, World } from '../support/world.ts'

describe('a subscription to a run', () => {
  it('goes on behind the event it names, from memory', async () => {
    const world = await World.boot()
    await scriptedAgent(world, 's', [{ text: 'Hello, person.', chunkChars: 1 }])
    const runId = await world.accept('s', 'hi')
    const all = await collect(world.host.subscribe({ runId }))
    const last = all.at(-1)?.seq ?? 0
    for (let afterSeq = 0; afterSeq <= last + 1; afterSeq += 1) {
      const rest = await collect(world.host.subscribe({ runId, afterSeq }))
      expect(isGapless(rest, afterSeq), `after ${afterSeq}`).toBe(true)
      expect(rest.at(-1)?.seq, `after ${afterSeq}`).toBe(afterSeq < last ? last : undefined)
    }
    const before = await collect(world.host.subscribe({ runId, afterSeq: 5 }))
    expect(deltas(before, 'assistant')).toBe('Hello, person.'.slice(4))
  })

  it('goes on from the log when the memory has been freed, and misses no final', async () => {
    const world = await World.boot({ config: { events: { retentionMs: 0 } } })
    await scriptedAgent(world, 's', [{ text: 'Hello, person.', chunkChars: 1 }])
    const runId = await world.accept('s', 'hi')
    const all = await collect(world.host.subscribe({ runId }))
    const last = all.at(-1)?.seq ?? 0
    await until(() => world.streams.held.hubs === 0, 'the freeing of the run')
    for (let afterSeq = 0; afterSeq <= last + 1; afterSeq += 1) {
      const rest = await collect(world.host.subscribe({ runId, afterSeq }))
      expect(isGapless(rest, afterSeq), `after ${afterSeq}`).toBe(true)
      expect(rest.at(-1)?.seq, `after ${afterSeq}`).toBe(afterSeq < last ? last : undefined)
      expect(outline(rest)).not.toContain('gap')
    }
  })

  it('says what is gone when neither memory nor log has it', async () => {
    const world = await World.boot({ config: { events: { memoryCharacters: 400 } } })
    const agent = await world.createAgent('s')
    const runId = await world.accept('s', 'hi')
    await world.model.call(0)
    // One block each, so that the ring cannot merge them; the message never ends.
    const [turn, step] = [1, 1]
    for (let index = 0; index < 100; index += 1) {
      const chunk = { type: 'text-delta' as const, index, text: `piece ${index} of many.` }
      agent.session.append('assistant/chunk', { turn, step, chunk })
    }
    const subscriber = reader(world, { runId })
    expect(outline([await subscriber.next()])).toEqual(['lifecycle/start'])
    const gap = await subscriber.next()
    expect(gap).toMatchObject({ stream: 'gap', firstSeq: 2, data: { reason: 'not-kept' } })
    const next = await subscriber.next()
    expect(next.seq).toBe(gap.seq + 1)
    expect(outline([next])).toEqual(['assistant/delta'])
    await subscriber.end()
    expect(world.streams.held.characters).toBeLessThan(1_000)
  })

  it('reads the finals from the log while the run is under way, when its memory is too small', async () => {
    const world = await World.boot({ config: { events: { memoryCharacters: 0 } } })
    const steps = Array.from({ length: 5 }, () => ({
      text: 'Some text.',
      toolCalls: [{ name: 'nobody-has-this' }],
    }))
    await scriptedAgent(world, 's', [...steps, { text: 'The end.' }])
    const runId = await world.accept('s', 'hi')
    await world.host.wait({ runId })
    const events = await collect(world.host.subscribe({ runId }))
    expect(isGapless(events)).toBe(true)
    expect(outline(events)).not.toContain('gap')
    expect(outline(events).filter((line) => line === 'assistant/message-end')).toHaveLength(6)
  })

  it('begins before the run does, and is told its end when it never begins', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    await world.accept('s', 'first')
    const queued = await world.accept('s', 'second')
    const events = collect(world.host.subscribe({ runId: queued }))
    await settleDown()
    await world.host.abort({ runId: queued })
    expect(await events).toMatchObject([
      { seq: 1, stream: 'lifecycle', data: { phase: 'error', state: 'aborted', error: { code: 'aborted' } } },
    ])
    ;(await world.model.call(0)).reply('done')
    await until(() => world.host.lanes().length === 0)
  })

  it('is refused with every problem named, and for a run that nobody accepted', async () => {
    const world = await World.boot()
    const wrong = { afterSeq: -1, more: true } as object
    expect(() => world.host.subscribe(wrong)).toThrow(/afterSeq.*more|more.*afterSeq/s)
    expect(() => world.host.subscribe({})).toThrow(/names neither/)
    expect(() => world.host.subscribe({ sessionId: 's', afterSeq: 3 })).toThrow(/name the run/)
    await expect(collect(world.host.subscribe({ runId: 'nobody' }))).rejects.toMatchObject({
      code: 'run-not-found',
    })
    await world.createAgent('s')
    world.model.auto = () => 'ok'
    const runId = await world.accept('s', 'hi')
    await expect(collect(world.host.subscribe({ runId, sessionId: 'other' }))).rejects.toMatchObject({
      code: 'invalid',
    })
    await world.host.wait({ runId })
  })

  it('ends with its signal, and nothing else ends', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'hi')
    const controller = new AbortController()
    const first = collect(world.host.subscribe({ runId, signal: controller.signal }))
    const second = collect(world.host.subscribe({ runId }))
    const call = await world.model.call(0)
    await settleDown()
    controller.abort()
    expect(outline(await first)).toEqual(['lifecycle/start'])
    call.reply('done')
    expect(outline(await second).at(-1)).toBe('lifecycle/end')
    expect(world.streams.held.waiting).toBe(0)
  })

  it('ends at once when its signal fires while it looks', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'hi')
    const controller = new AbortController()
    const events = world.host.subscribe({ runId, signal: controller.signal })[Symbol.asyncIterator]()
    const call = await world.model.call(0)
    await settleDown()
    expect((await events.next()).value).toMatchObject({ stream: 'lifecycle' })
    const next = events.next()
    controller.abort()
    expect(await next).toMatchObject({ done: true })
    const late = world.host.subscribe({ runId, signal: controller.signal })
    expect(await collect(late)).toEqual([])
    call.reply('done')
    await world.host.wait({ runId })
  })

  it('rejects with closed when the host goes, and leaves nothing behind', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'hi')
    const endOf = async (events: Promise<unknown>): Promise<unknown> =>
      events.catch((error: unknown) => error)
    const run = endOf(collect(world.host.subscribe({ runId })))
    const session = endOf(collect(world.host.subscribe({ sessionId: 's' })))
    await world.model.call(0)
    await settleDown()
    const { streams } = world
    await world.unload()
    expect(await run).toMatchObject({ code: 'closed' })
    expect(await session).toMatchObject({ code: 'closed' })
    expect(streams.held).toEqual({ hubs: 0, characters: 0, waiting: 0 })
    expect(world.clock.pending).toBe(0)
  })
})

describe('a subscription to a session', () => {
  it('tells its runs one after the other, and begins with those under way', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    world.model.auto = ({ prompt }) => (prompt === 'first' ? undefined : `to ${prompt}`)
    await world.accept('s', 'zero')
    await world.accept('s', 'first')
    const call = await world.model.call(1)
    const controller = new AbortController()
    const events = collect(world.host.subscribe({ sessionId: 's', signal: controller.signal }))
    call.reply('to first')
    const last = await world.accept('s', 'last')
    await world.host.wait({ runId: last })
    await settleDown()
    controller.abort()
    const told = await events
    expect(told.filter(isStart)).toHaveLength(2)
    expect(deltas(told, 'assistant')).toBe('to firstto last')
    for (const runId of new Set(told.map((event) => event.runId))) {
      expect(isGapless(told.filter((event) => event.runId === runId))).toBe(true)
    }
  })

  it('begins with the oldest run when asked to, and with the named one', async () => {
    const world = await World.boot({ config: { events: { retentionMs: 0 } } })
    await world.createAgent('s')
    world.model.auto = ({ prompt }) => `to ${prompt}`
    const runIds: string[] = []
    for (const message of ['one', 'two', 'three']) {
      runIds.push(await world.accept('s', message))
      await world.host.wait({ runId: runIds.at(-1) ?? '' })
    }
    await until(() => world.streams.held.hubs === 0)
    const starts = async (request: { runId?: string; afterSeq?: number }): Promise<string[]> => {
      const controller = new AbortController()
      const { signal } = controller
      const events = collect(world.host.subscribe({ sessionId: 's', signal, ...request }))
      await settleDown()
      controller.abort()
      return (await events).filter(isStart).map((event) => event.runId)
    }
    expect(await starts({ afterSeq: 0 })).toEqual(runIds)
    expect(await starts({ runId: runIds[1] ?? '' })).toEqual(runIds.slice(1))
    expect(await starts({ runId: runIds[1] ?? '', afterSeq: 1 })).toEqual(runIds.slice(2))
    expect(await starts({})).toEqual([])
  })

  it('tells a run of another process once, from what the log has', async () => {
    const log = memoryLog()
    const world = await World.boot({ log })
    await world.createAgent('s')
    const other = await World.boot({ log })
    const controller = new AbortController()
    const events = collect(other.host.subscribe({ sessionId: 's', signal: controller.signal }))
    await settleDown()
    const runId = await world.accept('s', 'hi')
    ;(await world.model.call(0)).reply('hello')
    await world.host.wait({ runId })
    await settleDown()
    controller.abort()
    expect(outline(await events)).toEqual(['lifecycle/start', 'assistant/message-end', 'lifecycle/end'])
  })

  it('hears of a queued run that ends without having begun', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    await world.accept('s', 'first')
    const queued = await world.accept('s', 'second')
    const subscriber = reader(world, { sessionId: 's' })
    await world.model.call(0)
    expect(isStart(await subscriber.next())).toBe(true)
    await world.host.abort({ runId: queued })
    expect(await subscriber.next()).toMatchObject({ runId: queued, data: { phase: 'error' } })
    await subscriber.end()
    ;(await world.model.call(0)).reply('done')
    await until(() => world.host.lanes().length === 0)
  })
})

describe('a slow reader', () => {
  it('gets what it missed as one event, and holds nothing', async () => {
    const world = await World.boot()
    const text = 'x'.repeat(5_000)
    await scriptedAgent(world, 's', [{ text, chunkChars: 1 }])
    const runId = await world.accept('s', 'hi')
    const slow = reader(world, { runId })
    expect(isStart(await slow.next())).toBe(true)
    await world.host.wait({ runId })
    const rest = await slow.rest()
    expect(rest.length).toBeLessThan(20)
    expect(isGapless(rest, 1)).toBe(true)
    expect(deltas(rest, 'assistant')).toBe(text)
  })

  it('among many that stopped reading does not keep the memory from being freed', async () => {
    const world = await World.boot({ config: { events: { retentionMs: 0, memoryCharacters: 2_000 } } })
    const text = 'a line of text\n'.repeat(2_000)
    await scriptedAgent(world, 's', [{ text, chunkChars: 7 }])
    const runId = await world.accept('s', 'hi')
    const stalled = Array.from({ length: 50 }, () => reader(world, { runId }))
    for (const one of stalled) await one.next()
    await world.host.wait({ runId })
    await until(() => world.streams.held.hubs === 0)
    expect(world.streams.held).toEqual({ hubs: 0, characters: 0, waiting: 0 })
    for (const one of stalled) {
      const rest = await one.rest()
      expect(isGapless(rest, 1)).toBe(true)
      expect(rest.some((event) => event.stream === 'assistant' && 'text' in event.data)).toBe(true)
    }
  })
})

describe('the events of a run that ends badly', () => {
  it('have their end although the turn never came to one', async () => {
    const world = await World.boot()
    await world.createAgent('s')
    const runId = await world.accept('s', 'hi', { timeoutMs: 1_000 })
    const call = await world.model.call(0)
    call.deaf = true
    world.clock.advance(1_000)
    await settleDown()
    world.clock.advance(5_000)
    const events = await collect(world.host.subscribe({ runId }))
    expect(events.at(-1)).toMatchObject({
      stream: 'lifecycle',
      data: { phase: 'error', state: 'timed-out', error: { code: 'run-timeout' } },
    })
    const told = events.length
    call.reply('much too late')
    await settleDown()
    expect(await collect(world.host.subscribe({ runId }))).toHaveLength(told)
  })

  it('have an end for a tool that never answered', async () => {
    const world = await World.boot()
    const answer = Promise.withResolvers<string>()
    world.ctx.tools.register(
      defineTool({
        name: 'wait',
        description: 'waits',
        parameters: {},
        output: { schema: { type: 'string' }, render: () => [{ type: 'text', text: 'late' }] },
        execute: () => answer.promise,
      }),
    )
    await scriptedAgent(world, 's', [{ toolCalls: [{ name: 'wait' }] }])
    const runId = await world.accept('s', 'hi', { timeoutMs: 1_000 })
    const events: AgentEvent[] = []
    const reading = (async () => {
      for await (const event of world.host.subscribe({ runId })) events.push(event)
    })()
    await until(() => outline(events).at(-1) === 'tool/start')
    world.clock.advance(1_000)
    await settleDown()
    world.clock.advance(5_000)
    await reading
    expect(outline(events).slice(-3)).toEqual(['tool/start', 'tool/end', 'lifecycle/error'])
    // The turn is released, which answers for the tool.
    expect(events.at(-2)).toMatchObject({ data: { isError: true, code: 'closed' } })
    answer.resolve('late')
  })

  it('are told by their record when the process that had them is gone', async () => {
    const sessions = await temporaryFolder()
    const world = await World.boot({ sessions })
    await world.createAgent('s')
    const runId = await world.accept('s', 'hi')
    await world.model.call(0)
    await until(() => world.host.lanes()[0]?.running === runId)
    const agent = world.ctx.agents.list()[0]
    if (agent !== undefined) await world.ctx.sessions.flush(agent.session)
    const after = await world.crash({ config: { recover: 'all' } })
    const events = await collect(after.host.subscribe({ runId }))
    expect(events.at(-1)).toMatchObject({
      stream: 'lifecycle',
      data: { phase: 'error', state: 'interrupted' },
    })
    // What the dead process told and did not write is a gap, and no seq comes twice.
    expect(events[0]).toMatchObject({ stream: 'gap', firstSeq: 1, seq: ATTEMPT_ROOM })
    expect(isGapless(events)).toBe(true)
  })

  it('wait for the last words of another process, and then take the record for it', async () => {
    const log = memoryLog()
    const world = await World.boot({ log })
    await world.createAgent('s')
    const runId = await world.accept('s', 'hi')
    await world.model.call(0)
    const other = await World.boot({ log })
    await world.unload()
    const events: AgentEvent[] = []
    const reading = (async () => {
      for await (const event of other.host.subscribe({ runId })) events.push(event)
    })()
    await settleDown()
    const settled = { v: 1, runId, state: 'ok', endedAt: other.clock.now() }
    await log.append('run/s', 'any', [{ type: 'run/settled', data: settled }])
    await settleDown()
    expect(outline(events)).toEqual(['lifecycle/start'])
    other.clock.advance(SETTLE_GRACE_MS)
    await reading
    expect(outline(events)).toEqual(['lifecycle/start', 'gap', 'lifecycle/end'])
  })

  it('reach a subscriber in another process when they are in the log', async () => {
    const log = memoryLog()
    const world = await World.boot({ log })
    await world.createAgent('s')
    const runId = await world.accept('s', 'hi')
    const call = await world.model.call(0)
    const other = await World.boot({ log })
    const events = collect(other.host.subscribe({ runId }))
    await settleDown()
    call.reply('hello')
    expect(outline(await events)).toEqual(['lifecycle/start', 'assistant/message-end', 'lifecycle/end'])
  })
})

describe('the memory of a run', () => {
  it('is freed when the run has been over for the retention, and not before', async () => {
    const background = new ManualClock()
    const world = await World.boot({ background, config: { events: { retentionMs: 5_000 } } })
    await world.createAgent('s')
    world.model.auto = () => 'ok'
    const runId = await world.accept('s', 'hi')
    await world.host.wait({ runId })
    await until(() => background.pending === 1)
    background.advance(4_999)
    await settleDown()
    expect(world.streams.held.hubs).toBe(1)
    background.advance(1)
    await until(() => world.streams.held.hubs === 0)
    expect(background.pending).toBe(0)
  })

  it('is kept while the log has not taken the finals', async () => {
    const background = new ManualClock()
    const { log, state } = partlyAway('run-events/')
    const world = await World.boot({ background, log, config: { events: { retentionMs: 5_000 } } })
    await world.createAgent('s')
    world.model.auto = () => 'hello'
    state.isAway = true
    const runId = await world.accept('s', 'hi')
    await world.host.wait({ runId })
    await until(() => background.pending === 1)
    background.advance(5_000)
    await settleDown()
    expect(world.streams.held.hubs).toBe(1)
    state.isAway = false
    await until(() => background.pending === 1)
    background.advance(5_000)
    await until(() => world.streams.held.hubs === 0)
    const events = await collect(world.host.subscribe({ runId }))
    expect(outline(events)).toEqual(['lifecycle/start', 'assistant/message-end', 'lifecycle/end'])
  })

  it('leaves no timer when the host goes', async () => {
    const background = new ManualClock()
    const world = await World.boot({ background })
    await world.createAgent('s')
    world.model.auto = () => 'ok'
    const runId = await world.accept('s', 'hi')
    await world.host.wait({ runId })
    await until(() => background.pending === 1)
    await world.unload()
    expect(background.pending).toBe(0)
  })
})

function isStart(event: AgentEvent): boolean {
  return event.stream === 'lifecycle' && event.data.phase === 'start'
}
