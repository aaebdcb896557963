/**
 * Service times and throughput of real hosts: processes of their own on one embedded PostgreSQL that
 * syncs every commit. Everything shares one machine, so what neighbours take of its cores is measured,
 * too, and given to the model.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startPostgres } from '../../packages/durable-log/tests/support/postgres-server.ts'
import type { HostReport, HostTask } from './host-process.ts'
import type { ServiceTimes } from './cell.ts'
import { busyMs, parentOf, serverMs, syncCost } from './machine.ts'

export interface Load {
  readonly hosts: number
  readonly sessionsPerHost: number
  readonly waitMs: number
}

export interface Measured extends Load {
  readonly turnsPerSecond: number
  readonly appendsPerTurn: number
  readonly appendMs: number
  /** Cores that other programs used meanwhile. */
  readonly coresOfOthers: number
}

export interface Latencies {
  readonly appendMs: number
  readonly claimAndBeginMs: number
  readonly turnMs: number
  readonly noticeMs: number
}

interface Client {
  connect(): Promise<void>
  query(
    sql: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: readonly Record<string, unknown>[] }>
  end(): Promise<void>
  once(event: 'notification', listener: () => void): void
}

const SETTLE_MS = 1_000

class HostProcess {
  private readonly child: ChildProcess
  private constructor(child: ChildProcess) {
    this.child = child
  }

  static async start(task: HostTask): Promise<HostProcess> {
    const host = new HostProcess(fork(join(import.meta.dirname, 'host-process.ts')))
    await host.ask({ task })
    return host
  }

  report(): Promise<HostReport> {
    return this.ask({ ask: 'report' }) as Promise<HostReport>
  }

  async stop(): Promise<void> {
    const exited = once(this.child, 'exit')
    await this.ask({ ask: 'stop' })
    await exited
  }

  private async ask(message: object): Promise<unknown> {
    const answered = once(this.child, 'message')
    const gone = once(this.child, 'exit').then(() => Promise.reject(new Error('a host ended')))
    gone.catch(() => undefined)
    this.child.send(message)
    const [answer] = (await Promise.race([answered, gone])) as [unknown]
    return answer
  }
}

/** What was used between two looks. */
interface Used {
  readonly seconds: number
  readonly dbMs: number
  readonly coresOfOthers: number
  readonly reports: readonly HostReport[]
  readonly polls: number
  readonly trips: number
}

export class Bench {
  private readonly client: Client
  private readonly url: string
  private readonly postmaster: number
  private readonly stopServer: () => Promise<void>
  private schemas = 0

  private constructor(client: Client, url: string, postmaster: number, stop: () => Promise<void>) {
    this.client = client
    this.url = url
    this.postmaster = postmaster
    this.stopServer = stop
  }

  static async open(): Promise<Bench> {
    const server = await startPostgres(['shared_buffers=256MB', 'autovacuum_naptime=5s'])
    const client = newClient(server.url)
    await client.connect()
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
    const postmaster = parentOf(Number(rows[0]?.['pid']))
    return new Bench(client, server.url, postmaster, () => server.stop())
  }

  async close(): Promise<void> {
    await this.client.end()
    await this.stopServer()
  }

  async measure(load: Load, seconds: number): Promise<Measured> {
    const { coresOfOthers, reports } = await this.observe(load, seconds)
    const sum = (of: (report: HostReport) => number) =>
      reports.reduce((total, report) => total + of(report), 0)
    return {
      ...load,
      turnsPerSecond: sum(({ turns, seconds: over }) => turns / over),
      appendsPerTurn: sum(({ appends }) => appends) / sum(({ turns }) => turns),
      appendMs: sum(({ appendMs }) => appendMs) / reports.length,
      coresOfOthers,
    }
  }

