import { describe, expect, it } from 'vitest'
import { run } from '../chaos/graph-chaos.ts'
import { POINTS } from '../chaos/kill-point.ts'

describe('a supervised graph in headless DSH processes under SIGKILL', () => {
  it('ends as if nobody had disturbed it, wherever they die', { timeout: 240_000 }, async () => {
    const { kills, ...result } = await run({ rounds: 5, seed: Math.trunc(Math.random() * 2 ** 31) })
    expect(result).toEqual({ suite: 'graph', rounds: 5, failed: 0, lost: 0, doubled: 0, failures: [] })
    // Ten kills were aimed at six points in turn; a graph that is done before its second is spared it.
    const hit = POINTS.filter((point) => kills[point] > 0)
    expect(hit.length).toBeGreaterThanOrEqual(POINTS.length - 1)
  })
})
