/** The whole stack under a virtual clock: `pnpm fuzz stack --runs 2000` plays more of these. */
import { describe, expect, it } from 'vitest'
import { simulate } from '../fuzz/stack/simulation.ts'

const SEEDS = 200
/** Seeds of one test, so that a machine under load has time for each. */
const TOGETHER = 25

function blocks(): { readonly from: number; readonly to: number }[] {
  return Array.from({ length: SEEDS / TOGETHER }, (_, block) => ({
    from: block * TOGETHER + 1,
    to: (block + 1) * TOGETHER,
  }))
}

describe('the whole stack', () => {
  it.each(blocks())('keeps its promises in the simulations of seeds $from to $to', async ({ from, to }) => {
    const failures: string[] = []
    for (let seed = from; seed <= to; seed += 1) {
      const { findings, history } = await simulate(seed)
      if (findings.length > 0) failures.push([`seed ${seed}: ${findings.join('; ')}`, ...history].join('\n'))
    }
    expect(failures.join('\n\n')).toBe('')
  })

  it('plays a seed the same way each time', async () => {
    const [once, again] = [await simulate(6), await simulate(6)]
    expect(again.history.map(withoutRandomIds)).toEqual(once.history.map(withoutRandomIds))
    expect(once.history.length).toBeGreaterThan(50)
  })
})

/** Holders of leases have ids of their own, which decide nothing. */
function withoutRandomIds(line: string): string {
  return line.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/gu, 'id')
}
