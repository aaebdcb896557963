/** Compiles the patterns of a script and asks whether they hold. */
import { Fields } from './fields.ts'
import { describePlain, isRecord, type Plain, type PlainList } from './plain.ts'
import type { Path, Problems } from './problems.ts'

/** One pattern, or a list of them; nothing where the key is absent. */
export function readPatterns(value: Plain | undefined, path: Path, problems: Problems): RegExp[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) return compact([readPattern(value, path, problems)])
  if (value.length === 0) problems.add(path, 'is an empty list; give a pattern, or leave it out')
  return compact((value as PlainList).map((item, index) => readPattern(item, [...path, index], problems)))
}

export function readPattern(value: Plain, path: Path, problems: Problems): RegExp | undefined {
  if (typeof value === 'string') return compile(value, '', path, problems)
  if (value instanceof RegExp) return compile(value.source, value.flags, path, problems)
  if (!isRecord(value)) {
    problems.add(path, `is ${describePlain(value)}; give a regular expression as text`)
    return undefined
  }
  const fields = Fields.of(value, path, ['pattern', 'flags'], problems)
  const source = fields?.requiredText('pattern')
  const flags = fields?.has('flags') === true ? fields.text('flags') : ''
  return source === undefined || flags === undefined ? undefined : compile(source, flags, path, problems)
}

/** The groups of a pattern: how many, and their names. */
export function groupsOf(pattern: RegExp): { count: number; names: readonly string[] } {
  // An empty alternative makes the pattern match anything, with all of its groups in the result.
  const match = new RegExp(`${pattern.source}|`, pattern.flags).exec('')
  return { count: (match?.length ?? 1) - 1, names: Object.keys(match?.groups ?? {}) }
}

/** Whether all patterns are found in a text. */
export function holdAll(patterns: readonly RegExp[], text: () => string): boolean {
  return patterns.every((pattern) => pattern.test(text()))
}

function compile(source: string, flags: string, path: Path, problems: Problems): RegExp | undefined {
  if (source === '') {
    problems.add(path, 'is an empty pattern, which holds everywhere; leave it out')
    return undefined
  }
  // Both keep a position between two uses; "all" of a capture says what "g" would.
  if (/[gy]/.test(flags)) {
    problems.add(path, 'has flag "g" or "y"; leave it out')
    return undefined
  }
  try {
    return new RegExp(source, flags)
  } catch (error) {
    problems.add(path, error instanceof Error ? error.message : 'is not a regular expression')
    return undefined
  }
}

function compact<T>(values: readonly (T | undefined)[]): T[] {
  return values.filter((value) => value !== undefined)
}
