/** What a doctor found, as data and as lines that a person may paste anywhere. */
import { cleanLine } from '../board/text-width.ts'
import { timeText } from '../board/durations.ts'
import { maskText } from './mask.ts'
import type { RecentError } from './recent-errors.ts'

/** Sections by title, each a list of facts. */
export interface DoctorReport {
  readonly sections: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly lastErrors: readonly RecentError[]
  /** What is wrong, and what to do. Empty: nothing that a look from here shows. */
  readonly problems: readonly string[]
}

const NAME_COLUMNS = 24

/** Lines without secrets, home paths or anything that a terminal would act on. */
export function doctorLines({ lastErrors, problems, sections }: DoctorReport): readonly string[] {
  const lines = Object.entries(sections).flatMap(([title, facts]) => [
    title,
    ...Object.entries(facts).map(([name, value]) => `  ${name.padEnd(NAME_COLUMNS)} ${value}`),
  ])
  const errors = lastErrors.map(({ at, from, text }) => `  ${timeText(at)} ${from}: ${text}`)
  const found = problems.length === 0 ? ['  none found'] : problems.map((problem) => `  - ${problem}`)
  return [...lines, 'last errors', ...(errors.length === 0 ? ['  none'] : errors), 'problems', ...found].map(
    safeLine,
  )
}

/** The same as data. */
export function maskReport(report: DoctorReport): DoctorReport {
  return JSON.parse(JSON.stringify(report), (_key, value: unknown) =>
    typeof value === 'string' ? maskText(value) : value,
  ) as DoctorReport
}

function safeLine(line: string): string {
  const indent = /^ */u.exec(line)?.[0] ?? ''
  // Runs of spaces align the columns, so each part is cleaned by itself.
  return (
    indent +
    maskText(
      line
        .trimStart()
        .split(/( {2,})/u)
        .map((part) => (/^ +$/u.test(part) ? part : cleanLine(part)))
        .join(''),
    )
  )
}