  /** One host, first with one session and then with many: what does not grow with the riders of a trip is the trip's. */
  async serviceTimes(
    seconds: number,
  ): Promise<{ times: ServiceTimes; latencies: Latencies; appendsPerTurn: number }> {
    const dbNotify = await this.notifyCost()
    const one = await this.observe({ hosts: 1, sessionsPerHost: 1, waitMs: 0 }, seconds)
    const many = await this.observe({ hosts: 1, sessionsPerHost: 64, waitMs: 0 }, seconds)
    const cost = (used: Used, totalMs: number) => ({
      trips: used.trips,
      appends: appendsOf(used),
      totalMs,
    })
    const notified = (used: Used) => used.dbMs - dbNotify * notificationsOf(used)
    const db = solve(cost(one, notified(one)), cost(many, notified(many)))
    const host = solve(cost(one, cpuOf(one)), cost(many, cpuOf(many)))
    const idle = await this.observe({ hosts: 1, sessionsPerHost: 0, waitMs: 0 }, seconds, {
      pollIntervalMs: 1,
    })
    const dbPoll = idle.dbMs / idle.polls
    const hostPoll = cpuOf(idle) / idle.polls
    const heard = await this.observe({ hosts: 1, sessionsPerHost: 64, waitMs: 0 }, seconds, { listeners: 1 })
    const rows = appendsOf(heard)
    const ofRows = heard.dbMs - db.trip * heard.trips - db.append * rows - dbNotify * notificationsOf(heard)
    const listener = heard.reports.at(-1)?.cpuMs ?? 0
    const sync = syncCost()
    const [report] = one.reports
    const appendMs = report?.appendMs ?? 0
    const inUse = host.append + host.trip + db.trip + db.append + sync
    return {
      times: {
        dbTrip: db.trip,
        dbAppend: db.append,
        dbNotify,
        dbPoll,
        dbPollRow: Math.max(0, (ofRows - dbPoll * heard.polls) / rows),
        sync,
        wire: Math.max(0, appendMs - inUse),
        hostAppend: host.append,
        hostTrip: host.trip,
        hostPoll,
        hostPollRow: Math.max(0, (listener - hostPoll * heard.polls) / rows),
      },
      latencies: {
        appendMs: report?.appendMs ?? Number.NaN,
        claimAndBeginMs: report?.claimMs ?? Number.NaN,
        turnMs: report?.turnMs ?? Number.NaN,
        noticeMs: await this.noticeTime(),
      },
      appendsPerTurn: (report?.appends ?? 0) / (report?.turns ?? 1),
    }
  }

  private async observe(
    { hosts, sessionsPerHost, waitMs }: Load,
    seconds: number,
    { listeners = 0, pollIntervalMs = 1_000 }: { listeners?: number; pollIntervalMs?: number } = {},
  ): Promise<Used> {
    const schema = `scale_${(this.schemas += 1)}`
    const task = { connectionString: this.url, schema, waitMs, pollIntervalMs }
    const running: HostProcess[] = []
    // The first one makes the tables.
    for (let host = 0; host < hosts + listeners; host += 1)
      running.push(await HostProcess.start({ ...task, host, sessions: host < hosts ? sessionsPerHost : 0 }))
    await pause(SETTLE_MS + waitMs * 2)
    await Promise.all(running.map((host) => host.report()))
    const tripsBefore = await this.trips(schema)
    const before = this.look()
    await pause(seconds * 1_000)
    const reports = await Promise.all(running.map((host) => host.report()))
    const after = this.look()
    const tripsAfter = await this.trips(schema)
    const polls = await this.polls(schema, running.length > 0)
    await Promise.all(running.map((host) => host.stop()))
    await this.client.query(`DROP SCHEMA ${schema} CASCADE`)
    const ownMs = after.dbMs - before.dbMs + after.selfMs - before.selfMs
    const hostsMs = reports.reduce((sum, { cpuMs }) => sum + cpuMs, 0)
    const over = (after.at - before.at) / 1_000
    return {
      seconds: over,
      dbMs: after.dbMs - before.dbMs,
      coresOfOthers: Math.max(0, (after.busyMs - before.busyMs - ownMs - hostsMs) / 1_000 / over),
      reports,
      // Counted from the start of the hosts, which polled alike all the while.
      polls: polls.count * (over / polls.seconds),
      trips: tripsAfter - tripsBefore,
    }
  }

