import { describe, expect, it } from 'vitest'
import { Chunker, type Chunk } from '../../src/replies/chunker.ts'
import { openFence } from '../../src/replies/fences.ts'
import type { ChunkLimits } from '../../src/replies/types.ts'
import { randomOf, split, type Random } from '../support/random.ts'

function cut(pieces: readonly string[], limits: Partial<ChunkLimits>): Chunk[] {
  const chunker = new Chunker(limits)
  return [...pieces.flatMap((piece) => [...chunker.push(piece)]), ...chunker.flush()]
}

const texts = (chunks: readonly Chunk[]): string[] => chunks.map((chunk) => chunk.text)

const WORDS = ['a', 'graph', 'wörter', '語', '😀', '👩‍👩‍👧', 'x'.repeat(90), '`code`', 'e.g.', '```', '~~~', '`']
const ENDS = [' ', ' ', ' ', '. ', '! ', '。', '\n', '\n', '\n\n', '\n\n\n', ', ']
const FENCES = ['```', '```ts', '~~~', '````md', '   ```', '``````', '``` not `a fence`']

function randomText(random: Random): string {
  let text = ''
  const parts = random.int(60)
  for (let part = 0; part < parts; part += 1) {
    if (random.int(8) === 0) text += `\n${random.pick(FENCES)}\n`
    text += random.pick(WORDS) + random.pick(ENDS)
  }
  return text
}

function randomLimits(random: Random): ChunkLimits {
  const maxChars = 16 + random.int(200)
  const breakPreference = random.pick(['paragraph', 'newline', 'sentence'] as const)
  return { minChars: 1 + random.int(maxChars), maxChars, breakPreference }
}

describe('chunks of a random text', () => {
  const seeds = Array.from({ length: 1_000 }, (_, seed) => seed + 9_500)

  it('are together the text, whatever pieces it came in', () => {
    for (const seed of seeds) {
      const random = randomOf(seed)
      const text = randomText(random)
      const limits = randomLimits(random)
      const chunks = cut(split(text, random), limits)
      expect(chunks.map((chunk) => chunk.raw).join(''), `seed ${seed}`).toBe(text)
    }
  })

  it('are the same for every way to split it', () => {
    for (const seed of seeds) {
      const random = randomOf(seed)
      // Whether such a line is a fence is known at its end only, which may be beyond the limit.
      const text = randomText(random).replace(/^( {0,3}```[^`\n]*)`.*$/gm, '$1')
      const limits = randomLimits(random)
      const whole = cut([text], limits)
      expect(cut(split(text, random), limits), `seed ${seed}`).toEqual(whole)
      expect(cut([...text], limits), `seed ${seed}`).toEqual(whole)
    }
  })

  it('are no longer than the limit, and have no half characters', () => {
    for (const seed of seeds) {
      const random = randomOf(seed)
      const text = randomText(random)
      const limits = randomLimits(random)
      for (const chunk of cut(split(text, random), limits)) {
        expect(chunk.text.length, `seed ${seed}`).toBeLessThanOrEqual(limits.maxChars)
        expect(chunk.text.isWellFormed(), `seed ${seed}`).toBe(true)
      }
    }
  })

  it('have whole fences each', () => {
    for (const seed of seeds) {
      const random = randomOf(seed)
      const text = randomText(random)
      const limits = randomLimits(random)
      const maxMarker = Math.floor(limits.maxChars / 4) - 1
      const chunks = cut(split(text, random), limits)
      // The last chunk of a text that ends inside a fence is closed, too.
      for (const chunk of chunks) {
        expect(openFence(chunk.text, maxMarker), `seed ${seed}: ${JSON.stringify(chunk)}`).toBeUndefined()
      }
    }
  })
})

describe('a chunk', () => {
  const limits = { minChars: 10, maxChars: 40 }

  it('waits for the least size and for a paragraph', () => {
    const chunker = new Chunker(limits)
    expect(chunker.push('One.\n\n')).toEqual([])
    expect(texts([...chunker.push('Two is longer.\n\nThree')])).toEqual(['One.\n\nTwo is longer.'])
    expect(texts([...chunker.flush()])).toEqual(['Three'])
    expect(chunker.isPending).toBe(false)
  })

  it('ends at the best break there is before the greatest size', () => {
    const at = (text: string) => texts(cut([text], limits))[0]
    const tail = 'x'.repeat(30)
    expect(at(`first part\nof it. And ${tail}`)).toBe('first part')
    expect(at(`first part of it. And so ${tail}`)).toBe('first part of it.')
    expect(at(`first part of it and so ${tail}`)).toBe('first part of it and so')
    expect(at('x'.repeat(60))).toBe('x'.repeat(40))
  })

  it('may end at each line or sentence when that is preferred', () => {
    const text = 'The first one. The second one.\nThe third one.'
    expect(texts(cut([text], { ...limits, breakPreference: 'newline' }))).toEqual([
      'The first one. The second one.',
      'The third one.',
    ])
    expect(texts(cut([text], { ...limits, breakPreference: 'sentence' }))).toEqual([
      'The first one.',
      'The second one.',
      'The third one.',
    ])
  })

  it('closes a fence that is too long and opens it again', () => {
    const text = '```ts\nconst first = 1\nconst second = 2\nconst third = 3\n```\n'
    expect(texts(cut([text], limits))).toEqual([
      '```ts\nconst first = 1\n```',
      '```ts\nconst second = 2\n```',
      '```ts\nconst third = 3\n```',
    ])
  })

  it('leaves a fence whole that fits into the next one', () => {
    const text = 'Twenty-five characters ..\n```\nconst a = 1\nconst b = 2\n```\n'
    expect(texts(cut([text], limits))).toEqual([
      'Twenty-five characters ..',
      '```\nconst a = 1\nconst b = 2\n```',
    ])
  })

  it('does not take a break inside a fence for a paragraph', () => {
    const text = 'Look at it:\n```\nfirst\n\nsecond\n```\n\nAfter.'
    expect(texts(cut([text], { minChars: 10, maxChars: 100 }))).toEqual([
      'Look at it:\n```\nfirst\n\nsecond\n```',
      'After.',
    ])
  })

  it('never ends between the halves of a character', () => {
    const chunks = cut(['😀'.repeat(30)], { minChars: 5, maxChars: 17 })
    expect(chunks.map((chunk) => chunk.raw).join('')).toBe('😀'.repeat(30))
    for (const { text } of chunks) expect(text.isWellFormed()).toBe(true)
  })
})
