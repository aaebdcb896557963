/**
 * What the place can show that a text is written to. The rules are those of the private package
 * `text-board`; the types stand here, because declarations of this package may name no private one.
 */
import * as shared from '@dsh-graph/text-board'

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

/** For a text that a person reads elsewhere than on a terminal: a command's answer. */
export const PLAIN_LOOK: Look = shared.PLAIN_LOOK

/** A terminal that can move its cursor, on which a board may be redrawn in place. */
export const canRedraw: (output: Output, environment: Environment) => boolean = shared.canRedraw

/**
 * Colours only on a terminal, and not with `NO_COLOR` (https://no-color.org: set and not empty) or
 * `TERM=dumb`, which gets plain ASCII marks, too.
 */
export const lookOf: (output: Output, environment: Environment) => Look = shared.lookOf

/** Colours a text that has been measured and cut already. */
export const paint: (text: string, colour: Colour | undefined, look: Look) => string = shared.paint
