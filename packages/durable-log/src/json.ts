/**
 * Lossless JSON: what may be stored, and the copy that is stored.
 *
 * Owns: the walk that checks, bounds and copies a foreign value in one pass, and deep freezing.
 * Does not own: what a value means, or where it goes. Pure.
 */
import { DurableLogError } from './errors.ts'
import type { JsonValue } from './types.ts'

/** Arrays and objects may be nested this deep. */
export const MAX_DEPTH = 256

/** A checked value: a frozen copy nobody else holds, and its JSON text. */
export interface JsonCopy {
  readonly value: JsonValue
  readonly text: string
}

/** The state of one walk. */
interface Walk {
  readonly subject: string
  readonly path: (string | number)[]
  readonly ancestors: object[]
  readonly maxBytes: number
  /** A lower bound of the bytes still allowed; keeps the work of a refused value bounded. */
  budget: number
}

/**
 * Copies a value that JSON can hold without loss.
 *
 * Refused: `undefined`, functions, symbols, bigints, numbers that are not finite, negative zero,
 * cycles, holes, hidden and symbol keys, and objects with a prototype of their own (dates, maps,
 * class instances). A key named `__proto__` is data like any other.
 *
 * @param subject names the value in the error text, for instance `entries[0].data`.
 * @param maxBytes the longest JSON text in UTF-8 bytes.
 * @throws DurableLogError `invalid` or `too-large`.
 */
export function copyJson(input: unknown, subject: string, maxBytes: number): JsonCopy {
  const walk: Walk = { subject, path: [], ancestors: [], maxBytes, budget: maxBytes }
  let value: JsonValue
  try {
    value = copy(input, walk)
  } catch (error) {
    if (error instanceof DurableLogError) throw error
    throw refusal(walk, 'cannot be read', error)
  }
  const text = JSON.stringify(value)
  // A UTF-16 unit is at most three bytes, so short texts need no count.
  if (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes) throw tooLarge(walk)
  return { value, text }
}

/** Freezes a value parsed from JSON, all the way down. */
export function freezeJson(value: JsonValue): JsonValue {
  if (typeof value === 'object' && value !== null) {
    for (const child of Object.values(value)) freezeJson(child)
    Object.freeze(value)
  }
  return value
}

function copy(value: unknown, walk: Walk): JsonValue {
  switch (typeof value) {
    case 'string':
      charge(walk, value.length + 2)
      return value
    case 'boolean':
      charge(walk, 4)
      return value
    case 'number':
      if (!Number.isFinite(value)) throw refusal(walk, `is ${value}`)
      if (Object.is(value, -0)) throw refusal(walk, 'is negative zero')
      charge(walk, 1)
      return value
    case 'object':
      if (value === null) {
        charge(walk, 4)
        return null
      }
      return copyNested(value, walk)
    default:
      throw refusal(walk, value === undefined ? 'is undefined' : `is a ${typeof value}`)
  }
}

function copyNested(value: object, walk: Walk): JsonValue {
  if (walk.ancestors.includes(value)) throw refusal(walk, 'is part of a cycle')
  if (walk.ancestors.length === MAX_DEPTH) throw refusal(walk, `is nested deeper than ${MAX_DEPTH} levels`)
  walk.ancestors.push(value)
  const result = Array.isArray(value) ? copyArray(value, walk) : copyObject(value, walk)
  walk.ancestors.pop()
  return result
}

function copyArray(value: readonly unknown[], walk: Walk): JsonValue {
  charge(walk, 1)
  const result: JsonValue[] = []
  const length = value.length
  for (let index = 0; index < length; index += 1) {
    charge(walk, 1)
    walk.path.push(index)
    result.push(copy(value[index], walk))
    walk.path.pop()
  }
  // `length` is the one hidden key an array may have.
  if (Reflect.ownKeys(value).length !== length + 1) throw refusal(walk, 'has keys beside its elements')
  return Object.freeze(result)
}

function copyObject(value: object, walk: Walk): JsonValue {
  const prototype: unknown = Object.getPrototypeOf(value)
  // A prototype at the root of its chain is that of a plain object, of this realm or another one.
  if (typeof prototype === 'object' && prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw refusal(walk, 'is not a plain object')
  }
  const keys = Object.keys(value)
  if (Reflect.ownKeys(value).length !== keys.length) throw refusal(walk, 'has hidden or symbol keys')
  charge(walk, 1)
  const result: Record<string, JsonValue> = {}
  for (const key of keys) {
    charge(walk, key.length + 4)
    walk.path.push(key)
    const child = copy((value as Record<string, unknown>)[key], walk)
    walk.path.pop()
    if (key === '__proto__') {
      Object.defineProperty(result, key, {
        value: child,
        enumerable: true,
        writable: true,
        configurable: true,
      })
    } else result[key] = child
  }
  return Object.freeze(result)
}

function charge(walk: Walk, bytes: number): void {
  walk.budget -= bytes
  if (walk.budget < 0) throw tooLarge(walk)
}

function tooLarge(walk: Walk): DurableLogError {
  return new DurableLogError(
    'too-large',
    `${walk.subject} is longer than ${walk.maxBytes} bytes of JSON; store it in several entries`,
  )
}

function refusal(walk: Walk, what: string, cause?: unknown): DurableLogError {
  const steps = walk.path
    .slice(0, 8)
    .map((step) => (typeof step === 'number' ? `[${step}]` : `[${JSON.stringify(step.slice(0, 40))}]`))
  const place = `${walk.subject}${steps.join('')}${walk.path.length > 8 ? '…' : ''}`
  return new DurableLogError('invalid', `${place} ${what}; only lossless JSON can be stored`, { cause })
}
