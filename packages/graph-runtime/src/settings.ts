/**
 * Checks an author's declaration, field by field, and keeps a frozen copy of it. Everything wrong is
 * found at once. Nothing here runs the author's code, apart from reading the fields.
 */
import { declaredParameters, type GraphParameters } from './parameters.ts'
import { messageOf } from './errors.ts'
import type { GraphSettings, GraphThreadId, GraphValidate } from './types.ts'

/** A checked declaration. Absent fields are absent, so that nothing undefined is ever passed on. */
export interface CheckedSettings {
  readonly description?: string
  readonly parameters?: GraphParameters
  readonly validate?: GraphValidate
  readonly threadId?: GraphThreadId
  readonly configurable?: Readonly<Record<string, unknown>>
  readonly timeoutMs?: number
  readonly recursionLimit?: number
  readonly inherit: boolean
  readonly applyDefaults: boolean
  readonly omitUndefined: boolean
  readonly concurrencySafe: boolean
}

/** What went wrong, as clauses that name the field. */
export type Problems = string[]

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isPlainRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

/** Reads an optional flag. */
export function flag(options: object, key: string, fallback: boolean, problems: Problems): boolean {
  const value: unknown = Reflect.get(options, key)
  if (value === undefined) return fallback
  if (typeof value === 'boolean') return value
  problems.push(`${key} must be true or false`)
  return fallback
}

function field<T>(
  options: object,
  key: string,
  accepts: (value: unknown) => value is T,
  rule: string,
  problems: Problems,
): T | undefined {
  const value: unknown = Reflect.get(options, key)
  if (value === undefined) return undefined
  if (accepts(value)) return value
  problems.push(`${key} must be ${rule}`)
  return undefined
}

function isFunction(value: unknown): value is (...args: never[]) => unknown {
  return typeof value === 'function'
}

function isThreadId(value: unknown): value is GraphThreadId {
  return isText(value) || isFunction(value)
}

function isBudget(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0
}

function isLimit(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1
}

function isUndefinedValues(value: unknown): value is 'reject' | 'omit' {
  return value === 'reject' || value === 'omit'
}

function parametersOf(options: GraphSettings, problems: Problems): GraphParameters | undefined {
  if (options.parameters === undefined) return undefined
  try {
    return declaredParameters(options.parameters)
  } catch (error) {
    problems.push(`parameters: ${messageOf(error)}`)
    return undefined
  }
}

/** Drops the keys whose value is undefined. */
function present<T extends object>(fields: { readonly [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T
}

/** Checks the settings of `options`; what is wrong is added to `problems` and left out of the result. */
export function checkSettings(options: GraphSettings, problems: Problems): CheckedSettings {
  const read = <T>(key: keyof GraphSettings, accepts: (value: unknown) => value is T, rule: string) =>
    field(options, key, accepts, rule, problems)
  const configurable = read('configurable', isPlainRecord, 'a plain object')
  return Object.freeze(
    present<CheckedSettings>({
      description: read('description', isText, 'a non-empty string'),
      parameters: parametersOf(options, problems),
      validate: read('validate', isFunction, 'a function') as GraphValidate | undefined,
      threadId: read('threadId', isThreadId, 'a non-empty string or a function'),
      configurable: configurable === undefined ? undefined : Object.freeze({ ...configurable }),
      timeoutMs: read('timeoutMs', isBudget, 'a positive finite number of milliseconds'),
      recursionLimit: read('recursionLimit', isLimit, 'a whole number of at least 1'),
      inherit: flag(options, 'inherit', false, problems),
      applyDefaults: flag(options, 'applyDefaults', false, problems),
      omitUndefined: read('undefinedValues', isUndefinedValues, '"reject" or "omit"') === 'omit',
      concurrencySafe: flag(options, 'concurrencySafe', false, problems),
    }),
  )
}
