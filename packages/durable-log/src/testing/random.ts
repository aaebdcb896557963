/** Seeded random numbers, so that a failed round or run can be repeated. */
export interface Random {
  /** A whole number from 0 to `bound` - 1. */
  below(bound: number): number
  /** One of the values. */
  pick<T>(values: readonly T[]): T
}

/** A generator with 32 bits of state (a Weyl sequence behind a mixing function). */
export function randomFrom(seed: number): Random {
  let state = Math.imul(seed ^ 0x5bd1e995, 0x9e3779b1) >>> 0
  const next = (): number => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = state
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return (mixed ^ (mixed >>> 15)) >>> 0
  }
  const below = (bound: number) => Math.floor((next() / 2 ** 32) * bound)
  return {
    below,
    pick: (values) => {
      const value = values[below(values.length)]
      if (value === undefined && values.length === 0) throw new Error('nothing to pick from')
      return value as (typeof values)[number]
    },
  }
}
