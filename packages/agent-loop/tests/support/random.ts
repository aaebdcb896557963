/** Seeded randomness for property tests: a failure names its seed. */
export interface Random {
  /** A whole number from 0 to `below` - 1. */
  int(below: number): number
  /** From 0 to below 1. */
  fraction(): number
  pick<T>(items: readonly T[]): T
}

export function randomOf(seed: number): Random {
  let state = (seed + 1) * 0x9e3779b9
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const int = (below: number): number => Math.floor(next() * below)
  return {
    int,
    fraction: next,
    pick: (items) => {
      const item = items[int(items.length)]
      if (item === undefined) throw new Error('nothing to pick from')
      return item
    },
  }
}

/** The text in pieces of random length, also in the middle of surrogate pairs. */
export function split(text: string, random: Random, longest = 40): string[] {
  const pieces: string[] = []
  for (let start = 0; start < text.length;) {
    const end = start + 1 + random.int(longest)
    pieces.push(text.slice(start, end))
    start = end
  }
  return pieces
}
