/** Random numbers that a seed repeats, for the fuzz targets, and the shape of what a target reports. */

export interface FuzzSummary {
  target: string
  runs: number
  failed: number
  failures: { seed: number; text: string }[]
}

export type Random = () => number

/** Mulberry32: small, and the same everywhere. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export function pick<T>(random: Random, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T
}

/** Runs one case a seed; run `i` of a campaign with seed `s` repeats as run 0 of seed `s + i`. */
export function campaign(
  target: string,
  { runs, seed }: { runs: number; seed: number },
  fault: (seed: number) => string | undefined,
): FuzzSummary {
  const failures: FuzzSummary['failures'] = []
  for (let i = 0; i < runs; i++) {
    const text = fault(seed + i)
    if (text !== undefined) failures.push({ seed: seed + i, text })
  }
  return { target, runs, failed: failures.length, failures }
}
