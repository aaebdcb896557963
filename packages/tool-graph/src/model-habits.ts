/**
 * How models write what they mean: other spellings of a name, JSON inside a string. Pure.
 */

/** The declared name that this one spells in another way, or itself. */
export function knownName(name: string, known: readonly string[]): string {
  if (known.includes(name)) return name
  const plain = plainForm(name)
  return known.find((candidate) => plainForm(candidate) === plain) ?? name
}

function plainForm(name: string): string {
  return name.replace(/[_\s-]/gu, '').toLowerCase()
}

/** Longest string that is tried as JSON, in characters. */
const MAX_JSON_CHARS = 1_000_000

/** A list or an object that came as JSON in a string; everything else as it is. */
export function readNested(
  value: unknown,
  kind: 'array' | 'object',
  at: string,
  note: (adjustment: string) => void,
): unknown {
  if (typeof value !== 'string' || value.length > MAX_JSON_CHARS) return value
  const text = value.trim()
  if (!text.startsWith(kind === 'array' ? '[' : '{')) return value
  try {
    const read: unknown = JSON.parse(text)
    note(`${at} was read from a JSON string`)
    return read
  } catch {
    return value
  }
}

/** The candidates that look most like the name, nearest first, at most `limit`. */
export function nearest(name: string, candidates: Iterable<string>, limit = 3): readonly string[] {
  const ranked: { candidate: string; distance: number }[] = []
  for (const candidate of candidates) {
    const distance = distanceBetween(name.toLowerCase(), candidate.toLowerCase())
    if (distance <= Math.max(2, Math.floor(name.length / 3))) ranked.push({ candidate, distance })
  }
  ranked.sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1))
  return ranked.slice(0, limit).map((entry) => entry.candidate)
}

/** Characters of a name that are compared; the ids of works are shorter, or random beyond it. */
const COMPARED_CHARS = 64

/** Insertions, deletions and substitutions between two names. */
function distanceBetween(first: string, second: string): number {
  const [a, b] = [first.slice(0, COMPARED_CHARS), second.slice(0, COMPARED_CHARS)]
  let row = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let line = 1; line <= a.length; line++) {
    const next = [line]
    for (let column = 1; column <= b.length; column++) {
      const same = a[line - 1] === b[column - 1] ? 0 : 1
      next.push(Math.min((next[column - 1] ?? 0) + 1, (row[column] ?? 0) + 1, (row[column - 1] ?? 0) + same))
    }
    row = next
  }
  return row[b.length] ?? 0
}