  private look() {
    const { system, user } = process.cpuUsage()
    return {
      at: performance.now(),
      dbMs: serverMs(this.postmaster),
      busyMs: busyMs(),
      selfMs: (system + user) / 1_000,
    }
  }

  private async trips(schema: string): Promise<number> {
    const { rows } = await this.client.query(`SELECT count(DISTINCT xact) AS trips FROM ${schema}.entries`)
    return Number(rows[0]?.['trips'])
  }

  /** Only polls look into the removals. */
  private async polls(schema: string, isSettling: boolean): Promise<{ count: number; seconds: number }> {
    const look = async () => {
      const { rows } = await this.client.query(
        `SELECT (seq_scan + coalesce(idx_scan, 0)) AS scans FROM pg_stat_user_tables
         WHERE schemaname = $1 AND relname = 'removals'`,
        [schema],
      )
      return Number(rows[0]?.['scans'] ?? 0)
    }
    if (isSettling) await pause(SETTLE_MS)
    const [count, at] = [await look(), performance.now()]
    await pause(2 * SETTLE_MS)
    return { count: (await look()) - count, seconds: (performance.now() - at) / 1_000 }
  }

  private async notifyCost(): Promise<number> {
    const rounds = 2_000
    const before = serverMs(this.postmaster)
    for (let round = 0; round < rounds; round += 1) await this.client.query(`SELECT pg_notify('nobody', 'x')`)
    return (serverMs(this.postmaster) - before) / rounds
  }

  /** From a notification to its arrival at another connection, the median. */
  private async noticeTime(): Promise<number> {
    const listener = newClient(this.url)
    await listener.connect()
    try {
      await listener.query('LISTEN scale')
      const taken: number[] = []
      for (let round = 0; round < 200; round += 1) {
        const heard = Promise.withResolvers<void>()
        listener.once('notification', heard.resolve)
        const began = performance.now()
        await this.client.query(`SELECT pg_notify('scale', '${round}')`)
        await heard.promise
        taken.push(performance.now() - began)
      }
      return taken.toSorted((left, right) => left - right)[100] ?? Number.NaN
    } finally {
      await listener.end()
    }
  }
}

function newClient(connectionString: string): Client {
  const require = createRequire(join(import.meta.dirname, '../../packages/durable-log/package.json'))
  const pg = require('pg') as { Client: new (options: { connectionString: string }) => Client }
  return new pg.Client({ connectionString })
}

function appendsOf({ reports }: Used): number {
  return reports.reduce((sum, { appends }) => sum + appends, 0)
}

function cpuOf({ reports }: Used): number {
  return reports.reduce((sum, { cpuMs }) => sum + cpuMs, 0)
}

/** One each 10 ms and its own time, while there are trips. */
function notificationsOf({ seconds, trips }: Used): number {
  return Math.min(trips, (seconds * 1_000) / 11)
}

interface Cost {
  readonly trips: number
  readonly appends: number
  readonly totalMs: number
}

/** The two unknowns of two sums; neither is below nothing. */
function solve(one: Cost, many: Cost): { trip: number; append: number } {
  const determinant = one.trips * many.appends - many.trips * one.appends
  const trip = (one.totalMs * many.appends - many.totalMs * one.appends) / determinant
  if (trip <= 0) return { trip: 0, append: one.totalMs / one.appends }
  const append = (many.totalMs - trip * many.trips) / many.appends
  if (append <= 0) return { trip: one.totalMs / one.trips, append: 0 }
  return { trip, append }
}
