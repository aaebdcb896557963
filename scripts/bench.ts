/** `pnpm bench [package]`: runs `packages/<package>/bench/*.bench.ts`. */
import { cpus } from 'node:os'
import { chosen, emit, houseOptions, targetsIn } from './command-line.ts'
import type { BenchFigure } from './figures.ts'

const HELP = `pnpm bench [package] [--json]

Measures against a baseline in the same run. One line a figure; ratio is a rate over the baseline's
rate, or a cost over the baseline's cost, as the bench's baseline says. --json: JSON Lines, the last
line a summary. Figures of a shared machine are noisy: compare ratios, not times.`

const options = houseOptions(HELP)
const targets = targetsIn<{ run: () => Promise<BenchFigure[]> }>('bench', '.bench.ts', (dir) => dir)
let figures = 0
for (const target of chosen(targets, options.target)) {
  const { run } = await target.load()
  for (const figure of await run()) {
    figures += 1
    const { bench, median, p95, p99, unit, baseline, ratio, n } = figure
    const tail = p99 === undefined ? '' : `, p99 ${p99.toPrecision(4)}`
    emit(
      options.json,
      figure,
      `${target.name} ${bench}: ratio ${ratio.toFixed(3)} (${baseline}); p50 ${median.toPrecision(4)} ${unit}, p95 ${p95.toPrecision(4)}${tail}, n ${n}`,
    )
  }
}
const machine = `${cpus().length}x ${cpus()[0]?.model ?? 'unknown'}, node ${process.version}`
emit(options.json, { summary: 'bench', figures, machine }, `${figures} figures on ${machine}`)
