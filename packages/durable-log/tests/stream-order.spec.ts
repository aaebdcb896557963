import { describe, expect, it } from 'vitest'
import { compareStreams, positionOf } from '../src/stream-order.ts'

const names = [
  '',
  'a',
  'aa',
  'b',
  'Z',
  'a/',
  'é',
  '\ud7ff',
  '\ue000',
  '\uffff',
  '\u{10000}',
  '\u{10ffff}',
  'a\u{1f600}',
  'a\uff5e',
]

describe('stream order', () => {
  it('is the byte order of UTF-8', () => {
    for (const left of names) {
      for (const right of names) {
        const expected = Buffer.compare(Buffer.from(left), Buffer.from(right))
        expect(Math.sign(compareStreams(left, right))).toBe(expected)
      }
    }
  })

  it('finds the first name that is not before another', () => {
    const sorted = names.toSorted(compareStreams)
    for (const [index, name] of sorted.entries()) expect(positionOf(sorted, name)).toBe(index)
    expect(positionOf(sorted, 'aab')).toBe(sorted.indexOf('aa') + 1)
    expect(positionOf([], 'a')).toBe(0)
    expect(positionOf(['a'], 'b')).toBe(1)
  })
})
