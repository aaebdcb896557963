import { describe, expect, it } from 'vitest'
import { shapeReplies } from '../../src/replies/shape-replies.ts'
import type { Reply, ReplyOptions } from '../../src/replies/types.ts'
import type { AgentEvent, EventBody } from '../../src/streams/types.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { asEvents, delta, ended, messageEnd, reset, textEnd } from '../support/tale.ts'
import { settleDown } from '../support/until.ts'

/** A source that the test feeds, and the replies that came out so far. */
function stage(options: ReplyOptions = {}) {
  const clock = new ManualClock()
  const queue: AgentEvent[] = []
  let wake: (() => void) | undefined
  let isClosed = false
  const source: AsyncIterable<AgentEvent> = {
    async *[Symbol.asyncIterator]() {
      for (;;) {
        const event = queue.shift()
        if (event !== undefined) yield event
        else if (isClosed) return
        else await new Promise<void>((done) => (wake = done))
      }
    },
  }
  const replies: Reply[] = []
  const reading = (async () => {
    for await (const reply of shapeReplies(source, options, clock)) replies.push(reply)
  })()
  let seq = 0
  const step = async (): Promise<void> => {
    wake?.()
    await settleDown()
  }
  return {
    clock,
    replies,
    texts: () => replies.flatMap((reply) => (reply.kind === 'delta' ? [reply.text] : [])),
    say: async (...bodies: EventBody[]): Promise<void> => {
      for (const event of asEvents(bodies)) queue.push({ ...event, seq: (seq += 1) })
      await step()
    },
    push: async (event: AgentEvent): Promise<void> => {
      queue.push(event)
      await step()
    },
    close: async (): Promise<void> => {
      isClosed = true
      await step()
      await reading
    },
  }
}

describe('a growing text', () => {
  it('is told at once, and then once in an interval, the newest of it', async () => {
    const { clock, say, texts, close } = stage()
    await say(delta('a '), delta('b '), delta('c '), delta('d'))
    expect(texts()).toEqual(['a'])
    clock.advance(149)
    await settleDown()
    expect(texts()).toEqual(['a'])
    clock.advance(1)
    await settleDown()
    expect(texts()).toEqual(['a', 'a b c d'])
    clock.advance(1_000)
    await say(delta('e'))
    expect(texts()).toEqual(['a', 'a b c d', 'a b c de'])
    await close()
    expect(clock.pending).toBe(0)
  })

  it('is told to its last letter before the final, which comes after the end of the run', async () => {
    const { clock, say, replies, close } = stage()
    await say(delta('a '), delta('b'), textEnd('a b'), messageEnd('a b'))
    expect(replies.map(({ kind }) => kind)).toEqual(['delta'])
    await say(ended)
    expect(replies.map(({ kind }) => kind)).toEqual(['delta', 'delta', 'final'])
    expect(replies[1]).toMatchObject({ text: 'a b' })
    await close()
    expect(clock.pending).toBe(0)
  })

  it('that a repeated request takes back is not told any more', async () => {
    const { clock, say, replies, close } = stage()
    await say(delta('a '), delta('wrong'), reset(), delta('a '), delta('right'))
    expect(replies.map(({ kind }) => kind)).toEqual(['delta', 'reset'])
    clock.advance(150)
    await settleDown()
    expect(replies.at(-1)).toMatchObject({ kind: 'delta', text: 'a right' })
    await close()
  })

  it('is told with each delta when no interval is wanted', async () => {
    const { say, texts, close } = stage({ deltaIntervalMs: 0 })
    await say(delta('a'), delta('b'), delta('c'))
    expect(texts()).toEqual(['a', 'ab', 'abc'])
    await close()
  })

  it('is told when the events end without an end of the run', async () => {
    const { say, texts, close } = stage()
    await say(delta('a '), delta('b'))
    await close()
    expect(texts()).toEqual(['a', 'a b'])
  })
})

describe('the replies of a session', () => {
  it('keep its runs apart', async () => {
    const { push, replies, close } = stage({ deltaIntervalMs: 0 })
    const [hello] = asEvents([messageEnd('Hello.')], 'one')
    const [bye] = asEvents([messageEnd('Bye.')], 'two')
    const [endOne] = asEvents([ended], 'one')
    const [endTwo] = asEvents([ended], 'two')
    for (const event of [hello, bye, endTwo, endOne]) if (event !== undefined) await push(event)
    await close()
    const finals = replies.flatMap((reply) => (reply.kind === 'final' ? [reply] : []))
    expect(finals).toMatchObject([
      { runId: 'two', payloads: [{ text: 'Bye.' }] },
      { runId: 'one', payloads: [{ text: 'Hello.' }] },
    ])
  })

  it('end their source when nobody wants them any more', async () => {
    const clock = new ManualClock()
    let returned = false
    const source = (async function* () {
      try {
        for (;;) yield* asEvents([delta('a ')])
      } finally {
        returned = true
      }
    })()
    for await (const reply of shapeReplies(source, { deltaIntervalMs: 0 }, clock)) {
      expect(reply.kind).toBe('delta')
      break
    }
    expect(returned).toBe(true)
    expect(clock.pending).toBe(0)
  })
})
