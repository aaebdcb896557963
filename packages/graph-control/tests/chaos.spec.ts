import { describe, expect, it } from 'vitest'
import { run } from '../chaos/store-chaos.ts'

describe('the graph store under SIGKILL', () => {
  it(
    'keeps every acknowledged transition once, and none by half, wherever its process dies',
    { timeout: 180_000 },
    async () => {
      const seed = Math.trunc(Math.random() * 2 ** 31)
      const { failures, kills, ...summary } = await run({ rounds: 20, seed })
      expect(failures).toEqual([])
      expect(summary).toEqual({ suite: 'store', rounds: 20, failed: 0, lost: 0, doubled: 0 })
      expect(Object.values(kills ?? {}).reduce((sum, count) => sum + count, 0)).toBe(20)
    },
  )
})
