/**
 * The text board: how graphs are shown where there is only text. Shared by `/graph`, `dsh-graph` and
 * whoever else draws one. Pure: nothing here writes or reads.
 */
export { boardLines, countsText, countStatuses, headLine, shownStatus, workLines, type StatusCounts } from './board/board.ts'
export { durationText, timeText } from './board/durations.ts'
export { canRedraw, lookOf, paint, PLAIN_LOOK, type Colour, type Look, type Output } from './board/look.ts'
export { cleanLine, columnsOf, cutTo, fill, fillLeft } from './board/text-width.ts'
export { timelineLines } from './board/timeline-lines.ts'
export { rootWaitOf, waitOf, type WaitOptions } from './board/waits.ts'
export { workLine, type ShownStatus, type WorkLine } from './board/work-line.ts'
