import { describe, expect, it } from 'vitest'
import { run } from '../chaos/append-chaos.ts'

describe('SQLite log under SIGKILL', () => {
  it(
    'keeps every acknowledged append once and whole, wherever the writer dies',
    { timeout: 120_000 },
    async () => {
      const seed = Math.trunc(Math.random() * 2 ** 31)
      const { failures, kills, ...summary } = await run({ rounds: 20, seed })
      expect(failures).toEqual([])
      expect(summary).toEqual({ suite: 'log', rounds: 20, failed: 0, lost: 0, doubled: 0 })
      expect(Object.values(kills ?? {}).reduce((sum, count) => sum + count, 0)).toBe(20)
    },
  )
})
