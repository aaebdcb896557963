import { describe, expect, it } from 'vitest'
import { run } from '../chaos/hosts-chaos.ts'

describe('three hosts on one database', () => {
  it('lose no run, run none twice, keep order and widths, and end by themselves, whatever strikes them', async () => {
    const result = await run({ rounds: 5, seed: 20_261_201, together: 5 })
    expect(result).toMatchObject({ failed: 0, lost: 0, doubled: 0, failures: [] })
  }, 300_000)
})
