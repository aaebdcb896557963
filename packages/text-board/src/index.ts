/**
 * How this bundle shows things where there is only text: works, lanes, code graphs, in a terminal or as
 * the answer of a command. Private: the build compiles it into each package, so no published manifest
 * names it, and none of its types stand in a published declaration. Pure; nothing here writes or reads.
 */
export { durationText, timeText } from './durations.ts'
export { canRedraw, lookOf, paint, PLAIN_LOOK, type Colour, type Look, type Output } from './look.ts'
export { nameColumns, shownLine, shownLines, type Columns, type ShownLine } from './shown-line.ts'
export { cleanLine, columnsOf, cutTo, fill, fillLeft } from './text-width.ts'
