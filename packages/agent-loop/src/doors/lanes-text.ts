/** The lanes as a person reads them: one line each. Pure. */
import type { LaneMetrics, LaneSnapshot } from '../types.ts'

export function lanesText(lanes: readonly LaneSnapshot[], metrics: readonly LaneMetrics[]): string {
  return [...metrics.map(metricsLine), ...lanes.map(sessionLine)].join('\n')
}

function metricsLine(lane: LaneMetrics): string {
  const { active, ageMs, depth, drops, forcedReleases, longestWaitMs, meanWaitMs, started, width } = lane
  const facts = [
    `${active} of ${width} active`,
    `${depth} waiting${depth === 0 ? '' : `, the oldest for ${seconds(ageMs)}`}`,
    `${started} started`,
    ...(started === 0 ? [] : [`waits ${seconds(meanWaitMs)} on average, ${seconds(longestWaitMs)} at most`]),
    ...(drops === 0 ? [] : [`${drops} dropped`]),
    ...(forcedReleases === 0 ? [] : [`${forcedReleases} released by force`]),
  ]
  return `${lane.lane}: ${facts.join('; ')}`
}

function sessionLine({ sessionId, running, queued, observed }: LaneSnapshot): string {
  const facts = [
    ...(running === undefined ? [] : [`runs ${running}`]),
    ...(observed === undefined ? [] : [`turn ${observed.turn} is DSH's own`]),
    ...(queued.length === 0 ? [] : [`${queued.length} queued`]),
  ]
  return `session ${sessionId}: ${facts.join('; ')}`
}

export function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`
}
