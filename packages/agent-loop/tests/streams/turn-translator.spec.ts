import type { StreamChunk } from '@deepseek-ai/dsh-llm'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { TurnTranslator } from '../../src/streams/turn-translator.ts'
import type { EventBody } from '../../src/streams/types.ts'
import { randomOf, split } from '../support/random.ts'

const limits = { maxTextCharacters: 16_000, maxImageBytes: 1_000, maxImages: 2 }

function translator(): TurnTranslator {
  return new TurnTranslator({ limits, receiptOf: () => undefined })
}

/** What a DSH session writes for it; only what the translator reads. */
const event = (type: string, data: object): SessionEvent =>
  ({ type, data: { turn: 1, step: 1, ...data } }) as unknown as SessionEvent
const chunk = (part: object): SessionEvent => event('assistant/chunk', { chunk: part as StreamChunk })
const text = (piece: string, index = 0): SessionEvent => chunk({ type: 'text-delta', index, text: piece })
const blockEnd = (whole: string, index = 0): SessionEvent =>
  chunk({ type: 'block-end', index, block: { type: 'text', text: whole } })
const message = (...content: object[]): SessionEvent => event('assistant/message', { message: { content } })
const failed = chunk({ type: 'finish', reason: { kind: 'error', failure: { code: 'X', message: 'x' } } })

function told(...events: SessionEvent[]): EventBody[] {
  const translate = translator()
  return events.flatMap((one) => [...translate.push(one)])
}

const phases = (bodies: readonly EventBody[]): string[] =>
  bodies.map(({ stream, data }) => `${stream}/${data.phase}`)

describe('the translation of a turn', () => {
  it('says the end of a block once, however often the provider says it', () => {
    const bodies = told(text('Hel'), text('lo'), blockEnd('Hello'), blockEnd('Hello'))
    expect(phases(bodies)).toEqual(['assistant/delta', 'assistant/delta', 'assistant/text-end'])
  })

  it('takes no delta behind the end of a block', () => {
    const bodies = told(text('Hello'), blockEnd('Hello'), text('Hello'))
    expect(phases(bodies)).toEqual(['assistant/delta', 'assistant/text-end'])
  })

  it('says what the whole is when the deltas said something else', () => {
    const bodies = told(text('Helo'), blockEnd('Hello'), message({ type: 'text', text: 'Hello' }))
    expect(bodies[1]).toMatchObject({ data: { phase: 'text-end', text: 'Hello' } })
    expect(bodies[2]).toMatchObject({ data: { phase: 'message-end', message: 1, text: 'Hello' } })
  })

  it('says the reasoning of a message whose block never ended', () => {
    const reasoning = { type: 'reasoning', text: 'Hm.' }
    const bodies = told(chunk({ type: 'reasoning-delta', index: 0, text: 'Hm.' }), message(reasoning))
    expect(phases(bodies)).toEqual(['thinking/delta', 'thinking/end', 'assistant/message-end'])
  })

  it('announces a repeated request before its first chunk, and only if something was told', () => {
    const start = chunk({ type: 'block-start', index: 0, blockType: 'text' })
    expect(phases(told(start, text('Hel'), failed, start, text('Hello')))).toEqual([
      'assistant/delta',
      'assistant/reset',
      'assistant/delta',
    ])
    expect(phases(told(failed, start, text('Hello')))).toEqual(['assistant/delta'])
  })

  it('tells a retry behind a compaction from a plain one', () => {
    const bodies = told(
      text('Hel'),
      failed,
      event('compaction/start', { compactionId: 'c' }),
      event('compaction/end', { compactionId: 'c' }),
      text('Hello'),
    )
    expect(bodies.slice(1, 4)).toMatchObject([
      { stream: 'compaction', data: { phase: 'start', compactionId: 'c' } },
      { stream: 'compaction', data: { phase: 'end', willRetry: true } },
      { stream: 'assistant', data: { phase: 'reset', message: 1, reason: 'compaction-retry' } },
    ])
  })

  it('says that a compaction between two steps, or one that failed, repeats nothing', () => {
    const start = event('compaction/start', { compactionId: 'c' })
    expect(told(start, event('compaction/end', { compactionId: 'c' })).at(-1)).toMatchObject({
      data: { willRetry: false },
    })
    const end = event('compaction/end', { compactionId: 'c', error: 'no summary' })
    expect(told(failed, start, end).at(-1)).toMatchObject({
      data: { willRetry: false, error: 'no summary' },
    })
  })

  it('ends what is open when the run ends', () => {
    const translate = translator()
    translate.push(message({ type: 'text', text: '' }))
    translate.push(event('tool/call', { callId: 'a', name: 'slow', arguments: '{}' }))
    translate.push(event('compaction/start', { compactionId: 'c' }))
    expect(translate.finish()).toMatchObject([
      { stream: 'tool', data: { phase: 'end', callId: 'a', isError: true, code: 'NO_RESULT' } },
      { stream: 'compaction', data: { phase: 'end', willRetry: false, error: 'the run ended first' } },
    ])
    expect(translate.finish()).toEqual([])
  })

  it('never tells half a character, wherever the provider splits it', () => {
    for (let seed = 0; seed < 200; seed += 1) {
      const random = randomOf(seed)
      const whole = Array.from({ length: 20 }, () => random.pick(['😀', 'a', '語', '👩‍👩‍👧', '\n'])).join('')
      const bodies = told(...split(whole, random, 4).map((piece) => text(piece)))
      const pieces = bodies.flatMap(({ data }) => (data.phase === 'delta' ? [data.delta] : []))
      expect(pieces.join(''), `seed ${seed}`).toBe(whole)
      for (const piece of pieces) expect(piece.isWellFormed(), `seed ${seed}`).toBe(true)
    }
  })

  it('tells the calls that a program makes as updates of its own', () => {
    const sub = { rootCallId: 'a', parentCallId: 'a', subCallId: 'a:code:1', name: 'read' }
    const bodies = told(
      event('tool/code-dispatch-start', sub),
      event('tool/code-dispatch', { ...sub, isError: true }),
    )
    expect(bodies).toMatchObject([
      { stream: 'tool', data: { phase: 'update', callId: 'a', name: 'read', state: 'started' } },
      { stream: 'tool', data: { phase: 'update', subCallId: 'a:code:1', state: 'failed' } },
    ])
  })

  it('keeps arguments and results within their bounds', () => {
    const [, start, end] = told(
      message({ type: 'tool-call', id: 'a', name: 'write', arguments: '' }),
      event('tool/call', {
        callId: 'a',
        name: 'write',
        arguments: JSON.stringify({ text: 'x'.repeat(90_000) }),
      }),
      event('tool/result', {
        message: { content: [{ toolCallId: 'a', content: [{ type: 'text', text: 'y'.repeat(90_000) }] }] },
      }),
    )
    expect(JSON.stringify(start).length).toBeLessThan(17_000)
    expect(JSON.stringify(end).length).toBeLessThan(17_000)
    expect(JSON.stringify(end)).toContain('more characters]')
  })
})
