import { describe, expect, it } from 'vitest'
import { EventRing } from '../../src/streams/event-ring.ts'
import type { RunEvent } from '../../src/streams/types.ts'
import { randomOf } from '../support/random.ts'

const envelope = (seq: number) => ({ runId: 'r', sessionId: 's', seq, ts: seq })

function delta(seq: number, text: string, block = 0): RunEvent {
  return {
    ...envelope(seq),
    stream: 'assistant',
    data: { phase: 'delta', message: 1, block, delta: text },
  }
}

function start(seq: number): RunEvent {
  return { ...envelope(seq), stream: 'lifecycle', data: { phase: 'start', attempt: 1, startedAt: 0 } }
}

const LIMITS = { maxCharacters: 1_000, maxSegments: 8 }

function textOf(event: RunEvent | 'behind' | undefined): string {
  if (event === undefined || event === 'behind') return String(event)
  return event.stream === 'assistant' && event.data.phase === 'delta' ? event.data.delta : event.stream
}

describe('the ring of a run', () => {
  it('gives a late reader the deltas of a block as one, from wherever it stands', () => {
    const ring = new EventRing(0, LIMITS)
    ring.push(start(1))
    for (const [index, letter] of [...'abcdef'].entries()) ring.push(delta(index + 2, letter))
    expect(textOf(ring.after(0))).toBe('lifecycle')
    expect(ring.after(1)).toMatchObject({ firstSeq: 2, seq: 7, data: { delta: 'abcdef' } })
    expect(ring.after(4)).toMatchObject({ firstSeq: 5, seq: 7, data: { delta: 'def' } })
    expect(ring.after(6)).toEqual(delta(7, 'f'))
    expect(ring.after(7)).toBeUndefined()
  })

  it('keeps deltas of different blocks apart', () => {
    const ring = new EventRing(0, LIMITS)
    ring.push(delta(1, 'a', 0))
    ring.push(delta(2, 'b', 1))
    ring.push(delta(3, 'c', 1))
    expect(textOf(ring.after(0))).toBe('a')
    expect(textOf(ring.after(1))).toBe('bc')
  })

  it('says that it does not reach back to what it let go', () => {
    const ring = new EventRing(0, LIMITS)
    for (let seq = 1; seq <= 40; seq += 1) ring.push(start(seq))
    expect(ring.firstSeq).toBe(33)
    expect(ring.after(31)).toBe('behind')
    expect(ring.after(32)).toEqual(start(33))
  })

  it('begins where it is told to', () => {
    const ring = new EventRing(1_000, LIMITS)
    expect(ring.firstSeq).toBe(1_001)
    expect(ring.after(1_000)).toBeUndefined()
    ring.push(start(1_001))
    expect(ring.after(3)).toBe('behind')
    expect(ring.after(1_000)).toEqual(start(1_001))
  })

  it('stays within its bounds, and loses nothing within them, for random streams', () => {
    for (let seed = 0; seed < 200; seed += 1) {
      const random = randomOf(seed)
      const ring = new EventRing(0, LIMITS)
      const letters: string[] = []
      let position = 0
      let read = ''
      for (let seq = 1; seq <= 300; seq += 1) {
        const letter = random.int(30) === 0 ? 'x'.repeat(random.int(400)) + '|' : String(seq % 10)
        letters.push(letter)
        ring.push(delta(seq, letter, random.int(40)))
        const { characters, segments } = ring.held
        expect(segments, `seed ${seed}`).toBeLessThanOrEqual(LIMITS.maxSegments)
        expect(characters, `seed ${seed}`).toBeLessThanOrEqual(LIMITS.maxCharacters + 16_384)
        if (random.int(6) !== 0) continue
        for (let next = ring.after(position); next !== undefined; next = ring.after(position)) {
          if (next === 'behind') {
            read = letters.slice(0, ring.firstSeq - 1).join('')
            position = ring.firstSeq - 1
            continue
          }
          expect(next.firstSeq ?? next.seq, `seed ${seed}`).toBe(position + 1)
          position = next.seq
          read += textOf(next)
        }
        expect(read, `seed ${seed}`).toBe(letters.join(''))
      }
    }
  })
})
