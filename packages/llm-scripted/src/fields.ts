/**
 * Reads the fields of a checked-out value and reports every one that is missing, misspelt or of the wrong
 * kind. Each reader answers with the value or with `undefined` after it reported; reading goes on, so
 * that an author sees all faults at once.
 */
import { describePlain, isRecord, type Plain, type PlainList, type PlainRecord } from './plain.ts'
import { quote, type Path, type Problems } from './problems.ts'

/** The fields of one object of the script. */
export class Fields {
  readonly path: Path
  private readonly record: PlainRecord
  private readonly problems: Problems

  private constructor(record: PlainRecord, path: Path, problems: Problems) {
    this.record = record
    this.path = path
    this.problems = problems
  }

  /** @param known all keys that the object may have. */
  static of(value: Plain, path: Path, known: readonly string[], problems: Problems): Fields | undefined {
    if (!isRecord(value)) {
      problems.add(path, `is ${describePlain(value)}; give an object`)
      return undefined
    }
    for (const key of Object.keys(value)) {
      if (!known.includes(key)) {
        problems.add([...path, key], `unknown key ${quote(key)}; known are ${known.join(', ')}`)
      }
    }
    return new Fields(value, path, problems)
  }

  get isEmpty(): boolean {
    return Object.keys(this.record).length === 0
  }

  at(key: string): Path {
    return [...this.path, key]
  }

  get(key: string): Plain | undefined {
    return this.record[key]
  }

  has(key: string): boolean {
    return this.record[key] !== undefined
  }

  report(key: string, message: string): undefined {
    this.problems.add(this.at(key), message)
    return undefined
  }

  required(key: string): Plain | undefined {
    const value = this.get(key)
    return value === undefined ? this.report(key, 'is missing') : value
  }

  text(key: string): string | undefined {
    const value = this.get(key)
    if (value === undefined) return undefined
    if (typeof value !== 'string')
      return this.report(key, `is ${describePlain(value)}; give a text, in quotes`)
    if (value === '') return this.report(key, 'is empty')
    return value
  }

  requiredText(key: string): string | undefined {
    return this.has(key) ? this.text(key) : this.report(key, 'is missing')
  }

  flag(key: string): boolean {
    const value = this.get(key)
    if (value === undefined || typeof value === 'boolean') return value ?? false
    this.report(key, `is ${describePlain(value)}; give true or false`)
    return false
  }

  integer(key: string, least: number, most: number, otherwise: number): number {
    const value = this.get(key)
    if (value === undefined) return otherwise
    if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value
    this.report(key, `is ${describePlain(value)}; give a whole number from ${least} to ${most}`)
    return otherwise
  }

  choice<T extends string>(key: string, choices: readonly T[]): T | undefined {
    const value = this.get(key)
    if (value === undefined) return undefined
    const chosen = choices.find((choice) => choice === value)
    return chosen ?? this.report(key, `is ${describePlain(value)}; give ${choices.join(' or ')}`)
  }

  list(key: string): PlainList {
    const value = this.get(key)
    if (value === undefined) return []
    if (Array.isArray(value)) return value as PlainList
    this.report(key, `is ${describePlain(value as Plain)}; give a list`)
    return []
  }
}
