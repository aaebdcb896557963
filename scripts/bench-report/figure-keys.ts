/** Figures of a whole run, each under a name that stays the same from run to run. */
import type { BenchFigure } from '../figures.ts'

export interface PackageFigure extends BenchFigure {
  readonly package: string
}

/**
 * By `<package> <bench>`; a bench that measures several variants has `#2`, `#3`, … after the first. What a
 * bench adds to its name, such as `[call] 1,000 works, 512 bytes`, is cut at the measured part.
 */
export function byKey(figures: readonly PackageFigure[]): ReadonlyMap<string, PackageFigure> {
  const keyed = new Map<string, PackageFigure>()
  for (const figure of figures) {
    const name = `${figure.package} ${figure.bench.replace(/, [\d.]+ bytes$/u, '')}`
    let key = name
    for (let count = 2; keyed.has(key); count += 1) key = `${name} #${count}`
    keyed.set(key, figure)
  }
  return keyed
}
