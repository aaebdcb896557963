import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { histories } from '../fuzz/reference/arbitrary.ts'
import { play, type Step, type Tally } from '../fuzz/reference/history.ts'

const RUNS = 1_000

describe('the store beside a reference that tells everything anew from plain facts', () => {
  it(
    'answers, refuses and shows the same over random histories of several writers',
    { timeout: 120_000 },
    async () => {
      const tally: Tally = new Map()
      const seed = Math.trunc(Math.random() * 2 ** 31)
      await fc.assert(
        fc.asyncProperty(histories, (history) => play(history, tally)),
        { numRuns: RUNS, seed },
      )
      expect(tally).toEqual(new Map())
    },
  )
})
