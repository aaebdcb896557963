/** The report of the benches: what it makes of rounds, and what it holds to be a regression. */
import { describe, expect, it } from 'vitest'
import { baselineOf, missingIn, regressionsOf } from '../../scripts/bench-report/baseline.ts'
import { chartOf } from '../../scripts/bench-report/chart.ts'
import { byKey, type PackageFigure } from '../../scripts/bench-report/figure-keys.ts'
import { pageOf, PAGES } from '../../scripts/bench-report/pages.ts'
import { summarize } from '../../scripts/bench-report/rounds.ts'

function figure(
  pkg: string,
  bench: string,
  ratio: number,
  parts: Partial<PackageFigure> = {},
): PackageFigure {
  return { package: pkg, bench, ratio, median: 1, p95: 2, unit: 'ms', baseline: 'bare', n: 10, ...parts }
}

/** At most 2, and at least 2. */
const round = (accept: number, lanes: number) => [
  figure('agent-loop', 'accept', accept),
  figure('agent-loop', 'lane-throughput', lanes),
]

describe('the rounds', () => {
  it('are told by the one in the middle, with how far they lie apart', () => {
    const [accept, lanes] = summarize([round(1.5, 3), round(1, 5), round(1.2, 4)])
    expect(accept).toMatchObject({ value: 1.2, least: 1, greatest: 1.5, share: 0.6 })
    expect(lanes).toMatchObject({ value: 4, least: 3, greatest: 5, share: 0.5 })
  })

  it('keep variants of a bench apart, and know a bench whose measured size differs', () => {
    const keys = (figures: PackageFigure[]) => [...byKey(figures).keys()]
    expect(keys([figure('p', 'commit', 1), figure('p', 'commit', 2)])).toEqual(['p commit', 'p commit #2'])
    expect(keys([figure('p', '[view] 10 works, 512 bytes', 1)])).toEqual(['p [view] 10 works'])
  })

  it('measure in the unit where the target does', () => {
    const [summary] = summarize([[figure('graph-runtime', 'mount', 7, { median: 30 })]])
    expect(summary).toMatchObject({ value: 30, share: 0.5 })
  })
})

describe('a regression', () => {
  const known = baselineOf(summarize([round(1, 4), round(1.02, 4.1), round(1.04, 4.2)]), 'a machine', 3)

  it('is a cost or a rate that is worse beyond the band', () => {
    expect(regressionsOf(known, summarize([round(1.5, 4)]))).toMatchObject([
      { key: 'agent-loop accept', is: 1.5 },
    ])
    expect(regressionsOf(known, summarize([round(1, 2.5)]))).toMatchObject([
      { key: 'agent-loop lane-throughput' },
    ])
  })

  it('is not what noise makes, nor what got better', () => {
    expect(regressionsOf(known, summarize([round(1.2, 3.5)]))).toEqual([])
    expect(regressionsOf(known, summarize([round(0.2, 40)]))).toEqual([])
  })

  it('needs more where the rounds of the baseline lay further apart', () => {
    const noisy = baselineOf(summarize([round(1, 4), round(1.2, 4), round(1.6, 4)]), 'a machine', 3)
    expect(regressionsOf(noisy, summarize([round(2.2, 4)]))).toEqual([])
    expect(regressionsOf(noisy, summarize([round(2.5, 4)]))).toHaveLength(1)
  })

  it('is not a figure that nobody measured; that is told as missing', () => {
    const [accept] = round(1, 4)
    const only = summarize([accept === undefined ? [] : [accept]])
    expect(regressionsOf(known, only)).toEqual([])
    expect(missingIn(known, only, new Set(['agent-loop']))).toEqual(['agent-loop lane-throughput'])
    expect(missingIn(known, only, new Set(['graph-host']))).toEqual([])
  })
})

describe('the page', () => {
  const summaries = summarize([round(2.5, 4)])
  const run = { summaries, rounds: 1, machine: 'two cores', versions: { pg: '8' }, load: [0, 1] as const }

  it.each(PAGES)('$file counts what is met, and marks what is not', ({ words }) => {
    const text = pageOf(run, words)
    expect(text).toMatch(/\b2\b.*\b1\b|\b1\b.*\b2\b/u)
    expect(text).toContain('| `accept` | ≤ 2 | 2.5 ✗ |')
    expect(text).toContain('| `lane-throughput` | ≥ 2 | 4 ✓ |')
    expect(text).toContain('images/performance-agent-loop.svg')
  })

  it('has a chart whose bars end before the line where the target is met', () => {
    const svg = chartOf(summaries, { title: 'a & b', allowed: '100 %' })
    expect(svg).toContain('a &amp; b')
    expect(svg.match(/class="met"/gu)).toHaveLength(1)
    expect(svg.match(/class="missed"/gu)).toHaveLength(1)
  })
})
