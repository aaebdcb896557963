/**
 * Text in columns of a terminal: what comes from models, files or other sessions is made harmless and
 * measured as a terminal shows it, so that a CJK character takes two columns.
 */
import * as shared from '@dsh-graph/text-board'

/** One line without anything that a terminal would act on. */
export const cleanLine: (text: string) => string = shared.cleanLine

/** Columns that the text takes on a terminal. */
export const columnsOf: (text: string) => number = shared.columnsOf

/** Cut to at most so many columns, with `…` where something is missing. Never half a character. */
export const cutTo: (text: string, columns: number) => string = shared.cutTo

/** Exactly so many columns: cut, or filled up with spaces. */
export const fill: (text: string, columns: number) => string = shared.fill

export const fillLeft: (text: string, columns: number) => string = shared.fillLeft
