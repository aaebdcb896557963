/**
 * Checks of untrusted values. A check returns a frozen copy that holds exactly what it checked, so
 * nothing that the caller does to its object afterwards reaches the store.
 *
 * Owns: what a well-formed value is. Does not own: what an error is called; callers wrap
 * {@link ShapeError} in their own code.
 */

import type { JsonValue } from 'dsh-durable-log'

/** A value that is not as it must be; `path` names the place in it. */
export class ShapeError extends Error {
  readonly path: (string | number)[] = []

  /** For example `update.addWork[3].title must be a string`. */
  describe(): string {
    const path = this.path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('')
    return path === '' ? `the value ${this.message}` : `${path.replace(/^\./, '')} ${this.message}`
  }
}

export type Check<T> = (value: unknown) => T
export type Checked<C> = C extends Check<infer T> ? T : never
type Shape = Record<string, Check<unknown>>
type Simplify<T> = { readonly [K in keyof T]: T[K] }

function within<T>(key: string | number, check: Check<T>, value: unknown): T {
  try {
    return check(value)
  } catch (error) {
    if (error instanceof ShapeError) error.path.unshift(key)
    throw error
  }
}

/** An object with these keys and no others. An optional key that holds `undefined` counts as absent. */
export function object<R extends Shape, O extends Shape = Record<never, never>>(
  required: R,
  optional?: O,
): Check<Simplify<{ [K in keyof R]: Checked<R[K]> } & { [K in keyof O]?: Checked<O[K]> }>> {
  const needed = Object.entries(required)
  const possible = Object.entries(optional ?? {})
  const known = new Set([...needed, ...possible].map(([key]) => key))
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new ShapeError('must be an object')
    }
    const source = value as Record<string, unknown>
    for (const key of Object.keys(source)) {
      if (!known.has(key)) {
        throw new ShapeError(`has a field that is not known: ${JSON.stringify(key.slice(0, 64))}`)
      }
    }
    const copy: Record<string, unknown> = {}
    for (const [key, check] of needed) {
      copy[key] = within(key, check, Object.hasOwn(source, key) ? source[key] : undefined)
    }
    for (const [key, check] of possible) {
      const held = Object.hasOwn(source, key) ? source[key] : undefined
      if (held !== undefined) copy[key] = within(key, check, held)
    }
    return Object.freeze(copy) as never
  }
}

/** At most `max` items, checked before any of them is looked at. */
export function list<T>(item: Check<T>, max: number): Check<readonly T[]> {
  return (value) => {
    if (!Array.isArray(value)) throw new ShapeError('must be a list')
    if (value.length > max) throw new ShapeError(`has ${value.length} items; at most ${max} are allowed`)
    const copy: T[] = []
    for (let index = 0; index < value.length; index++) copy.push(within(index, item, value[index]))
    return Object.freeze(copy)
  }
}

/** A list whose items differ in `key`. */
export function distinct<T>(items: Check<readonly T[]>, key: (item: T) => string): Check<readonly T[]> {
  return (value) => {
    const checked = items(value)
    const seen = new Set<string>()
    for (const item of checked) {
      if (seen.has(key(item))) throw new ShapeError(`names ${JSON.stringify(key(item))} twice`)
      seen.add(key(item))
    }
    return checked
  }
}

export function oneOf<const T extends string | number>(...allowed: readonly T[]): Check<T> {
  return (value) => {
    if (!(allowed as readonly unknown[]).includes(value)) {
      throw new ShapeError(`must be ${allowed.map((item) => JSON.stringify(item)).join(' or ')}`)
    }
    return value as T
  }
}

export const flag: Check<boolean> = (value) => {
  if (typeof value !== 'boolean') throw new ShapeError('must be true or false')
  return value
}

/** How deep checked JSON may be nested. */
const MAX_DEPTH = 64

