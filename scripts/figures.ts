/** The shape of a bench's figures, and what every bench computes alike. */

/** One line of the report. */
export interface BenchFigure {
  readonly bench: string
  readonly median: number
  /** What 95 % of the samples keep to: the upper end of a cost, the lower end of a rate. */
  readonly p95: number
  /** The same for 99 %. */
  readonly p99?: number
  readonly unit: string
  readonly baseline: string
  /** A cost over the baseline's cost, or a rate over its rate, as `baseline` says. */
  readonly ratio: number
  /** Operations measured. */
  readonly n: number
}

/** The value below which this share of the values lies; NaN of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}

/** A figure out of two samples of costs, its ratio the one median over the other. */
export function figureOf(
  bench: string,
  unit: string,
  { ours, base, baseline }: { ours: readonly number[]; base: readonly number[]; baseline: string },
): BenchFigure {
  const median = quantile(ours, 0.5)
  const against = quantile(base, 0.5)
  return {
    bench,
    median,
    p95: quantile(ours, 0.95),
    p99: quantile(ours, 0.99),
    unit,
    baseline: `${baseline}, ${against.toPrecision(3)} ${unit}`,
    ratio: median / against,
    n: ours.length,
  }
}

/** A figure out of two samples of rates, its ratio the one median over the other. @param each operations of a sample. */
export function rateFigureOf(
  bench: string,
  unit: string,
  {
    ours,
    base,
    baseline,
    each,
  }: { ours: readonly number[]; base: readonly number[]; baseline: string; each: number },
): BenchFigure {
  const median = quantile(ours, 0.5)
  const against = quantile(base, 0.5)
  return {
    bench,
    median,
    p95: quantile(ours, 0.05),
    unit,
    baseline: `${baseline}, ${Math.round(against)} ${unit}; a rate over its rate`,
    ratio: median / against,
    n: ours.length * each,
  }
}
