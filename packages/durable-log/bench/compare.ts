/** Two sides measured in turn in one run, so that a slower machine for a while slows both. */
import { type BenchFigure, quantile } from '../../../scripts/figures.ts'

/** Runs so many operations and resolves when they are durable. */
export type Side = (operations: number) => Promise<void> | void

export interface Comparison {
  readonly bench: string
  readonly baseline: string
  readonly rounds: number
  readonly operations: number
  readonly measured: Side
  readonly reference: Side
}

const WARM_UP_ROUNDS = 5

export async function compare(comparison: Comparison): Promise<BenchFigure> {
  const { rounds, operations, measured, reference } = comparison
  const rates: number[] = []
  const ratios: number[] = []
  for (let round = -WARM_UP_ROUNDS; round < rounds; round += 1) {
    const measuredFirst = round % 2 === 0
    const first = await rateOf(measuredFirst ? measured : reference, operations)
    const second = await rateOf(measuredFirst ? reference : measured, operations)
    if (round < 0) continue
    const [rate, baseline] = measuredFirst ? [first, second] : [second, first]
    rates.push(rate)
    ratios.push(rate / baseline)
  }
  return {
    bench: comparison.bench,
    median: quantile(rates, 0.5),
    p95: quantile(rates, 0.05),
    unit: 'appends/s',
    baseline: comparison.baseline,
    ratio: quantile(ratios, 0.5),
    n: rounds * operations,
  }
}

/** Operations a second. */
async function rateOf(side: Side, operations: number): Promise<number> {
  const start = performance.now()
  await side(operations)
  return (operations * 1000) / (performance.now() - start)
}
