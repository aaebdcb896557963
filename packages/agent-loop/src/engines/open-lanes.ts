/**
 * The lane engine that a row asks for. Opens what it needs; the host closes it.
 */
import { randomUUID } from 'node:crypto'
import type { DurableLog } from 'dsh-durable-log'
import type { Clock } from '../clock.ts'
import { lanesOf, PER_TARGET_LANE, type Config } from '../config.ts'
import { AgentLoopError } from '../errors.ts'
import { BossJobs } from './boss-jobs.ts'
import type { LaneEngine } from './lane-engine.ts'
import { PgBossLanes, type PgBossLanesOptions } from './pg-boss-lanes.ts'

export interface OpenLanesOptions extends Pick<PgBossLanesOptions, 'homeOf' | 'open'> {
  readonly config: Config
  readonly log: DurableLog
  readonly clock: Clock
  readonly warn: (text: string) => void
}

/** A session's lease must be over for others, who allow its clock so much, when they are given its turn. */
const CLOCK_SKEW_MS = 5_000

/** How long a lease of a session holds without renewal, milliseconds. */
export function leaseMsOf({ engine, leaseMs, pgBoss }: Config): number {
  return engine === 'embedded' ? leaseMs : Math.min(leaseMs, pgBoss.heartbeatMs - CLOCK_SKEW_MS)
}

/**
 * @returns none for the embedded lanes.
 * @throws AgentLoopError `invalid` when the log or the environment is not made for several hosts; else
 *   what the database says.
 */
export async function openLanes(options: OpenLanesOptions): Promise<LaneEngine | undefined> {
  const { config, log, clock, warn, homeOf, open } = options
  if (config.engine === 'embedded') return undefined
  const { connectionEnv, schema, heartbeatMs, pollMs } = config.pgBoss
  const connectionString = process.env[connectionEnv]
  if (log.appendWith === undefined) {
    throw new AgentLoopError(
      'invalid',
      'engine "pg-boss" keeps its jobs beside the log: set backend "postgres" in the row of durable-log',
    )
  }
  if (connectionString === undefined || connectionString === '') {
    throw new AgentLoopError(
      'invalid',
      `engine "pg-boss" needs the environment variable ${connectionEnv} with the connection string of the log's database`,
    )
  }
  const declared = lanesOf(config)
  const hostId = randomUUID()
  const jobs = await BossJobs.open({
    connectionString,
    schema,
    heartbeatMs,
    hostId,
    ageMs: config.ageMs,
    widths: new Map(Array.from(declared, ([name, { width }]) => [name, width] as const)),
    onError: (error) => warn(`pg-boss: ${error.message}`),
  })
  return new PgBossLanes({
    jobs,
    clock,
    hostId,
    heartbeatMs,
    pollMs,
    lanes: [...declared.keys(), PER_TARGET_LANE],
    perHost: new Map(
      Array.from(declared, ([name, { perHost }]) => [name, perHost ?? Number.POSITIVE_INFINITY] as const),
    ),
    homeOf,
    open,
  })
}
