import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { histories } from '../fuzz/reference/arbitrary.ts'
import { play, type Tally } from '../fuzz/reference/history.ts'

const RUNS = 1_000

/** What so many histories must have come upon, or they would show little. */
const REACHED = [
  ...['completed', 'failed', 'cancelled', 'stopped', 'superseded', 'skipped', 'live'].map(
    (end) => `work ${end}`,
  ),
  ...['join completed', 'join failed', 'join stopped', 'join superseded'],
  ...['retried completed', 'retried live', 'replaced superseded', 'replaced failed'],
  ...[
    'add',
    'stop',
    'retry',
    'everything',
    'finish',
    'draft',
    'repeat',
    'provision',
    'bind',
    'claim',
    'begin',
  ],
  ...['rearm', 'cancel', 'again', 'hold', 'settle', 'wait', 'see', 'wake', 'schedule', 'attempt', 'complete'],
  ...['exhaust', 'supersede', 'recover', 'advance', 'create', 'list', 'read', 'timeline', 'compact', 'purge'],
].map((name) => (name.includes(' ') ? name : `${name} taken`))

describe('the store beside a reference that tells everything anew from plain facts', () => {
  it(
    'answers, refuses and shows the same over random histories of several writers',
    { timeout: 240_000 },
    async () => {
      const tally: Tally = new Map()
      const seed = Math.trunc(Math.random() * 2 ** 31)
      await fc.assert(
        fc.asyncProperty(histories, (history) => play(history, tally)),
        // Not for the histories themselves: for the search of a short one that fails.
        { numRuns: RUNS, seed, interruptAfterTimeLimit: 180_000 },
      )
      expect(REACHED.filter((what) => !tally.has(what))).toEqual([])
    },
  )
})
