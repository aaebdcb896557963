/**
 * Several rounds of benches as one set of figures: the middle of each, and how far the rounds lie apart.
 * Neighbours on a shared machine make a round slow; they seldom make it fast.
 */
import { quantile } from '../figures.ts'
import { byKey, type PackageFigure } from './figure-keys.ts'
import { type Measure, shareOf, type Target, TARGETS } from './targets.ts'

export interface Summary {
  readonly key: string
  /** The figure of the round in the middle. */
  readonly figure: PackageFigure
  readonly target: Target | undefined
  /** What the target measures, or the ratio: the middle, the least and the greatest of the rounds. */
  readonly value: number
  readonly least: number
  readonly greatest: number
  /** See {@link shareOf}; `undefined` without a target. */
  readonly share: number | undefined
}

export function measured(figure: PackageFigure, measure: Measure): number {
  return figure[measure]
}

/** @param rounds of the same benches; a figure that a round does not have is taken from the others. */
export function summarize(rounds: readonly (readonly PackageFigure[])[]): readonly Summary[] {
  const keyed = rounds.map(byKey)
  const keys = new Set(keyed.flatMap((round) => [...round.keys()]))
  return Array.from(keys, (key) => {
    const target = TARGETS[key]
    const measure = target?.measure ?? 'ratio'
    const figures = keyed
      .flatMap((round) => round.get(key) ?? [])
      .toSorted((one, other) => measured(one, measure) - measured(other, measure))
    const figure = figures[Math.floor((figures.length - 1) / 2)]
    if (figure === undefined) throw new Error(`no round has ${key}`)
    const values = figures.map((of) => measured(of, measure))
    const value = measured(figure, measure)
    return {
      key,
      figure,
      target,
      value,
      least: quantile(values, 0),
      greatest: quantile(values, 1),
      share: target === undefined ? undefined : shareOf(target, value),
    }
  })
}
