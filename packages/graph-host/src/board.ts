/**
 * How graphs are drawn where there is only text: widths, colours, lines of works. Shared by `/graph`,
 * `dsh-graph` and whoever else draws one. Pure, and light to import: nothing here writes or reads, and
 * nothing of the host comes with it.
 */
export { durationText, timeText } from './board/durations.ts'
export { canRedraw, lookOf, paint, PLAIN_LOOK, type Colour, type Look, type Output } from './board/look.ts'
export { cleanLine, columnsOf, cutTo, fill, fillLeft } from './board/text-width.ts'
export { timelineLines } from './board/timeline-lines.ts'
export { rootWaitOf, waitOf, type WaitOptions } from './board/waits.ts'
export { workLine, type ShownStatus, type WorkLine } from './board/work-line.ts'
