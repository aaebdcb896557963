/**
 * What the lane engine asks of pg-boss: one job means that a session waits for a turn in a lane.
 *
 * Owns: the names of queues, the order among jobs, the width of a lane over all hosts, and which hosts
 * live. Does not own: who waits here and what a turn is used for (pg-boss-lanes.ts).
 */
import { createHash } from 'node:crypto'
import type { PgBoss, Db, JobAttempt, JobInsert } from 'pg-boss'
import type { ExecuteSql } from 'dsh-durable-log'
import type { LaneWish } from './lane-engine.ts'

export interface BossJobsOptions {
  readonly connectionString: string
  /** Schema of pg-boss's tables. */
  readonly schema: string
  /** How many sessions of a lane have a turn at a time, over all hosts; any number where it is not told. */
  readonly widths: ReadonlyMap<string, number>
  /** After how long a waiting session comes before a new one of the next higher priority. */
  readonly ageMs: number
  /** After how long without a sign of life a host's turns are given to others; at least 10,000. */
  readonly heartbeatMs: number
  /** This host among those that live. */
  readonly hostId: string
  readonly onError: (error: Error) => void
}

/** A turn to ask for. */
export interface Summons extends LaneWish {
  readonly sessionId: string
  /** The only host that may be given the turn while it lives; none: any. */
  readonly host: string | undefined
  /** Since when the session waits, epoch milliseconds. */
  readonly since: number
}

/** A turn that this host was given. */
export interface GivenTurn {
  readonly sessionId: string
  readonly lane: string
  readonly job: JobAttempt
}

interface JobData {
  readonly sessionId: string
}

const PREFIX = 'lane/'
const HOST = 'host/'
/** Every claim of a job counts as a retry of it; a lane never gives up on a session. */
const RETRIES = 2 ** 31 - 1
const LONGEST_TURN_S = 24 * 3600
const LONGEST_WAIT_S = 365 * 24 * 3600
/** Completed jobs say nothing that the log does not. */
const KEPT_S = 60
/** A host that stands still within a transaction loses it, and the lane that it has locked. */
const IDLE_MS = 3_000
/**
 * How long the lock of a lane is waited for. A turn's sign of life is as old as the transaction that
 * fetched it, so one that had waited for long would be given to others at once.
 */
const LOCK_MS = 500
const LOCK_NOT_AVAILABLE = '55P03'
/** How many heartbeats a statement may take, such as one that makes the tables. */
const SILENT_HEARTBEATS = 3
/** Jobs of one fetch at most. */
const BATCH = 64
/** Priorities count seconds from here; 32 bits of them last until 2094. */
const EPOCH_MS = Date.UTC(2026, 0, 1)
const LARGEST = 2 ** 31 - 1

export class BossJobs {
  private readonly boss: PgBoss
  /** Registered while this host takes turns that only it may be given. */
  private readonly presence: PgBoss
  private readonly options: BossJobsOptions
  private readonly queues = new Map<string, Promise<void>>()
  private isPresent = true

  private constructor(boss: PgBoss, presence: PgBoss, options: BossJobsOptions) {
    this.boss = boss
    this.presence = presence
    this.options = options
  }

  /** Makes the tables and the queues of the declared lanes, and registers this host. */
  static async open(options: BossJobsOptions): Promise<BossJobs> {
    const { PgBoss } = await import('pg-boss')
    const { connectionString, schema, heartbeatMs, hostId, onError, widths } = options
    const shared = {
      connectionString,
      schema,
      schedule: false,
      application_name: 'dsh-agent-loop',
      idle_in_transaction_session_timeout: IDLE_MS,
      // A network that is silent is given up, and the next statement takes another connection.
      query_timeout: heartbeatMs * SILENT_HEARTBEATS,
    }
    const boss = new PgBoss({
      ...shared,
      max: 6,
      supervise: true,
      superviseIntervalSeconds: 1,
      monitorIntervalSeconds: 1,
      registerInstance: false,
    })
    const presence = new PgBoss({
      ...shared,
      max: 1,
      supervise: false,
      migrate: false,
      registerInstance: true,
      instanceName: HOST + hostId,
      // Quiet after three of them.
      instanceHeartbeatSeconds: Math.max(1, Math.floor(heartbeatMs / 4000)),
    })
    boss.on('error', onError)
    presence.on('error', onError)
    try {
      await boss.start()
      await presence.start()
      const jobs = new BossJobs(boss, presence, options)
      await Promise.all(Array.from(widths.keys(), (lane) => jobs.queue(lane)))
      return jobs
    } catch (error) {
      await presence.stop({ graceful: false }).catch(() => undefined)
      await boss.stop({ graceful: false }).catch(() => undefined)
      throw error
    }
  }

