/** What the place can show that a text is written to: width, colours, marks. */
import { styleText } from 'node:util'

export interface Look {
  /** Columns of a line; nothing is written past them. */
  readonly columns: number
  /** Lines of one screen. */
  readonly rows: number
  readonly hasColours: boolean
  /** Marks outside of ASCII. */
  readonly hasMarks: boolean
}

/** What is asked of a stream. */
export interface Output {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
  readonly rows?: number | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

export type Colour = 'red' | 'green' | 'yellow' | 'cyan' | 'gray' | 'bold'

const PLAIN_COLUMNS = 120
/** A pipe has no width; what reads it may cut. */
const PIPE_COLUMNS = 1_000
const PLAIN_ROWS = 40
const LEAST_COLUMNS = 20

/** For a text that a person reads elsewhere than on a terminal: a command's answer. */
export const PLAIN_LOOK: Look = {
  columns: PLAIN_COLUMNS,
  rows: PLAIN_ROWS,
  hasColours: false,
  hasMarks: true,
}

/** A terminal that can move its cursor, on which a board may be redrawn in place. */
export function canRedraw(output: Output, environment: Environment): boolean {
  return output.isTTY === true && environment['TERM'] !== 'dumb'
}

/**
 * Colours only on a terminal, and not with `NO_COLOR` (https://no-color.org: set and not empty) or
 * `TERM=dumb`, which gets plain ASCII marks, too.
 */
export function lookOf(output: Output, environment: Environment): Look {
  const { columns, rows, isTTY } = output
  if (isTTY !== true) return { ...PLAIN_LOOK, columns: PIPE_COLUMNS }
  const isDumb = environment['TERM'] === 'dumb'
  return {
    // One less: a terminal may wrap a line that fills it.
    columns: Math.max(LEAST_COLUMNS, (columns ?? PLAIN_COLUMNS) - 1),
    rows: rows ?? PLAIN_ROWS,
    hasColours: !isDumb && (environment['NO_COLOR'] ?? '') === '',
    hasMarks: !isDumb,
  }
}

/** Colours a text that has been measured and cut already. */
export function paint(text: string, colour: Colour | undefined, { hasColours }: Look): string {
  return hasColours && colour !== undefined ? styleText(colour, text, { validateStream: false }) : text
}
