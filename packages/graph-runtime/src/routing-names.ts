/** Names that a model gets nearly right: what it may have meant, and how to tell it. Pure. */

/** Longest model-given name that is compared; a tool's name is far shorter. */
const COMPARED_CHARS = 128

/** Names listed in full; the rest is counted. */
const LISTED = 50

/** A name without what models add or change: a namespace in front, case, separators. */
function bare(name: string): string {
  const last = name.slice(-COMPARED_CHARS).split(/[.:/]/).at(-1) ?? ''
  return last.toLowerCase().replace(/[^a-z0-9]/g, '')
}

/** Edits between two names, a swap of neighbours counting as one. */
function distance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let cost = Math.min(at(row, j) + 1, at(next, j - 1) + 1, at(row, j - 1) + same)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) cost = Math.min(cost, at(before, j - 2) + 1)
      next.push(cost)
    }
    ;[before, row] = [row, next]
  }
  return at(row, b.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY
}

/** The one name that `given` can only mean; `undefined` when there is none, or more than one. */
export function sameName(given: string, names: readonly string[]): string | undefined {
  const wanted = bare(given)
  if (wanted === '') return undefined
  const found = names.filter((name) => bare(name) === wanted)
  return found.length === 1 ? found[0] : undefined
}

/** Names close to `given`, the closest first, three at most. */
export function nearNames(given: string, names: readonly string[]): string[] {
  const wanted = bare(given)
  if (wanted === '') return []
  const near: { name: string; far: number }[] = []
  for (const name of names) {
    const candidate = bare(name)
    const part = Math.min(wanted.length, candidate.length) >= 3
    const contained = part && (candidate.includes(wanted) || wanted.includes(candidate))
    const far = contained ? 1 : distance(wanted, candidate)
    if (far <= Math.max(1, Math.floor(candidate.length / 3))) near.push({ name, far })
  }
  return near
    .toSorted((a, b) => a.far - b.far)
    .slice(0, 3)
    .map(({ name }) => name)
}

/** Names in quotes; beyond {@link LISTED} only how many there are. */
export function listNames(names: readonly string[]): string {
  const shown = names.slice(0, LISTED).map((name) => `"${name}"`)
  const more = names.length - shown.length
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ') || '(none)'
}
