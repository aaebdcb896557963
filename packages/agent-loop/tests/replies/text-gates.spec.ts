import { describe, expect, it } from 'vitest'
import { SilentGate, withoutToken } from '../../src/replies/silent-token.ts'
import { ThinkingTags } from '../../src/replies/thinking-tags.ts'
import { randomOf, split } from '../support/random.ts'

/** What is told after each piece, and at the end. */
function gate(pieces: readonly string[]): string[] {
  const one = new SilentGate()
  return [...pieces.map((piece) => one.push(piece)), one.end()]
}

function part(pieces: readonly string[]): { text: string; thinking: string } {
  const tags = new ThinkingTags()
  const parts = [...pieces.map((piece) => tags.push(piece)), tags.end()]
  return {
    text: parts.map(({ text }) => text).join(''),
    thinking: parts.map(({ thinking }) => thinking).join(''),
  }
}

describe('the silent word', () => {
  it('is held back from its first letter on', () => {
    for (const whole of ['NO_REPLY', ' \nNO_REPLY\n ', 'no_reply', 'No_Reply']) {
      expect(gate([...whole]).join('')).toBe('')
    }
  })

  it('does not keep a text back that only begins like it', () => {
    expect(gate(['N', 'o', ',', ' I', ' do']).slice(0, 3)).toEqual(['', '', 'No,'])
    expect(gate(['NO', '_REPLYING is no word']).join('')).toBe('NO_REPLYING is no word')
  })

  it('is taken off the beginning and the end of a longer text', () => {
    expect(withoutToken('NO_REPLY\n\nBut look.')).toBe('But look.')
    expect(withoutToken('All done.\n\nNO_REPLY\n')).toBe('All done.')
    expect(withoutToken('The word NO_REPLY is silent.')).toBe('The word NO_REPLY is silent.')
    expect(withoutToken('never.NO_REPLY')).toBe('never.NO_REPLY')
  })

  it('never shows in part, whatever pieces it comes in', () => {
    for (let seed = 0; seed < 500; seed += 1) {
      const random = randomOf(seed)
      const before = random.pick(['', 'Sent it. ', 'N', 'NO ', 'a\n', 'x_NO_REPLY '])
      const after = random.pick(['', '\n', ' ', ' and more', 'X'])
      const whole = `${before}NO_REPLY${after}`
      const told = gate(split(whole, random, 3))
      expect(told.join(''), `seed ${seed}`).toBe(withoutToken(whole))
      let shown = ''
      for (const piece of told) {
        shown += piece
        expect(withoutToken(whole).startsWith(shown), `seed ${seed}`).toBe(true)
      }
    }
  })
})

describe('thinking in a text', () => {
  it('is taken out, whatever pieces its tags come in', () => {
    const whole = 'a<think>b</think>c <Thinking>d</THINKING>e'
    for (let seed = 0; seed < 300; seed += 1) {
      const random = randomOf(seed)
      expect(part(split(whole, random, 3)), `seed ${seed}`).toEqual({ text: 'ac e', thinking: 'bd' })
    }
  })

  it('is text inside of code', () => {
    for (const text of ['Say `<think>x</think>`.', '```\n<think>\n```\nafter', 'a ``b ` <think> `` c']) {
      expect(part([...text])).toEqual({ text, thinking: '' })
    }
  })

  it('may begin behind a lone backtick of an earlier paragraph', () => {
    expect(part(['a ` b\n\n<think>c</think>d'])).toEqual({ text: 'a ` b\n\nd', thinking: 'c' })
  })

  it('hides the rest when it is never closed', () => {
    expect(part(['a<think>b', 'c'])).toEqual({ text: 'a', thinking: 'bc' })
  })

  it('leaves every other angle bracket alone', () => {
    for (const text of ['1 < 2', '<thin', '<b>x</b>', '<thinker>', 'x <', '</x>']) {
      expect(part([...text])).toEqual({ text, thinking: '' })
    }
  })
})
