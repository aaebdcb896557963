/**
 * [throughput] One graph of many works with a model that answers at once: works per second, and what a
 * work costs in the last tenth against the first. Sessions are kept on disk, as in a profile. 5,000
 * works, or as many as BENCH_WORKS says.
 */
import { quantile, type BenchFigure } from '../../../scripts/figures.ts'
import { Composition, worksNamed } from './composition.ts'

const BATCH = 32
const MIB = 1024 * 1024

export async function run(): Promise<BenchFigure[]> {
  const works = Number(process.env['BENCH_WORKS'] ?? 5_000)
  await using composition = await Composition.boot({ modelMs: 0, config: { wakeDelayMs: 60_000 } })
  await composition.root('root')
  const endedAt: number[] = []
  composition.ctx.graphControl.onCommitted(({ counts }) => {
    while (endedAt.length < counts.terminal) endedAt.push(performance.now())
  })
  const begin = performance.now()
  for (let added = 0; added < works; added += BATCH) {
    const count = Math.min(BATCH, works - added)
    // The next batch is there before the one before it has ended.
    const ended = composition.whenEnded('root', added + Math.ceil(count / 2))
    await composition.add('root', worksNamed(`w${added}-`, count))
    await ended
  }
  if (endedAt.length < works) await composition.whenEnded('root', works)
  const seconds = (performance.now() - begin) / 1_000
  const costs = endedAt.map((at, index) => at - (endedAt[index - 1] ?? begin))
  const tenth = Math.floor(works / 10)
  const mean = (of: readonly number[]) => of.reduce((sum, cost) => sum + cost, 0) / of.length
  const [first, last] = [mean(costs.slice(0, tenth)), mean(costs.slice(-tenth))]
  const memory = Math.round(process.memoryUsage().rss / MIB)
  const size = (composition.logBytes() / MIB).toFixed(1)
  return [
    {
      bench: 'throughput',
      median: last,
      p95: quantile(costs, 0.95),
      unit: 'ms per work',
      baseline: `first tenth, ${first.toPrecision(3)} ms; ${(works / seconds).toFixed(0)} works/s, ${memory} MiB of memory, ${size} MiB of log`,
      ratio: last / first,
      n: works,
    },
  ]
}
