/**
 * Random calls of the port: mostly well-formed, each with some chance of a hostile part. Every value
 * comes with the plain value that must be read back, or none where only a refusal is right.
 */
import type { Random } from 'dsh-durable-log/testing'

export interface HostileCall {
  readonly method: 'append' | 'read' | 'list' | 'saveSnapshot' | 'loadSnapshot' | 'remove'
  readonly args: readonly unknown[]
  /** The stream of an append or a removal. */
  readonly stream: string
  /** The entries that an accepted append must give back. */
  readonly plain: readonly { readonly type: string; readonly data: unknown }[] | undefined
}

interface Value {
  /** What is passed. */
  readonly passed: unknown
  /** What must be read back; undefined when it must be refused. */
  readonly plain: unknown
}

const STREAMS = ['graph/1', 'graph/2', 'run/ü', '__proto__', 'a\u{1f600}', 'constructor', '%', "';--"]
const TYPES = ['a', 'graph/updated', '__proto__', 'é'.repeat(64)]
const STRINGS = ['', 'x', '\0', '\n"\\', '\ud800', '\u2028', '\u{1f600}', '__proto__', 'x'.repeat(5000)]
const NUMBERS = [0, 1, -1, 0.1, 1e308, -5e-324, Number.MAX_SAFE_INTEGER, 2 ** 53]
const BAD_NAMES: readonly unknown[] = [
  '',
  'x'.repeat(600),
  'a\0',
  'a\n',
  '\ud800',
  7,
  null,
  undefined,
  [],
  {},
  Symbol('s'),
]
const BAD_COUNTS: readonly unknown[] = [-1, 0.5, NaN, Infinity, '1', null, {}, [], 1n, Symbol('s'), 2 ** 53]

/** Makers, so that each use is a fresh value. */
const BAD_VALUES: readonly (() => unknown)[] = [
  () => undefined,
  () => NaN,
  () => Infinity,
  () => -0,
  () => 1n,
  () => Symbol('s'),
  () => () => 1,
  () => new Date(0),
  () => new Map([[1, 2]]),
  () => new Set([1]),
  () => new Error('x'),
  () => Buffer.from('x'),
  () => Promise.resolve(1),
  () => Object('boxed'),
  () => Array.from({ length: 10 }),
  () => Object.assign([], { length: 10 }),
  () => Object.assign([1], { extra: 1 }),
  () => ({ toJSON: () => 1 }),
  () => ({ [Symbol('key')]: 1 }),
  () => Object.defineProperty({ a: 1 }, 'hidden', { value: 1 }),
  () => Object.create({ inherited: 1 }),
  () => cyclic(),
  () => nested(400),
  () => 'x'.repeat(4 * 1024 * 1024),
  () => throwing(),
  () => revoked(),
]

export function hostileArguments(random: Random): HostileCall {
  const method = random.pick([
    'append',
    'append',
    'append',
    'read',
    'list',
    'saveSnapshot',
    'loadSnapshot',
    'remove',
  ] as const)
  const stream = random.pick(STREAMS)
  const name = rarely(random) ? random.pick(BAD_NAMES) : stream
  if (method === 'append') return appendCall(random, stream, name)
  const args = {
    read: () => [name, options(random, ['afterSeq', 'limit'])],
    list: () => [options(random, ['limit', 'prefix', 'cursor'])],
    // An accepted snapshot is no append; what it stores, the contract suite compares.
    saveSnapshot: () => [name, count(random, 3), value(random, 3).passed],
    loadSnapshot: () => [name],
    remove: () => [name],
  }[method]()
  return { method, args, stream, plain: undefined }
}

