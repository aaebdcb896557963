/** The shape of a bench's figures, and what every bench here computes alike. */

/** One line of the report. `ratio` is a cost over the baseline's, or a rate over its rate, as `baseline` says. */
export interface BenchFigure {
  bench: string
  median: number
  p95: number
  unit: string
  baseline: string
  ratio: number
  n: number
}

export function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN
}

export function ascending(times: readonly number[]): number[] {
  return times.toSorted((a, b) => a - b)
}

/** A figure out of two samples, its ratio the one median over the other. */
export function figureOf(
  bench: string,
  unit: string,
  { ours, base, baseline }: { ours: readonly number[]; base: readonly number[]; baseline: string },
): BenchFigure {
  const [sorted, basis] = [ascending(ours), ascending(base)]
  const [median, against] = [quantile(sorted, 0.5), quantile(basis, 0.5)]
  return {
    bench,
    median,
    p95: quantile(sorted, 0.95),
    unit,
    baseline: `${baseline}, ${against.toPrecision(3)} ${unit}`,
    ratio: median / against,
    n: ours.length,
  }
}
