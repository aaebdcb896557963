/**
 * The lossless check against DSH's `isJsonValue`: same verdict on random values, and a verdict of
 * "lossy" always comes with a path that leads somewhere. One run is one value; run `i` of a campaign
 * with seed `s` repeats as run 0 of seed `s + i`.
 */
import { runInNewContext } from 'node:vm'
import { inspect } from 'node:util'
import { isJsonValue } from '@deepseek-ai/dsh-session'
import { findLossy } from '../src/lossless.ts'
import { campaign, pick, randomOf, type FuzzSummary, type Random } from './random.ts'

export type { FuzzSummary }

const foreign = runInNewContext(
  '({ array: () => [1, { a: null }], object: () => ({ a: [true] }), date: () => new Date(0) })',
) as {
  array(): unknown
  object(): unknown
  date(): unknown
}

const SCALARS: readonly unknown[] = [
  null,
  true,
  false,
  '',
  'text',
  '__proto__',
  0,
  1,
  -1.5,
  1e300,
  Number.MIN_VALUE,
]

/** Values that JSON loses, and a few that only look like it. */
const ODD: readonly (() => unknown)[] = [
  () => undefined,
  () => -0,
  () => Number.NaN,
  () => Infinity,
  () => 1n,
  () => Symbol('s'),
  () => () => 1,
  () => new Date(0),
  () => new Map(),
  () => new Set([1]),
  () => /x/g,
  () => new Uint8Array(2),
  () => Object(1),
  () => Promise.resolve(),
  () => new Error('e'),
  () => Object.create({ inherited: 1 }),
  () => Object.assign(Object.create(null) as object, { a: 1 }),
  () => Object.setPrototypeOf([1], null) as unknown,
  () => new (class List extends Array {})(),
  () => 'ab'.match(/a/),
  () => [1, , 2], // oxlint-disable-line no-sparse-arrays
  () => Array.from({ length: 3 }),
  () => Object.assign([], { length: 50 }),
  () => Object.defineProperty({ a: 1 }, 'hidden', { value: 1 }),
  () => Object.defineProperty({}, 'x', { enumerable: true, get: () => 1 }),
  () => Object.defineProperty({}, 'x', { enumerable: true, get: () => undefined }),
  () => Object.defineProperty({}, 'x', { enumerable: true, get: () => JSON.parse('{') as unknown }),
  () => ({ toJSON: () => 1 }),
  () => Object.freeze([{ a: 1 }]),
  () => new Proxy([1, 2], {}),
  () => new Proxy({ a: 1 }, { ownKeys: () => JSON.parse('{') as [] }),
  () =>
    (function args(..._rest: unknown[]) {
      return arguments // oxlint-disable-line prefer-rest-params
    })(1),
  foreign.array,
  foreign.object,
  foreign.date,
]

/** Marks on an array or object that JSON does not see. */
const MARKS: readonly ((holder: object) => unknown)[] = [
  (holder) => Object.assign(holder, { [Symbol('mark')]: 1 }),
  (holder) => Object.defineProperty(holder, 'mark', { value: 1, configurable: true }),
  (holder) => Object.assign(holder, { mark: 1 }),
  (holder) => Object.defineProperty(holder, '0', { enumerable: true, configurable: true, get: () => 1 }),
]

class Generator {
  private readonly random: Random
  private readonly odds: number
  private readonly made: object[] = []

  constructor(seed: number) {
    this.random = randomOf(seed)
    // A third of the values is meant to be clean.
    this.odds = this.random() < 1 / 3 ? 0 : this.random() * 0.1
  }

  value(depth = 0): unknown {
    const { random, made } = this
    if (random() < this.odds) return pick(random, ODD)()
    if (depth > 6 || random() < 0.4) return pick(random, SCALARS)
    // An earlier container again: an ancestor makes a cycle, anything else is a shared reference.
    if (made.length > 0 && random() < this.odds) return pick(random, made)
    const holder = random() < 0.5 ? this.array(depth) : this.object(depth)
    if (random() < this.odds) pick(random, MARKS)(holder)
    return holder
  }

  private array(depth: number): object {
    const array: unknown[] = []
    this.made.push(array)
    // Now and then longer than the length at which arrays are judged by their outline.
    const long = this.random() < 0.05
    const length = Math.floor(this.random() * (long ? 90 : 5))
    for (let i = 0; i < length; i++) array.push(long && i % 9 !== 0 ? i : this.value(depth + 1))
    if (this.random() < this.odds && length > 0) delete array[Math.floor(this.random() * length)]
    return array
  }

  private object(depth: number): object {
    const object: Record<string, unknown> = {}
    this.made.push(object)
    const size = Math.floor(this.random() * 5)
    for (let i = 0; i < size; i++)
      object[pick(this.random, ['a', 'b', 'c d', '0', 'constructor'])] = this.value(depth + 1)
    return object
  }
}

function expected(value: unknown): boolean {
  try {
    return isJsonValue(value)
  } catch {
    return false
  }
}

/** What is wrong with our answer for this value, if anything. */
function fault(value: unknown): string | undefined {
  const lossy = findLossy(value)
  if (expected(value) !== (lossy === undefined)) return `says ${JSON.stringify(lossy ?? 'lossless')} of`
  if (lossy !== undefined && (!lossy.path.startsWith('result') || lossy.kind === ''))
    return `names nothing in`
  return undefined
}

export async function run(options: { runs: number; seed: number }): Promise<FuzzSummary> {
  return campaign('lossless', options, (seed) => {
    const value = new Generator(seed).value()
    const text = fault(value)
    return text === undefined ? undefined : `${text} ${inspect(value, { depth: 8, showHidden: true })}`
  })
}