function appendCall(random: Random, stream: string, name: unknown): HostileCall {
  const entries = Array.from({ length: 1 + random.below(4) }, () => {
    const data = value(random, 4)
    const isBadType = rarely(random)
    const type = random.pick(TYPES)
    return {
      passed: rarely(random)
        ? random.pick([null, 7, [], 'x', throwing()])
        : { type: isBadType ? random.pick(BAD_NAMES) : type, data: data.passed },
      plain: isBadType || data.plain === undefined ? undefined : { type, data: data.plain },
    }
  })
  const passed: unknown = rarely(random)
    ? random.pick<unknown>([[], null, undefined, {}, 'x', revoked()])
    : entries.map((entry) => entry.passed)
  const signal = random.pick<unknown>([
    undefined,
    {},
    { signal: undefined },
    { signal: new AbortController().signal },
    { signal: AbortSignal.abort() },
    { signal: {} },
    throwing(),
  ])
  const plain = entries.flatMap((entry) => (entry.plain === undefined ? [] : [entry.plain]))
  const isWhole = plain.length === entries.length && name === stream
  return {
    method: 'append',
    args: [name, rarely(random) ? count(random, 5) : 'any', passed, signal],
    stream,
    plain: isWhole ? plain : undefined,
  }
}

function rarely(random: Random): boolean {
  return random.below(12) === 0
}

function count(random: Random, bound: number): unknown {
  return random.below(4) === 0 ? random.pick(BAD_COUNTS) : random.below(bound)
}

function options(random: Random, keys: readonly string[]): unknown {
  if (rarely(random)) return random.pick<unknown>([null, 7, 'x', [], () => 1, throwing(), revoked()])
  return Object.fromEntries(
    keys
      .filter(() => random.below(2) === 0)
      .map((key) => {
        if (key === 'afterSeq' || key === 'limit') return [key, count(random, 1200)]
        return [key, rarely(random) ? random.pick(BAD_NAMES) : random.pick(['', 'graph/', ...STREAMS])]
      }),
  )
}

function value(random: Random, depth: number): Value {
  if (random.below(60) === 0) return { passed: random.pick(BAD_VALUES)(), plain: undefined }
  const kind = random.below(depth === 0 ? 4 : 7)
  if (kind === 0) return same(random.pick(STRINGS))
  if (kind === 1) return same(random.pick(NUMBERS))
  if (kind === 2) return same(random.pick([true, false]))
  if (kind === 3) return same(null)
  const children = Array.from({ length: random.below(5) }, () => value(random, depth - 1))
  if (kind === 4) {
    const isWhole = children.every(({ plain }) => plain !== undefined)
    return {
      passed: children.map(({ passed }) => passed),
      plain: isWhole ? children.map(({ plain }) => plain) : undefined,
    }
  }
  return objectOf(random, children)
}

/** Plain objects in their guises: bare, with accessors, behind a proxy, with a `__proto__` key. */
function objectOf(random: Random, children: readonly Value[]): Value {
  const passed: object = random.below(3) === 0 ? (Object.create(null) as object) : {}
  const plain = {}
  let isWhole = true
  for (const [index, child] of children.entries()) {
    const key = random.pick(['a', 'b', '', '__proto__', 'constructor', `k${index}`, '\u{1f600}'])
    if (Object.hasOwn(passed, key)) continue
    isWhole &&= child.plain !== undefined
    const isAccessor = rarely(random)
    Object.defineProperty(passed, key, {
      enumerable: true,
      configurable: true,
      ...(isAccessor ? { get: () => child.passed } : { value: child.passed, writable: true }),
    })
    Object.defineProperty(plain, key, {
      enumerable: true,
      configurable: true,
      writable: true,
      value: child.plain,
    })
  }
  return { passed: rarely(random) ? new Proxy(passed, {}) : passed, plain: isWhole ? plain : undefined }
}

function same(plain: unknown): Value {
  return { passed: plain, plain }
}

function cyclic(): unknown {
  const list: unknown[] = []
  list.push({ list })
  return list
}

function nested(depth: number): unknown {
  let inner: unknown = 0
  for (let level = 0; level < depth; level += 1) inner = { inner }
  return inner
}

function throwing(): unknown {
  const refuse = (): never => {
    throw new TypeError('trap')
  }
  return new Proxy({}, { get: refuse, ownKeys: refuse, getPrototypeOf: refuse })
}

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}
