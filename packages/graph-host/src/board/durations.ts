/** Times as people read them. */
import * as shared from '@dsh-graph/text-board'

/** `350ms`, `4.2s`, `3m 05s`, `2h 04m`, `3d 02h`. */
export const durationText: (ms: number) => string = shared.durationText

/** Date and time of this machine's zone, to the second. */
export const timeText: (at: number) => string = shared.timeText
