/** Reads the captures of a step. */
import { Fields } from './fields.ts'
import { groupsOf, readPattern } from './patterns.ts'
import { describePlain, isRecord, type Plain } from './plain.ts'
import { quote, type Path, type Problems } from './problems.ts'
import { CAPTURE_NAME } from './templates.ts'
import type { Capture, CaptureOrigin } from './types.ts'

const CAPTURE_KEYS = ['from', 'pattern', 'group', 'all', 'unique', 'as']
const ORIGINS: readonly CaptureOrigin[] = ['conversation', 'lastUser', 'lastToolResult', 'system']

/** All captures of a step, in the order in which they are written. */
export function readCaptures(value: Plain | undefined, path: Path, problems: Problems): Capture[] {
  if (value === undefined) return []
  if (!isRecord(value)) {
    problems.add(path, `is ${describePlain(value)}; give an object of captures by name`)
    return []
  }
  return Object.entries(value).flatMap(([name, source]) => {
    if (!CAPTURE_NAME.test(name)) {
      problems.add(
        [...path, name],
        `a value cannot be called ${quote(name)}; use letters, digits, "_" and "-"`,
      )
    }
    return readCapture(name, source, [...path, name], problems) ?? []
  })
}

function readCapture(name: string, value: Plain, path: Path, problems: Problems): Capture | undefined {
  const fields = Fields.of(value, path, CAPTURE_KEYS, problems)
  if (fields === undefined) return undefined
  const from = fields.required('from') === undefined ? undefined : fields.choice('from', ORIGINS)
  const source = fields.required('pattern')
  const pattern = source === undefined ? undefined : readPattern(source, fields.at('pattern'), problems)
  const group = pattern === undefined ? 0 : readGroup(fields, pattern)
  const [all, unique] = [fields.flag('all'), fields.flag('unique')]
  if (unique && !all) fields.report('unique', 'says something about a list; give all: true as well')
  const as = fields.choice('as', ['text', 'number']) ?? 'text'
  if (from === undefined || pattern === undefined) return undefined
  return { name, from, pattern, group, all, unique, as }
}

function readGroup(fields: Fields, pattern: RegExp): number | string {
  const groups = groupsOf(pattern)
  const group = fields.get('group')
  if (group === undefined) return groups.count === 0 ? 0 : 1
  if (typeof group === 'number' && Number.isInteger(group) && group >= 0 && group <= groups.count)
    return group
  if (typeof group === 'string' && groups.names.includes(group)) return group
  const names = groups.names.map((known) => `, ${quote(known)}`).join('')
  fields.report('group', `is ${describePlain(group)}; the pattern has 0 to ${groups.count}${names}`)
  return 0
}
