/** What a row of this plugin can set. */
import z from '@deepseek-ai/schemastery'
import { CONNECTION_ENV_PATTERN, DEFAULT_CONNECTION_ENV } from 'dsh-durable-log'
import { MAX_DELAY_MS } from './clock.ts'
import { HookSettings } from './hooks/settings.ts'
import type { QueueSettings } from './queue-types.ts'
import { EventsConfig } from './streams/limits.ts'

export interface LaneConfig {
  /** Sessions that run in it at a time. */
  width: number
  /** The deadline of its runs that name none, milliseconds; default `defaultTimeoutMs`. */
  timeoutMs?: number
  /** Runs that may wait for it. */
  maxQueued?: number
  /** Sessions that run in it at a time on one host, where `width` counts over all hosts. */
  perHost?: number
}

/** Lanes over several hosts; see `engines/pg-boss-lanes.ts`. */
export interface PgBossConfig {
  /** Name of the environment variable with the connection string, which is that of the log. */
  connectionEnv: string
  /** Schema of pg-boss's tables. */
  schema: string
  /** After how long without a sign of life the turns of a host are given to others, milliseconds. */
  heartbeatMs: number
  /** How often each host looks for turns beside what it hears of others, milliseconds. */
  pollMs: number
}

export interface Config {
  /**
   * What happens to runs from before this process: `live` takes up those whose session is opened
   * here, `all` opens every session with open runs.
   */
  recover: 'live' | 'all'
  /**
   * What becomes of a run whose turn the end of the process cut off: it ends `interrupted`, or its
   * session is told to go on.
   */
  afterCrash: 'interrupt' | 'resume'
  /** The deadline of a run that names none, milliseconds. */
  defaultTimeoutMs: number
  /** How long a stopped turn may take to end before its lane goes on, milliseconds. */
  graceMs: number
  /** Whether the lanes are those of this host, or of all hosts on one PostgreSQL database. */
  engine: 'embedded' | 'pg-boss'
  pgBoss: PgBossConfig
  /** Global lanes besides or instead of `main` (4), `subagent` (8) and `cron` (1). */
  lanes: Record<string, LaneConfig>
  /** After how long a waiting session rises by one priority, milliseconds. */
  ageMs: number
  /** How messages join a busy session that has no settings of its own. */
  queue: QueueSettings
  /** Runs that may wait in one session, whoever sent them. */
  maxQueuedPerSession: number
  /** How often a message is tried that cannot be handed over. */
  attempts: number
  /** The pause before the second attempt, milliseconds; it doubles each time, up to a minute. */
  retryDelayMs: number
  /** How long the results of ended runs are kept, milliseconds. */
  retentionMs: number
  /** How long a session stays ours without a sign of life, milliseconds. */
  leaseMs: number
  hooks?: HookSettings
  /** Whether the web server of the profile, where there is one, has a door to the host. */
  webDoor: boolean
  /** Events of runs and results of tools; see `streams/limits.ts`. */
  events?: Partial<EventsConfig>
}

const WEEK_MS = 7 * 24 * 3_600_000

export const BUILT_IN_LANES: Readonly<Record<string, LaneConfig>> = {
  main: { width: 4 },
  subagent: { width: 8 },
  cron: { width: 1 },
}
/** Each target of this lane has one of its own, of width 1. */
export const PER_TARGET_LANE = 'nested'
export const DEFAULT_MAX_QUEUED = 10_000

const delay = (min: number) => z.number().step(1).min(min).max(MAX_DELAY_MS)
const count = (max: number) => z.number().step(1).min(1).max(max)

const LaneConfig: z<LaneConfig> = z.object({
  width: count(10_000).required(),
  timeoutMs: delay(1),
  maxQueued: count(10_000_000),
  perHost: count(10_000),
})

export const Config: z<Partial<Config>, Config> = z.object({
  recover: z.union(['live', 'all'] as const).default('live'),
  afterCrash: z.union(['interrupt', 'resume'] as const).default('interrupt'),
  defaultTimeoutMs: delay(1).default(600_000),
  graceMs: delay(0).default(5_000),
  engine: z.union(['embedded', 'pg-boss'] as const).default('embedded'),
  pgBoss: z.object({
    connectionEnv: z.string().pattern(CONNECTION_ENV_PATTERN).default(DEFAULT_CONNECTION_ENV),
    schema: z
      .string()
      .pattern(/^[a-z_][a-z0-9_]{0,39}$/u)
      .default('agent_loop_lanes'),
    heartbeatMs: z.number().step(1).min(10_000).max(MAX_DELAY_MS).default(10_000),
    pollMs: z.number().step(1).min(20).max(60_000).default(500),
  }),
  lanes: z.dict(LaneConfig).default({}),
  ageMs: delay(1).default(30_000),
  queue: z.object({
    mode: z
      .union(['followup', 'collect', 'steer', 'steer-backlog', 'interrupt'] as const)
      .default('followup'),
    debounceMs: delay(0).default(500),
    maxDebounceMs: delay(0).default(5_000),
    cap: count(10_000).default(20),
    drop: z.union(['summarize', 'old', 'new'] as const).default('summarize'),
  }),
  maxQueuedPerSession: count(1_000_000).default(1_000),
  attempts: count(100).default(3),
  retryDelayMs: delay(1).default(1_000),
  retentionMs: z.number().step(1).min(0).default(WEEK_MS),
  leaseMs: z.number().step(1).min(1_000).max(MAX_DELAY_MS).default(120_000),
  hooks: HookSettings,
  webDoor: z.boolean().default(true),
  events: EventsConfig,
})

/** Every declared lane. */
export function lanesOf(config: Pick<Config, 'lanes'>): ReadonlyMap<string, LaneConfig> {
  return new Map(Object.entries({ ...BUILT_IN_LANES, ...config.lanes }))
}
