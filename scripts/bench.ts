/** `pnpm bench [target]`: runs `packages/<package>/bench/<file>.bench.ts`. */
import { cpus } from 'node:os'
import { chosen, emit, houseOptions, targetsIn } from './command-line.ts'
import type { BenchFigure } from './figures.ts'

const HELP = `pnpm bench [package | package/file] [--json]

Measures against a baseline in the same run. One line a figure; ratio is a rate over the baseline's
rate, or a cost over the baseline's cost, as the bench's baseline says. --json: JSON Lines, the last
line a summary. Figures of a shared machine are noisy: compare ratios, not times.`

const options = houseOptions(HELP)
const targets = targetsIn<{ run: () => Promise<BenchFigure[]> }>(
  'bench',
  '.bench.ts',
  (dir, file) => `${dir}/${file.replace(/\.bench\.ts$/u, '')}`,
)
let figures = 0
for (const target of chosen(targets, options.target)) {
  const { run } = await target.load()
  const [name] = target.name.split('/')
  for (const figure of await run()) {
    figures += 1
    const { bench, median, p95, p99, unit, baseline, ratio, n } = figure
    const tail = p99 === undefined ? '' : `, p99 ${p99.toPrecision(4)}`
    emit(
      options.json,
      { package: name, ...figure },
      `${name} ${bench}: ratio ${ratio.toFixed(3)} (${baseline}); p50 ${median.toPrecision(4)} ${unit}, p95 ${p95.toPrecision(4)}${tail}, n ${n}`,
    )
  }
}
const machine = `${cpus().length}x ${cpus()[0]?.model ?? 'unknown'}, node ${process.version}`
emit(options.json, { summary: 'bench', figures, machine }, `${figures} figures on ${machine}`)