  /** Asks for turns. @param execute of a transaction; else one of its own. */
  async ask(summons: readonly Summons[], execute?: ExecuteSql): Promise<void> {
    const db = execute === undefined ? {} : { db: dbOf(execute) }
    for (const [lane, own] of byLane(summons)) {
      const queue = await this.queue(lane)
      await this.boss.insert(
        queue,
        own.map((one) => this.jobOf(one)),
        db,
      )
    }
  }

  /** Ends turns and asks for others, as one. */
  async settle(over: readonly GivenTurn[], wanted: readonly Summons[]): Promise<void> {
    const lanes = [...byLane(over)]
    const [first] = lanes
    if (lanes.length === 1 && first !== undefined && wanted.length === 0) {
      await this.complete(first[0], first[1])
      return
    }
    if (over.length === 0) return this.ask(wanted)
    for (const { lane } of wanted) await this.queue(lane)
    await this.transact(async (db, execute) => {
      for (const [lane, turns] of lanes) await this.complete(lane, turns, { db })
      await this.ask(wanted, execute)
    })
  }

  /**
   * The turns that are due in a lane, as many as its width leaves, and `atMost`; those that only
   * another living host may be given are left to it.
   */
  async take(lane: string, atMost: number, otherHosts: readonly string[]): Promise<readonly GivenTurn[]> {
    const width = this.options.widths.get(lane)
    const queue = await this.queue(lane)
    const fetch = async (limit: number, db?: Db): Promise<readonly GivenTurn[]> => {
      const batchSize = Math.min(limit, atMost, BATCH)
      if (batchSize < 1) return []
      const jobs = await this.boss.fetch<JobData>(queue, {
        batchSize,
        ignoreGroups: [...otherHosts],
        ...(db === undefined ? {} : { db }),
      })
      return jobs.map(({ id, retryCount, data: { sessionId } }) => ({
        sessionId,
        lane,
        job: { id, retryCount },
      }))
    }
    if (width === undefined) return fetch(BATCH)
    const taken = this.transact(async (db) => {
      // Counting and fetching are one step for all hosts; the last statement sees what the lock waited for.
      const [, , counted] = (await db.executeSql(
        `SET LOCAL lock_timeout = ${LOCK_MS};` +
          `SELECT pg_advisory_xact_lock(hashtext('${this.options.schema}'), hashtext('${queue}'));` +
          `SELECT count(*)::int AS active FROM ${this.options.schema}.job WHERE name = '${queue}' AND state = 'active'`,
      )) as unknown as readonly { readonly rows: readonly { readonly active: number }[] }[]
      return fetch(width - (counted?.rows[0]?.active ?? width), db)
    })
    try {
      return await taken
    } catch (error) {
      // Somebody else is at it for long; the next look asks again.
      if ((error as { readonly code?: unknown }).code === LOCK_NOT_AVAILABLE) return []
      throw error
    }
  }

  /** A sign of life for turns. @returns those that this host does not have any more. */
  async touch(turns: readonly GivenTurn[]): Promise<readonly GivenTurn[]> {
    const lost: GivenTurn[] = []
    for (const [lane, own] of byLane(turns)) {
      const answer = await this.boss.touch(
        await this.queue(lane),
        own.map(({ job }) => job),
      )
      const { settled = [] } = answer as { readonly settled?: readonly string[] }
      const kept = new Set(settled)
      lost.push(...own.filter(({ job }) => !kept.has(job.id)))
    }
    return lost
  }

  /** Other hosts that live. */
  async otherHosts(): Promise<readonly string[]> {
    const instances = await this.presence.getInstances({ limit: 100_000 })
    return instances
      .filter(({ live, name }) => live && name?.startsWith(HOST) === true)
      .map(({ name }) => (name ?? '').slice(HOST.length))
      .filter((hostId) => hostId !== this.options.hostId)
  }

