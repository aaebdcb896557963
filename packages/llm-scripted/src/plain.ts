/**
 * Takes a foreign object apart once: what comes out is a detached copy made of records without
 * prototype, arrays, strings, finite numbers, booleans, `null` and regular expressions, so that no
 * getter, proxy or cycle of the original reaches the code that checks the script.
 */
import { quote, type Path, type Problems } from './problems.ts'

export type Plain = string | number | boolean | null | RegExp | PlainList | PlainRecord
export type PlainList = readonly Plain[]
export interface PlainRecord {
  readonly [key: string]: Plain
}

const MAX_DEPTH = 64
const MAX_VALUES = 200_000

/**
 * Copies a value. Properties that are `undefined` are left out.
 *
 * @param problems receives what cannot be part of a script; such a value becomes `null`.
 * @throws whatever a getter or a proxy of the original throws.
 */
export function plainCopy(source: unknown, problems: Problems): Plain {
  const copier = new Copier(problems)
  return copier.copy(source, [])
}

export function isRecord(value: Plain | undefined): value is PlainRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RegExp)
}

class Copier {
  private readonly problems: Problems
  private readonly open = new Set<object>()
  private values = 0

  constructor(problems: Problems) {
    this.problems = problems
  }

  copy(value: unknown, path: Path): Plain {
    this.values += 1
    // Said once; what comes after it is dropped in silence.
    if (this.values > MAX_VALUES) {
      if (this.values === MAX_VALUES + 1) {
        this.problems.add([], `holds more than ${MAX_VALUES} values; make it smaller`)
      }
      return null
    }
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
    if (typeof value === 'number') {
      if (Number.isFinite(value)) return value
      return this.refuse(path, `${value} is not a number of JSON`)
    }
    if (typeof value !== 'object') return this.refuse(path, `a ${typeof value} cannot be part of a script`)
    if (value instanceof RegExp) return new RegExp(value.source, value.flags)
    if (this.open.has(value)) return this.refuse(path, 'contains itself')
    if (path.length >= MAX_DEPTH) return this.refuse(path, `is nested deeper than ${MAX_DEPTH} levels`)
    this.open.add(value)
    const copy = Array.isArray(value) ? this.list(value, path) : this.record(value, path)
    this.open.delete(value)
    return copy
  }

  private list(source: readonly unknown[], path: Path): Plain {
    const copy: Plain[] = []
    for (let index = 0; index < source.length && this.values <= MAX_VALUES; index += 1) {
      copy.push(this.copy(source[index], [...path, index]))
    }
    return copy
  }

  private record(source: object, path: Path): Plain {
    const prototype: unknown = Object.getPrototypeOf(source)
    if (prototype !== null && prototype !== Object.prototype) {
      return this.refuse(path, 'is not a plain object')
    }
    const copy = Object.create(null) as Record<string, Plain>
    for (const key of Object.keys(source)) {
      const value: unknown = (source as Record<string, unknown>)[key]
      if (value !== undefined) copy[key] = this.copy(value, [...path, key])
    }
    return copy
  }

  private refuse(path: Path, message: string): null {
    this.problems.add(path, message)
    return null
  }
}

/** What a value is, for a sentence that refuses it. */
export function describePlain(value: Plain): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return quote(value)
  if (Array.isArray(value)) return 'a list'
  if (value instanceof RegExp) return 'a regular expression'
  return typeof value === 'object' ? 'an object' : String(value)
}
