import { assert, asyncProperty } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { histories } from '../fuzz/reference/arbitrary.ts'
import { play, type Tally } from '../fuzz/reference/history.ts'

const RUNS = 1_000

/** What so many histories must have come upon, or they would show little. */
const REACHED = [
  ...'completed failed cancelled stopped superseded skipped live'.split(' ').map((end) => `work ${end}`),
  ...'completed failed stopped superseded'.split(' ').map((end) => `join ${end}`),
  ...'completed live'.split(' ').map((end) => `retried ${end}`),
  ...'superseded failed'.split(' ').map((end) => `replaced ${end}`),
  ...(
    'add stop retry everything finish draft repeat provision bind claim begin rearm cancel again hold settle ' +
    'wait see wake schedule attempt complete exhaust supersede recover advance create list read timeline ' +
    'compact purge'
  )
    .split(' ')
    .map((name) => `${name} taken`),
]

describe('the store beside a reference that tells everything anew from plain facts', () => {
  it(
    'answers, refuses and shows the same over random histories of several writers',
    { timeout: 240_000 },
    async () => {
      const tally: Tally = new Map()
      const seed = Math.trunc(Math.random() * 2 ** 31)
      await assert(
        asyncProperty(histories, (history) => play(history, tally)),
        // Not for the histories themselves: for the search of a short one that fails.
        { numRuns: RUNS, seed, interruptAfterTimeLimit: 180_000 },
      )
      expect(REACHED.filter((what) => !tally.has(what))).toEqual([])
    },
  )
})
