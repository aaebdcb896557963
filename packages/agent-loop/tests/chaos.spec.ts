import { describe, expect, it } from 'vitest'
import { run } from '../chaos/loop-chaos.ts'

describe('headless DSH processes under SIGKILL', () => {
  it('end every accepted run once, double no turn, and keep the order', async () => {
    const result = await run({ rounds: 10, seed: 20_261_201 })
    expect(result).toMatchObject({ failed: 0, lost: 0, doubled: 0, failures: [] })
    expect(Object.keys(result.kills).toSorted()).toEqual(['accepting', 'boot', 'rest', 'turns'])
  }, 240_000)
})
