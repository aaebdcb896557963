/**
 * What one field of a declaration may hold, as type guards. Nothing here knows which field it is asked
 * about, or what else was declared.
 */
import type { GraphParameterPick, GraphThreadId } from './types.ts'

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

export function isPlainRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

export function isFunction(value: unknown): value is (...args: never[]) => unknown {
  return typeof value === 'function'
}

export function isThreadId(value: unknown): value is GraphThreadId {
  return isText(value) || isFunction(value)
}

/** A positive finite number. */
export function isBudget(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0
}

/** A whole number of at least 1. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1
}

/** Names without repetition, at least one. */
export function isNameList(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) && value.length > 0 && value.every(isText) && new Set(value).size === value.length
  )
}

/** `{ pick: [...] }`; a spec may declare a parameter called `pick`, but never as an array. */
export function isPick(value: unknown): value is GraphParameterPick {
  return isPlainRecord(value) && Object.keys(value).length === 1 && Array.isArray(value['pick'])
}

/** A LangGraph store, told by its methods. */
export function isStore(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  return ['get', 'put'].every((method) => typeof Reflect.get(value, method) === 'function')
}

/** One of the given texts. */
export function oneOf<const T extends string>(...texts: readonly T[]): (value: unknown) => value is T {
  return (value): value is T => (texts as readonly unknown[]).includes(value)
}
