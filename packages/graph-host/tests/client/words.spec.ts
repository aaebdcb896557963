import { describe, expect, it } from 'vitest'
import { EN } from '../../client/words-en.ts'
import { ZH } from '../../client/words-zh.ts'
import { statusText, waitText, wordsFor } from '../../client/words.ts'
import { card } from './large-graph.ts'

const placesIn = (text: string) => [...text.matchAll(/\{\w+\}/gu)].map(([place]) => place).sort()

describe('the two languages', () => {
  it('have the same words with the same values in them', () => {
    expect(Object.keys(ZH).sort()).toEqual(Object.keys(EN).sort())
    const other = Object.entries(EN).filter(
      ([word, text]) => placesIn(text).join() !== placesIn(ZH[word as keyof typeof EN]).join(),
    )
    expect(other).toEqual([])
  })

  it.each([
    ['zh-CN', '运行中'],
    ['zh', '运行中'],
    ['en-US', 'running'],
    ['de', 'running'],
  ])('%s reads %s', (locale, text) => {
    expect(wordsFor(locale).say('status.running')).toBe(text)
  })
})

describe('a wait', () => {
  const words = wordsFor('en')
  const titleOf = (id: string) => `“${id}”`

  it.each([
    [{ for: 'draft' } as const, 'waits for the draft to be committed'],
    [{ for: 'slot' } as const, 'waits for a free slot'],
    [{ for: 'start' } as const, 'waits for its operator to begin'],
    [
      { for: 'lane', lane: 'subagent', width: 8, depth: 3 } as const,
      'waits for one of 8 slots of lane subagent, 3 in line',
    ],
    [{ for: 'works', ids: ['a', 'b'], more: 0 } as const, 'waits for “a”, “b”'],
    [{ for: 'works', ids: ['a'], more: 3 } as const, 'waits for “a” and 3 more'],
    [{ for: 'operator', workId: 'a' } as const, 'waits for its operator, which does “a”'],
    [{ for: 'person', reason: 'it was lost' } as const, 'waits for you: it was lost'],
    [{ for: 'model', reason: 'it was lost' } as const, 'waits for the model to decide: it was lost'],
  ])('%j is told in words', (waits, text) => {
    expect(waitText(words, card('x', { waits }), titleOf)).toBe(text)
  })

  it('is never just "running"', () => {
    expect(waitText(words, card('x', { status: 'running' }), titleOf)).toBe('its session is at work')
  })

  it('for a person shows in the status', () => {
    const held = card('x', { status: 'running', waits: { for: 'person', reason: 'lost' } })
    expect(statusText(words, held)).toBe('needs you')
  })

  it('puts values in as they are, whatever is in them', () => {
    expect(words.say('waits.person', { reason: '{reason} $& <b>' })).toBe('waits for you: {reason} $& <b>')
  })
})

it.each([
  [400, '0.4 s'],
  [-50, '0.0 s'],
  [59_400, '59 s'],
  [61_000, '1 min 1 s'],
  [3_725_000, '1 h 2 min'],
])('%i ms took %s', (ms, text) => {
  expect(wordsFor('en').duration(ms)).toBe(text)
})
