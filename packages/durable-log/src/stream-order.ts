/**
 * The order of stream names: by code point, which is the byte order of UTF-8 and the one that
 * SQLite (`BINARY`) and PostgreSQL (`COLLATE "C"`) give for nothing. It differs from the `<` of
 * JavaScript only between characters above U+FFFF and those from U+E000 to U+FFFF. Pure.
 */

/** Lifts surrogates above the rest of the basic plane, where their code points belong. */
function rank(unit: number): number {
  if (unit >= 0xe000) return unit - 0x800
  return unit >= 0xd800 ? unit + 0x2000 : unit
}

/** Negative, zero or positive, as `Array.prototype.sort` wants it. Both names must be well-formed. */
export function compareStreams(left: string, right: string): number {
  const shared = Math.min(left.length, right.length)
  for (let index = 0; index < shared; index += 1) {
    const difference = rank(left.charCodeAt(index)) - rank(right.charCodeAt(index))
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

/** The first index of a sorted list whose name is not before `name`. */
export function positionOf(sorted: readonly string[], name: string): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareStreams(sorted[middle] ?? '', name) < 0) low = middle + 1
    else high = middle
  }
  return low
}