/** Any lossless JSON of at most `maxBytes` as text; the copy is frozen to its leaves. */
export function json(maxBytes: number): Check<JsonValue> {
  return (value) => {
    const copy = copyJson(value, 0)
    const bytes = Buffer.byteLength(JSON.stringify(copy))
    if (bytes > maxBytes) throw new ShapeError(`has ${bytes} bytes as JSON; at most ${maxBytes} are allowed`)
    return copy
  }
}

function copyJson(value: unknown, depth: number): JsonValue {
  if (depth > MAX_DEPTH) throw new ShapeError(`is nested deeper than ${MAX_DEPTH} levels`)
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'string') {
    if (!value.isWellFormed()) throw new ShapeError('holds half of a surrogate pair')
    return value
  }
  if (typeof value === 'number' && Number.isFinite(value)) return value === 0 ? 0 : value
  if (Array.isArray(value)) {
    return Object.freeze(
      Array.from(value, (item, index) => within(index, (held) => copyJson(held, depth + 1), item)),
    )
  }
  if (typeof value !== 'object') throw new ShapeError(`is a ${typeof value}, which JSON cannot hold`)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) throw new ShapeError('must be plain JSON')
  const entries = Object.entries(value).map(([key, held]) => {
    if (key === '__proto__') throw new ShapeError('has a field named __proto__')
    if (!key.isWellFormed()) throw new ShapeError('has a field whose name holds half of a surrogate pair')
    return [key, within(key, (inner) => copyJson(inner, depth + 1), held)] as const
  })
  return Object.freeze(Object.fromEntries(entries))
}

/** A whole number from `min` to `max`. */
export function integer(min: number, max: number = Number.MAX_SAFE_INTEGER): Check<number> {
  return (value) => {
    if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max) {
      throw new ShapeError(`must be a whole number of at least ${min}`)
    }
    return value === 0 ? 0 : (value as number)
  }
}

/** Any string of at most `max` characters (UTF-16 units) that is valid Unicode. */
export function string(max: number): Check<string> {
  return (value) => {
    if (typeof value !== 'string') throw new ShapeError('must be a string')
    if (value.length > max) {
      throw new ShapeError(`has ${value.length} characters; at most ${max} are allowed`)
    }
    if (!value.isWellFormed()) throw new ShapeError('holds half of a surrogate pair')
    return value
  }
}

const ANY_CONTROL = /\p{Cc}/u
/** Tab, line feed and carriage return are text. */
const CONTROL_BUT_LAYOUT = /(?![\t\n\r])\p{Cc}/u
const EVERY_CONTROL_BUT_LAYOUT = new RegExp(CONTROL_BUT_LAYOUT, 'gu')

/** One line, not empty, no spaces around it. */
export function line(max: number): Check<string> {
  const plain = string(max)
  return (value) => {
    const text = plain(value)
    if (text === '') throw new ShapeError('is empty')
    if (text.trim() !== text) throw new ShapeError('begins or ends with a space')
    if (ANY_CONTROL.test(text)) throw new ShapeError('holds a control character')
    return text
  }
}

/** Text with something in it; tabs and line breaks are allowed, other control characters are not. */
export function text(max: number): Check<string> {
  const plain = string(max)
  return (value) => {
    const checked = plain(value)
    if (checked.trim() === '') throw new ShapeError('is empty')
    if (CONTROL_BUT_LAYOUT.test(checked)) throw new ShapeError('holds a control character')
    return checked
  }
}

/**
 * Text that tells of a failure: it comes from wherever the failure came from, and losing the fact
 * because of its wording would be worse. Cleaned and cut instead of refused.
 */
export function account(max: number): Check<string> {
  return (value) => {
    if (typeof value !== 'string') throw new ShapeError('must be a string')
    const cleaned = value
      .slice(0, 2 * max)
      .toWellFormed()
      .replace(EVERY_CONTROL_BUT_LAYOUT, ' ')
      .trim()
    if (cleaned === '') return 'no reason given'
    return cleaned.length <= max ? cleaned : `${cleaned.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`
  }
}
