/**
 * The declared global lanes and what each of them has seen: which lane a run waits for, how long its
 * runs may take, whether it has room, and its figures. Starts nothing.
 */
import { DEFAULT_MAX_QUEUED, lanesOf, PER_TARGET_LANE, type Config } from './config.ts'
import type { Level } from './engines/lane-engine.ts'
import type { LaneItem, LaneState } from './lane-state.ts'
import { DROP_CODES, type RunPriority } from './queue-types.ts'
import type { RunRecord } from './run-record.ts'
import type { LaneMetrics } from './types.ts'

const LEVELS: Readonly<Record<RunPriority, Level>> = { background: 0, default: 1, foreground: 2 }
export function levelOf(priority: RunPriority = 'default'): Level {
  return LEVELS[priority]
}

/** How much a new run moves the mean time that runs of a lane take. */
const WEIGHT = 0.2
const SHORTEST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 60_000

export interface LaneBookOptions {
  readonly config: Pick<Config, 'lanes' | 'defaultTimeoutMs'>
  readonly state: LaneState
}

export class LaneBook {
  private readonly lanes: ReturnType<typeof lanesOf>
  private readonly defaultTimeoutMs: number
  private readonly state: LaneState
  private readonly drops = new Map<string, number>()
  private readonly forced = new Map<string, number>()
  private readonly meanRunMs = new Map<string, number>()

  constructor({ config, state }: LaneBookOptions) {
    this.lanes = lanesOf(config)
    this.defaultTimeoutMs = config.defaultTimeoutMs
    this.state = state
  }

  /** Names that a request may give. */
  get declared(): readonly string[] {
    return [...this.lanes.keys(), PER_TARGET_LANE]
  }

  isDeclared(name: string): boolean {
    return name === PER_TARGET_LANE || this.lanes.has(name)
  }

  itemOf(run: RunRecord): LaneItem {
    const { runId: id, sessionId, request } = run
    return {
      id,
      sessionId,
      lane: this.laneOf(run),
      level: levelOf(request?.priority),
      collects: request?.mode === 'collect',
    }
  }

  /** The lane a run waits for; that of a run from before a change of the configuration may be gone. */
  laneOf({ sessionId, lane }: Pick<RunRecord, 'sessionId' | 'lane'>): string {
    return this.keyOf(lane, sessionId)
  }

  keyOf(name: string, sessionId: string): string {
    if (name === PER_TARGET_LANE) return `${PER_TARGET_LANE}:${sessionId}`
    return this.lanes.has(name) ? name : 'main'
  }

  timeoutOf({ request, lane }: RunRecord): number {
    return request?.timeoutMs ?? this.lanes.get(lane)?.timeoutMs ?? this.defaultTimeoutMs
  }

  hasRoom(name: string, sessionId: string): boolean {
    const most = this.lanes.get(name)?.maxQueued ?? DEFAULT_MAX_QUEUED
    return (this.state.lane(this.keyOf(name, sessionId))?.waiting ?? 0) < most
  }

  /** After how long the lane has likely moved on. */
  retryAfterMs(name: string): number {
    const slots = this.state.lane(name)
    const mean = this.meanRunMs.get(name) ?? SHORTEST_RETRY_MS
    const rounds = slots === undefined ? 1 : Math.ceil((slots.waiting + 1) / slots.width)
    return Math.round(Math.min(LONGEST_RETRY_MS, Math.max(SHORTEST_RETRY_MS, mean * Math.min(rounds, 10))))
  }

  /** @param run settled. */
  countSettled(run: RunRecord): void {
    const lane = this.laneOf(run)
    const { startedAt, endedAt, settled: end } = run
    if (end?.error !== undefined && DROP_CODES.has(end.error.code)) {
      this.drops.set(lane, (this.drops.get(lane) ?? 0) + 1)
    }
    if (startedAt === undefined || endedAt === undefined) return
    const tookMs = Math.max(0, endedAt - startedAt)
    const mean = this.meanRunMs.get(lane) ?? tookMs
    this.meanRunMs.set(lane, mean + WEIGHT * (tookMs - mean))
  }

  countForcedRelease(lane: string): void {
    this.forced.set(lane, (this.forced.get(lane) ?? 0) + 1)
  }

  metrics(now: number): readonly LaneMetrics[] {
    return Array.from(this.state.allLanes(), (slots) => ({
      lane: slots.name,
      width: slots.width,
      active: slots.active,
      depth: slots.waiting,
      ageMs: slots.waiting === 0 ? 0 : Math.max(0, now - (this.state.oldestIn(slots.name) ?? now)),
      started: slots.started,
      meanWaitMs: slots.started === 0 ? 0 : slots.waitedMs / slots.started,
      longestWaitMs: slots.longestWaitMs,
      drops: this.drops.get(slots.name) ?? 0,
      forcedReleases: this.forced.get(slots.name) ?? 0,
    }))
  }
}
