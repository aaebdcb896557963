import { expect, it } from 'vitest'
import { run } from '../fuzz/calls.fuzz.ts'

it(
  'understands or refuses 5,000 random calls, and writes nothing by halves',
  { timeout: 120_000 },
  async () => {
    expect(await run({ runs: 5_000, seed: 42 })).toMatchObject({ failed: 0, failures: [] })
  },
)
