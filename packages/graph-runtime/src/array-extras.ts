/**
 * Whether an array carries own properties besides its elements and `length`; JSON would drop them.
 *
 * JavaScript can only list all own keys, which turns every index into a string and costs more than
 * the rest of a check. Node's inspector does tell the two kinds of keys apart, at a cost that does
 * not grow with the array, so long arrays are judged by whether it prints anything besides the
 * length. What a plain array prints as is learned from this Node at first use; should it not tell
 * the cases apart, keys are listed after all.
 */
import { inspect, types } from 'node:util'

/** Below this length listing the keys is the cheaper way. */
const LISTED_LENGTH = 32

const OUTLINE = {
  showHidden: true,
  customInspect: false,
  getters: false,
  colors: false,
  numericSeparator: false,
  maxArrayLength: 0,
  depth: 0,
  breakLength: Infinity,
} as const

let learned: readonly string[] | undefined

/** Text around the two mentions of the length in a plain array's outline; empty if outlines do not help. */
function learnOutline(): readonly string[] {
  const sample = Array.from({ length: 77 }, () => 0)
  const parts = inspect(sample, OUTLINE).split('77')
  const odd = [
    Object.assign([...sample], { extra: 1 }),
    Object.defineProperty([...sample], 'hidden', { value: 1 }),
    Object.assign([...sample], { [Symbol('extra')]: 1 }),
  ]
  const tells = odd.every((array) => inspect(array, OUTLINE) !== parts.join('77'))
  return tells && parts.length === 3 ? parts : []
}

/** Whether the array has own properties besides its elements and `length`. */
export function hasExtras(array: readonly unknown[]): boolean {
  const length = array.length
  if (length >= LISTED_LENGTH && !types.isProxy(array)) {
    const parts = (learned ??= learnOutline())
    if (parts.length > 0) return inspect(array, OUTLINE) !== parts.join(String(length))
  }
  // A hole evens out an extra property here, but a hole is a fault of its own.
  return Reflect.ownKeys(array).length > length + 1
}
