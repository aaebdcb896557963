/** The lanes as a person reads them: one line each. Pure. */
import { durationText, PLAIN_LOOK, shownLines, type ShownLine } from '@dsh-graph/text-board'
import type { LaneMetrics, LaneSnapshot } from '../types.ts'

/** What the place can show that the lines are written to. */
export interface LanesLook {
  /** Columns of a line; nothing is written past them. */
  readonly columns: number
  /** Lines of one screen. */
  readonly rows: number
  readonly hasColours: boolean
  /** Marks outside of ASCII. */
  readonly hasMarks: boolean
}

/**
 * The global lanes, then the sessions that run or wait.
 *
 * @param look default: plain text of 120 columns, as a command answers.
 */
export function lanesLines(
  lanes: readonly LaneSnapshot[],
  metrics: readonly LaneMetrics[],
  look: LanesLook = PLAIN_LOOK,
): readonly string[] {
  return [...shownLines(metrics.map(laneLine), look), ...shownLines(lanes.map(sessionLine), look)]
}

export function lanesText(lanes: readonly LaneSnapshot[], metrics: readonly LaneMetrics[]): string {
  return lanesLines(lanes, metrics).join('\n')
}

function laneLine(lane: LaneMetrics): ShownLine {
  const { active, ageMs, depth, drops, forcedReleases, longestWaitMs, meanWaitMs, started, width } = lane
  const facts = [
    `${depth} waiting${depth === 0 ? '' : `, the oldest for ${durationText(ageMs)}`}`,
    `${started} started`,
    ...(started === 0
      ? []
      : [`waits ${durationText(meanWaitMs)} on average, ${durationText(longestWaitMs)} at most`]),
    ...(drops === 0 ? [] : [`${drops} dropped`]),
    ...(forcedReleases === 0 ? [] : [`${forcedReleases} released by force`]),
  ]
  return {
    ...(active === 0 ? IDLE : depth > 0 ? FULL : BUSY),
    name: lane.lane,
    state: `${active} of ${width} active`,
    note: facts.join('; '),
  }
}

function sessionLine({ sessionId, running, queued, observed }: LaneSnapshot): ShownLine {
  const facts = [
    ...(running === undefined ? [] : [running]),
    ...(observed === undefined ? [] : [`turn ${observed.turn} is DSH's own`]),
    ...(queued.length === 0 ? [] : [`${queued.length} queued`]),
  ]
  const isBusy = running !== undefined || observed !== undefined
  return {
    ...(isBusy ? BUSY : IDLE),
    name: `session ${sessionId}`,
    state: isBusy ? 'runs' : 'waits',
    note: facts.join('; '),
  }
}

const IDLE = { mark: '·', ascii: '.', colour: 'gray' } as const
const BUSY = { mark: '◐', ascii: '>', colour: 'cyan' } as const
/** Something runs, and something waits. */
const FULL = { mark: '◕', ascii: '!', colour: 'yellow' } as const
