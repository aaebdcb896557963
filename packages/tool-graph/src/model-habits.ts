/**
 * How models write what they mean: other spellings of a name, JSON inside a string, words that stand
 * for nothing. Pure.
 */

/** The declared name that this one spells in another way or stands for, or `undefined`. */
export function knownName(
  name: string,
  known: readonly string[],
  aliases: Readonly<Record<string, string>> = {},
): string | undefined {
  if (known.includes(name)) return name
  const plain = plainForm(name)
  const spelled = known.find((candidate) => plainForm(candidate) === plain)
  if (spelled !== undefined) return spelled
  return Object.hasOwn(aliases, plain) ? aliases[plain] : undefined
}

/** Letters and digits only: `work_id`, `Work-ID` and `workId` are one. */
export function plainForm(name: string): string {
  return name.replace(/[_\s-]/gu, '').toLowerCase()
}

/** Longest string that is tried as JSON, in characters. */
const MAX_JSON_CHARS = 1_000_000

/** A list or an object that came as JSON in a string, also fenced; `undefined` for any other string. */
export function nestedJson(text: string, kind: 'array' | 'object'): unknown {
  if (text.length > MAX_JSON_CHARS) return undefined
  const plain = unfenced(text.trim())
  if (!plain.startsWith(kind === 'array' ? '[' : '{')) return undefined
  try {
    return JSON.parse(plain) as unknown
  } catch {
    return undefined
  }
}

function unfenced(text: string): string {
  if (!text.startsWith('```') || !text.endsWith('```') || text.length < 6) return text
  return text.slice(text.startsWith('```json') ? 7 : 3, -3).trim()
}

/** A string that says that there is nothing. */
export function saysNothing(text: string): boolean {
  return NOTHING.has(text.trim().toLowerCase())
}

/** Also `none`, `n/a` and a dash: only where a name is asked for that nobody gives so. */
export function namesNothing(text: string): boolean {
  return NOTHING.has(text.trim().toLowerCase()) || NO_NAMES.has(text.trim().toLowerCase())
}

const NOTHING: ReadonlySet<string> = new Set(['', 'null', 'undefined'])
const NO_NAMES: ReadonlySet<string> = new Set(['none', 'nil', 'n/a', '-', 'not applicable'])

/** Names that are compared at most; a graph may have more works than anybody waits for. */
const COMPARED_NAMES = 2_000
/** Characters of a name that are compared; the ids of works are shorter, or random beyond it. */
const COMPARED_CHARS = 64

/** The candidates that look most like the name, at most `limit`; none where none is like it. */
export function nearest(name: string, candidates: Iterable<string>, limit = 3): readonly string[] {
  const ranked: { candidate: string; distance: number }[] = []
  const most = Math.max(2, Math.floor(Math.min(name.length, COMPARED_CHARS) / 3))
  let left = COMPARED_NAMES
  for (const candidate of candidates) {
    if (left-- === 0) break
    const distance = distanceBetween(plainForm(name), plainForm(candidate), most)
    if (distance <= most) ranked.push({ candidate, distance })
  }
  ranked.sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1))
  const best = ranked[0]?.distance
  return ranked
    .filter((entry) => entry.distance === best)
    .slice(0, limit)
    .map((entry) => entry.candidate)
}

/** ` (did you mean …?)`, or nothing where no name is like it. */
export function suggestion(name: string, known: Iterable<string>): string {
  const like = nearest(name, known)
  return like.length === 0 ? '' : ` (did you mean ${like.map((id) => `"${id}"`).join(', ')}?)`
}

/** Insertions, deletions and substitutions between two names; more than `most` is not counted on. */
function distanceBetween(first: string, second: string, most: number): number {
  const [a, b] = [first.slice(0, COMPARED_CHARS), second.slice(0, COMPARED_CHARS)]
  if (Math.abs(a.length - b.length) > most) return most + 1
  let row = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let line = 1; line <= a.length; line++) {
    const next = [line]
    for (let column = 1; column <= b.length; column++) {
      const same = a[line - 1] === b[column - 1] ? 0 : 1
      next.push(Math.min((next[column - 1] ?? 0) + 1, (row[column] ?? 0) + 1, (row[column - 1] ?? 0) + same))
    }
    row = next
    if (Math.min(...row) > most) return most + 1
  }
  return row[b.length] ?? 0
}