  /** Those of the lanes in which somebody waits for a turn. */
  async waited(lanes: readonly string[]): Promise<readonly string[]> {
    const queues = new Map(lanes.map((lane) => [queueOf(lane), lane]))
    const { schema } = this.options
    const { rows } = (await this.boss.getDb().executeSql(
      `SELECT queue.name FROM unnest($1::text[]) AS queue (name) WHERE EXISTS (
         SELECT 1 FROM ${schema}.job WHERE job.name = queue.name AND state < 'active' AND start_after <= now())`,
      [[...queues.keys()]],
    )) as { rows: readonly { readonly name: string }[] }
    return rows.flatMap(({ name }) => queues.get(name) ?? [])
  }

  /** Those of the sessions that wait for no turn and have none, on any host. */
  async without(sessionIds: readonly string[]): Promise<readonly string[]> {
    const { rows } = (await this.boss.getDb().executeSql(
      `SELECT DISTINCT singleton_key AS key FROM ${this.options.schema}.job
       WHERE singleton_key = ANY($1) AND state <= 'active' AND starts_with(name, '${PREFIX}')`,
      [sessionIds],
    )) as { rows: readonly { readonly key: string }[] }
    const found = new Set(rows.map(({ key }) => key))
    return sessionIds.filter((sessionId) => !found.has(keyOf(sessionId)))
  }

  /** From now on turns that only this host may be given are everybody's. */
  async leave(): Promise<void> {
    if (!this.isPresent) return
    this.isPresent = false
    await this.presence.stop({ graceful: false })
  }

  async close(): Promise<void> {
    await this.leave().catch(this.options.onError)
    await this.boss.stop({ graceful: false })
  }

  private async complete(lane: string, turns: readonly GivenTurn[], options?: { db: Db }): Promise<void> {
    const queue = await this.queue(lane)
    await this.boss.complete(
      queue,
      turns.map(({ job }) => job),
      null,
      options,
    )
  }

  private async transact<T>(work: (db: Db, execute: ExecuteSql) => Promise<T>): Promise<T> {
    const transaction = await this.boss.getDb().beginTransaction?.()
    if (transaction === undefined) throw new Error('pg-boss has no connection of its own')
    const { db } = transaction
    try {
      const result = await work(db, (text, values = []) => db.executeSql(text, [...values]))
      await transaction.commit()
      return result
    } catch (error) {
      await transaction.rollback()
      throw error
    }
  }

  /** The queue of a lane, made at first need. */
  private async queue(lane: string): Promise<string> {
    const queue = queueOf(lane)
    let made = this.queues.get(queue)
    if (made === undefined) {
      made = this.boss.createQueue(queue, {
        policy: 'key_strict_fifo',
        heartbeatSeconds: Math.max(10, Math.ceil(this.options.heartbeatMs / 1000)),
        expireInSeconds: LONGEST_TURN_S,
        retentionSeconds: LONGEST_WAIT_S,
        deleteAfterSeconds: KEPT_S,
        retryLimit: RETRIES,
        retryDelay: 0,
      })
      this.queues.set(queue, made)
      made.catch(() => this.queues.delete(queue))
    }
    await made
    return queue
  }

  private jobOf({ sessionId, level, host, since }: Summons): JobInsert<JobData> {
    return {
      data: { sessionId },
      singletonKey: keyOf(sessionId),
      priority: priorityOf(level, since, this.options.ageMs),
      ...(host === undefined ? {} : { group: { id: host } }),
    }
  }
}

/** A priority that stays right while time passes: one level is worth `ageMs` of waiting. */
export function priorityOf(level: number, since: number, ageMs: number): number {
  const waited = Math.round((since - EPOCH_MS - level * ageMs) / 1000)
  return -Math.max(-LARGEST, Math.min(LARGEST, waited))
}

/** pg-boss takes letters, digits and a few signs. */
const PLAIN = /^[A-Za-z0-9_.-]{1,100}$/u

function queueOf(lane: string): string {
  return PREFIX + (PLAIN.test(lane) ? lane : `x/${digestOf(lane)}`)
}

function keyOf(sessionId: string): string {
  return PLAIN.test(sessionId) ? sessionId : `x/${digestOf(sessionId)}`
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function byLane<T extends { readonly lane: string }>(all: readonly T[]): ReadonlyMap<string, readonly T[]> {
  return Map.groupBy(all, ({ lane }) => lane)
}

function dbOf(execute: ExecuteSql): Db {
  return { executeSql: async (text, values) => ({ rows: [...(await execute(text, values)).rows] }) }
}
