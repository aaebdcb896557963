/** One thing as one line: a mark, its name, how it stands in words, for how long, and what there is to say. */
import { durationText } from './durations.ts'
import { paint, type Colour, type Look } from './look.ts'
import { cleanLine, columnsOf, cutTo, fill, fillLeft } from './text-width.ts'

export interface ShownLine {
  /** One column wide. Never the only sign of how a thing stands: `state` says it in words. */
  readonly mark: string
  /** For terminals without the other. */
  readonly ascii: string
  readonly colour?: Colour | undefined
  readonly name: string
  readonly state: string
  readonly elapsedMs?: number | undefined
  /** What it waits for, why it ended as it did, what it is for. */
  readonly note?: string | undefined
}

/** How wide the columns of a line are. A time of 0 columns is left out. */
export interface Columns {
  readonly name: number
  readonly state: number
  readonly time: number
}

const TIME_COLUMNS = 7
const WIDEST_NAME = 32
const WIDEST_STATE = 20

/** A column of names on a screen of this width: a third of it at most. */
export function nameColumns({ columns }: Look): number {
  return Math.min(WIDEST_NAME, Math.max(8, Math.floor(columns / 3)))
}

/** Nothing of it goes past the width of the screen. */
export function shownLine(line: ShownLine, { name, state, time }: Columns, look: Look): string {
  const { ascii, colour, mark, elapsedMs, note } = line
  const { columns } = look
  const lead = `  ${look.hasMarks ? mark : ascii} `
  const named = fill(cleanLine(line.name), name)
  const stands = cleanLine(line.state)
  const lasted =
    time === 0 ? '' : ` ${fillLeft(elapsedMs === undefined ? '' : durationText(elapsedMs), time)}`
  const told = note === undefined ? '' : `  ${cleanLine(note)}`
  const room = columns - lead.length - name - 1
  // Measured and cut in plain, coloured last: an escape sequence is never cut in two.
  if (room < state) return cutTo(`${lead}${named} ${stands}`, columns)
  return `${paint(lead, colour, look)}${named} ${paint(fill(stands, state), colour, look)}${cutTo(lasted + told, room - state)}`.trimEnd()
}

/**
 * Lines under each other, their columns as wide as what stands in them. A name may take half of the
 * screen: it is what commands want to be told.
 */
export function shownLines(lines: readonly ShownLine[], look: Look): readonly string[] {
  const widest = (of: (line: ShownLine) => string): number =>
    lines.reduce((most, line) => Math.max(most, columnsOf(cleanLine(of(line)))), 0)
  const columns: Columns = {
    name: Math.min(
      Math.max(nameColumns(look), Math.floor(look.columns / 2)),
      widest(({ name }) => name),
    ),
    state: Math.min(
      WIDEST_STATE,
      widest(({ state }) => state),
    ),
    time: lines.some(({ elapsedMs }) => elapsedMs !== undefined) ? TIME_COLUMNS : 0,
  }
  return lines.map((line) => shownLine(line, columns, look))
}
