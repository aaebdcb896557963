/**
 * The committed baseline, and when a figure is worse than it beyond noise.
 *
 * Only figures with a target are compared: it says which way is better. The band is what the rounds of
 * the baseline lay apart, twice, and never less than a quarter: on a shared machine a ratio moves by
 * that much without a reason in the code.
 */
import type { Summary } from './rounds.ts'
import { TARGETS, shareOf } from './targets.ts'

const LEAST_BAND = 0.25

export interface Baseline {
  /** Processors and Node of the run. */
  readonly machine: string
  /** Milliseconds of epoch are of no use here: the commit that holds the file tells the day. */
  readonly rounds: number
  readonly figures: Readonly<Record<string, BaselineFigure>>
}

export interface BaselineFigure {
  readonly value: number
  /** How far the rounds lay apart, as a share of the value. */
  readonly spread: number
}

export interface Regression {
  readonly key: string
  readonly was: number
  readonly is: number
  /** How much of the allowance the figure takes, over what it took: beyond `1 + band` here. */
  readonly times: number
  readonly band: number
}

export function baselineOf(summaries: readonly Summary[], machine: string, rounds: number): Baseline {
  const figures = summaries
    .filter(({ target }) => target !== undefined)
    .map(({ greatest, key, least, value }) => [
      key,
      { value: rounded(value), spread: rounded(value === 0 ? 0 : (greatest - least) / value) },
    ])
  return { machine, rounds, figures: Object.fromEntries(figures) as Baseline['figures'] }
}

/** What is worse than the baseline by more than its band. */
export function regressionsOf(baseline: Baseline, summaries: readonly Summary[]): readonly Regression[] {
  return summaries.flatMap(({ key, value }) => {
    const target = TARGETS[key]
    const known = baseline.figures[key]
    if (target === undefined || known === undefined) return []
    const times = shareOf(target, value) / shareOf(target, known.value)
    const band = Math.max(LEAST_BAND, 2 * known.spread)
    return times > 1 + band ? [{ key, was: known.value, is: value, times, band }] : []
  })
}

/** Figures of the baseline that a run of the same benches did not print any more. */
export function missingIn(
  baseline: Baseline,
  summaries: readonly Summary[],
  packages: ReadonlySet<string>,
): readonly string[] {
  const there = new Set(summaries.map(({ key }) => key))
  return Object.keys(baseline.figures).filter(
    (key) => packages.has(key.split(' ')[0] ?? '') && !there.has(key),
  )
}

function rounded(value: number): number {
  return Number(value.toPrecision(4))
}
