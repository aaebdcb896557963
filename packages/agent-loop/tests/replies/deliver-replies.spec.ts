import { describe, expect, it } from 'vitest'
import { deliverReplies } from '../../src/replies/deliver-replies.ts'
import type { ReplyOptions, ReplyPayload } from '../../src/replies/types.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { called, ended, lines, said, tell } from '../support/tale.ts'
import { settleDown } from '../support/until.ts'

const options: ReplyOptions = { blocks: 'text_end', chunk: { minChars: 5, maxChars: 40 }, verbose: true }
const tale = [said('First part.\n\nSecond part.'), called('look'), said('Third part.', 2), ended]

async function* replay() {
  for (const reply of tell(tale, options)) yield reply
}

describe('the delivery of replies', () => {
  it('sends one after the other, and nothing twice', async () => {
    const sent: ReplyPayload[] = []
    let underWay = 0
    const send = async (payload: ReplyPayload): Promise<void> => {
      expect((underWay += 1)).toBe(1)
      await settleDown()
      sent.push(payload)
      underWay -= 1
    }
    const clock = new ManualClock()
    await deliverReplies(replay(), { send, clock })
    expect(lines(sent)).toEqual([
      'answer: First part.',
      'answer: Second part.',
      'tool: look {"args":"a"}',
      'answer: Third part.',
    ])
    expect(clock.pending).toBe(0)
  })

  it('keeps the order when a block takes too long: no more blocks, and the final says what is open', async () => {
    const clock = new ManualClock()
    const sent: ReplyPayload[] = []
    const errors: unknown[] = []
    let aborted = false
    const send = async (payload: ReplyPayload, signal: AbortSignal): Promise<void> => {
      if (payload.text === 'Second part.') {
        signal.addEventListener('abort', () => (aborted = true))
        await new Promise(() => undefined)
      }
      sent.push(payload)
    }
    const delivery = deliverReplies(replay(), {
      send,
      clock,
      blockTimeoutMs: 1_000,
      onBlocksEnded: (error) => void errors.push(error),
    })
    await settleDown()
    clock.advance(1_000)
    await delivery
    expect(aborted).toBe(true)
    expect(errors).toHaveLength(1)
    expect(lines(sent)).toEqual([
      'answer: First part.',
      'tool: look {"args":"a"}',
      'answer: First part.\n\nSecond part.',
      'answer: Third part.',
    ])
    expect(clock.pending).toBe(0)
  })

  it('does the same when a block is refused', async () => {
    const sent: ReplyPayload[] = []
    let refusals = 0
    const send = (payload: ReplyPayload): Promise<void> => {
      if (payload.text === 'Third part.' && refusals === 0) {
        refusals += 1
        return Promise.reject(new Error('no'))
      }
      sent.push(payload)
      return Promise.resolve()
    }
    await deliverReplies(replay(), { send })
    expect(lines(sent)).toEqual([
      'answer: First part.',
      'answer: Second part.',
      'tool: look {"args":"a"}',
      'answer: Third part.',
    ])
    expect(refusals).toBe(1)
  })

  it('rejects when a payload of the final cannot be sent', async () => {
    const refusing = (): Promise<void> => Promise.reject(new Error('gone'))
    await expect(deliverReplies(replay(), { send: refusing })).rejects.toThrow('gone')
  })
})
