/** Taking time, and the figures out of it. */
import { type BenchFigure, quantile } from '../../../scripts/figures.ts'

/** Milliseconds. */
export async function timed(operate: () => unknown): Promise<number> {
  const start = performance.now()
  await operate()
  return performance.now() - start
}

export interface Sample {
  readonly bench: string
  readonly baseline: string
  /** Costs in milliseconds, and those of the baseline in the same rounds. */
  readonly ours: readonly number[]
  readonly base: readonly number[]
  readonly operations: number
}

/** A cost beside its baseline; the ratio is the median of those of the rounds. */
export function costFigure({ bench, baseline, ours, base, operations }: Sample): BenchFigure {
  return {
    bench,
    median: quantile(ours, 0.5),
    p95: quantile(ours, 0.95),
    p99: quantile(ours, 0.99),
    unit: 'ms',
    baseline: `${baseline}, ${quantile(base, 0.5).toPrecision(3)} ms`,
    ratio: quantile(
      ours.map((cost, round) => cost / (base[round] ?? Number.NaN)),
      0.5,
    ),
    n: operations,
  }
}
