import type { SessionEvent } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { MAX_REPLY_CHARACTERS, readTurn, traceMessage } from '../src/session-trace.ts'

/** Events by type and data; what a reading does not look at is left out. */
function events(...list: readonly (readonly [type: string, data: unknown])[]): readonly SessionEvent[] {
  return list.map(([type, data], seq) => ({ type, seq, time: seq, data })) as unknown as SessionEvent[]
}
const message = (id: string) => ({ id, role: 'user', content: [], source: { kind: 'user' } })
const insert = (id: string, start = 0) =>
  ['agent/inbox/spliced', { target: 'next-turn', start, inserted: [message(id)] }] as const
const remove = (start: number, outcome?: 'canceled') =>
  ['agent/inbox/spliced', { target: 'next-turn', start, removedCount: 1, inserted: [], outcome }] as const
const turn = (number: number) => ['turn/start', { turn: number }] as const
const end = (number: number, kind = 'completed') => ['turn/end', { turn: number, reason: { kind } }] as const
const assistant = (number: number, content: unknown[], usage?: object) =>
  ['assistant/message', { turn: number, step: 1, message: { content }, usage }] as const

describe('the trace of a message', () => {
  it('is absent when the session never saw it', () => {
    expect(traceMessage(events(insert('other')), 'm')).toEqual({ kind: 'absent' })
  })

  it('is pending while it waits, also behind others', () => {
    expect(traceMessage(events(insert('other'), insert('m', 1)), 'm')).toEqual({ kind: 'pending' })
    expect(traceMessage(events(insert('other'), insert('m', 1), turn(1), remove(0)), 'm')).toEqual({
      kind: 'pending',
    })
  })

  it('is absent again after it was taken out without a turn', () => {
    expect(traceMessage(events(insert('m'), remove(0, 'canceled')), 'm')).toEqual({ kind: 'absent' })
  })

  it('is claimed by the turn that took it, delivered once it is in the conversation', () => {
    const claimed = [insert('m'), turn(4), remove(0)]
    expect(traceMessage(events(...claimed), 'm')).toEqual({ kind: 'claimed', turn: 4, delivered: false })
    const delivered = [...claimed, ['user/message', message('m')] as const]
    expect(traceMessage(events(...delivered), 'm')).toEqual({ kind: 'claimed', turn: 4, delivered: true })
    expect(traceMessage(events(...delivered, end(4, 'interrupted'), turn(5), end(5)), 'm')).toEqual({
      kind: 'claimed',
      turn: 4,
      delivered: true,
      end: { kind: 'interrupted' },
    })
  })

  it('follows the newest sending', () => {
    const twice = [insert('m'), turn(1), remove(0), end(1, 'interrupted'), insert('m')]
    expect(traceMessage(events(...twice), 'm')).toEqual({ kind: 'pending' })
  })
})

describe('what a turn came to', () => {
  it('is the last text with something in it, and the usage of all messages', () => {
    const log = events(
      turn(1),
      assistant(1, [{ type: 'text', text: 'of an earlier turn' }], { inputTokens: 100, outputTokens: 100 }),
      end(1),
      turn(2),
      assistant(2, [{ type: 'text', text: 'first' }], { inputTokens: 1, outputTokens: 2 }),
      assistant(2, [
        { type: 'reasoning', text: 'hm' },
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ]),
      assistant(2, [{ type: 'text', text: ' \n' }], { inputTokens: 10, outputTokens: Number.NaN }),
      end(2),
      turn(3),
      assistant(3, [{ type: 'text', text: 'of a later turn' }]),
    )
    expect(readTurn(log, 2)).toEqual({ reply: 'ab', usage: { inputTokens: 11, outputTokens: 2 } })
  })

  it('is nothing when the assistant said nothing', () => {
    expect(readTurn(events(turn(1), end(1)), 1)).toEqual({})
  })

  it('is cut when it is too long, and says so', () => {
    const text = 'x'.repeat(MAX_REPLY_CHARACTERS + 5)
    const { reply } = readTurn(events(turn(1), assistant(1, [{ type: 'text', text }])), 1)
    expect(reply).toMatch(/x\n\[cut: 5 more characters\]$/)
  })
})
