/**
 * Three host processes on one PostgreSQL and nothing else in common, under SIGKILL, SIGSTOP for longer than
 * a lease, a network that breaks or falls silent, clocks that disagree, and a server that crashes. A round is
 * one fleet: clients ask for runs at random hosts while faults strike; then everything must come to rest in
 * order, and each host must end by itself. `hosts-findings.ts` says what order is.
 *
 * `node hosts-chaos.ts [rounds] [seed]` prints the figures.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Context } from '@deepseek-ai/cordis'
import SessionStore, { type SessionEvent, SessionId } from '@deepseek-ai/dsh-session'
import { type DurableLog, leaseStore, postgresLog } from 'dsh-durable-log'
import { PgBoss } from 'pg-boss'
import { startPostgres } from '../../durable-log/tests/support/postgres-server.ts'
import { leaseNameOf } from '../src/session-lease.ts'
import { BUILT, Host, type Strike } from './host-fleet.ts'
import { mount } from './host-process.ts'
import { Clients } from './hosts-clients.ts'
import { type Findings, findingsOf, type Remains, takeoversOf } from './hosts-findings.ts'
import { HEARTBEAT_MS, type Plan, planOf } from './hosts-plan.ts'
import { RunWatch } from './run-watch.ts'
import { machineTime, readRecord } from './turn-record.ts'

export interface ChaosOptions {
  readonly rounds: number
  readonly seed: number
  /** Rounds that are played at the same time; they mostly wait. */
  readonly together?: number
  readonly onRound?: (text: string) => void
}

export interface ChaosResult {
  readonly suite: 'hosts'
  readonly rounds: number
  readonly failed: number
  /** Acknowledged runs without a terminal entry, and sessions that cannot be opened. */
  readonly lost: number
  /** Runs with more than one terminal entry, keys with more than one run, messages answered again. */
  readonly doubled: number
  readonly failures: Array<{ round: number; seed: number; text: string }>
  /** Which faults met a host in what: `boot`, `rest`, or a `turn`. */
  readonly kills: Readonly<Record<string, number>>
  /** After how long what a kill cut off went on at another host, in rounds with kills and nothing else. */
  readonly takeoverMs: {
    readonly count: number
    readonly median: number
    readonly p95: number
    readonly max: number
  }
}

const TOGETHER = Math.max(2, 2 * availableParallelism())
/** From the last fault on; the longest heartbeat, lease and retry fit into it several times. */
const REST_WITHIN_MS = 60_000
const END_WITHIN_MS = 20_000
const LOOK_MS = 100
const LOG_SCHEMA = 'durable_log'
const LANES_SCHEMA = 'agent_loop_lanes'

interface Round {
  readonly found: Findings
  readonly met: readonly string[]
  readonly takeovers: readonly number[]
}

export async function run({
  rounds,
  seed,
  together = TOGETHER,
  onRound = () => undefined,
}: ChaosOptions): Promise<ChaosResult> {
  const failures: ChaosResult['failures'] = []
  const kills: Record<string, number> = {}
  const takeovers: number[] = []
  let lost = 0
  let doubled = 0
  let next = 0
  const play = async (): Promise<void> => {
    for (let round = next++; round < rounds; round = next++) {
      const own = (seed + round * 0x9e37_79b9) >>> 0
      const { found, met, takeovers: took } = await playRound(planOf(own))
      lost += found.lost
      doubled += found.doubled
      takeovers.push(...took)
      for (const what of met) kills[what] = (kills[what] ?? 0) + 1
      for (const text of found.problems) failures.push({ round, seed: own, text })
      onRound(`round ${round} (seed ${own}): ${met.join(', ')}; ${found.problems.length} problems`)
    }
  }
  await Promise.all(Array.from({ length: Math.min(together, rounds) }, play))
  const failed = new Set(failures.map((failure) => failure.round)).size
  return { suite: 'hosts', rounds, failed, lost, doubled, failures, kills, takeoverMs: figuresOf(takeovers) }
}

async function playRound(plan: Plan): Promise<Round> {
  const folder = mkdtempSync(join(tmpdir(), 'hosts-chaos-'))
  const record = join(folder, 'model.jsonl')
  const server = await startPostgres(['fsync=off'])
  const settings = { ...BUILT, record, heartbeatMs: HEARTBEAT_MS, afterCrash: plan.afterCrash }
  const log = postgresLog({
    connectionString: server.url,
    schema: LOG_SCHEMA,
    pollIntervalMs: LOOK_MS,
    patienceMs: 30_000,
  })
  const watch = new RunWatch(log)
  const hosts = await Promise.all(
    plan.skewsMs.map((skewMs, index) =>
      Host.start({ name: `host-${index}`, skewMs, settings, server, folder }),
    ),
  )
  const boss = new PgBoss({
    connectionString: server.url,
    schema: LANES_SCHEMA,
    supervise: false,
    schedule: false,
    migrate: false,
  })
  boss.on('error', () => undefined)
  try {
    await Promise.all(hosts.map((host) => host.whenReady()))
    const clients = new Clients(hosts, folder)
    const giveUp = new AbortController()
    const { strikes, met } = await disturb(plan, hosts, clients, record, giveUp)
    await boss.start()
    const problems: string[] = []
    const restless = await untilRest(REST_WITHIN_MS, async () => {
      const { rows } = (await boss
        .getDb()
        .executeSql(
          `SELECT state::text, count(*)::int AS count FROM ${LANES_SCHEMA}.job WHERE starts_with(name, 'lane/') AND state <= 'active' GROUP BY state`,
        )) as { rows: readonly { state: string; count: number }[] }
      const open = openRuns(await watch.all())
      const leases = leaseStore({ log })
      const held = await Promise.all(
        [...(await watch.all()).keys()].map((id) => leases.read(leaseNameOf(id))),
      )
      return [
        ...open.map((runId) => `run ${runId} is open`),
        ...rows.map(({ state, count }) => `${count} jobs are ${state}`),
        ...held.flatMap((lease) =>
          lease === undefined ? [] : [`process ${lease.process.pid} holds ${lease.rootSessionId}`],
        ),
      ]
    })
    giveUp.abort()
    if (restless.length > 0) problems.push(...(await Promise.all(hosts.map(lanesOf))))
    problems.push(...restless.map((text) => `no rest: ${text}`), ...clients.problems)
    for (const host of hosts) problems.push(...host.crashes.map((text) => `${host.options.name}: ${text}`))
    const ends = await Promise.all(hosts.map((host) => host.close(END_WITHIN_MS)))
    for (const [index, end] of ends.entries()) if (end !== undefined) problems.push(`host-${index}: ${end}`)
    const streams = await watch.all()
    const remains: Remains = {
      plan,
      acknowledged: clients.acknowledged,
      streams,
      calls: readRecord(record),
      strikes,
      sessions: await readSessions(log, [...streams.keys()]),
    }
    const found = findingsOf(remains)
    found.problems.unshift(...problems)
    if (clients.acknowledged.length < plan.asks.length)
      found.problems.push('not every request was acknowledged')
    return { found, met, takeovers: plan.isMeasured ? takeoversOf(remains) : [] }
  } finally {
    await boss.stop({ graceful: false }).catch(() => undefined)
    await watch.close()
    await log.close()
    await Promise.all(hosts.map((host) => host.destroy()))
    await server.stop()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Asks and strikes as planned. Resolves when every fault is over and every request was acknowledged, or given up. */
async function disturb(
  plan: Plan,
  hosts: readonly Host[],
  clients: Clients,
  record: string,
  giveUp: AbortController,
): Promise<{ strikes: readonly Strike[]; met: readonly string[] }> {
  const began = machineTime()
  const until = (at: number): Promise<void> => pause(Math.max(0, began + at - machineTime()))
  const met: string[] = []
  const asking = Promise.all(
    plan.asks.map((ask) => until(ask.at).then(() => clients.ask(ask, giveUp.signal))),
  )
  asking.catch(() => undefined)
  const aborting = Promise.all(plan.aborts.map((abort) => until(abort.at).then(() => clients.abort(abort))))
  const striking = Promise.all(
    plan.faults.map(async (fault) => {
      await until(fault.at)
      const host = hosts[fault.host]
      if (host === undefined) throw new Error('no such host')
      met.push(`${fault.kind} in ${stateOf(host, record)}`)
      return await host.strike(fault, pause)
    }),
  )
  const strikes = await striking
  await Promise.race([asking, pause(REST_WITHIN_MS, undefined, { ref: false })]).catch(() => undefined)
  await aborting
  return { strikes, met }
}

/** What a host is in, as far as the model knows. */
function stateOf({ pid, pids }: Host, record: string): string {
  const open = readRecord(record).some((call) => call.pid === pid && call.endedAt === undefined)
  return open ? 'turn' : pids.length === 0 ? 'boot' : 'rest'
}

async function lanesOf(host: Host): Promise<string> {
  const told = await host.order({ kind: 'lanes' }).then(({ lanes }) => JSON.stringify(lanes), String)
  return `${host.options.name} has ${told} and said ${JSON.stringify(host.words)}`
}

function openRuns(streams: Remains['streams']): readonly string[] {
  return [...streams.values()].flatMap((seen) => {
    const open = new Set<string>()
    for (const { entry } of seen) {
      if (entry.type === 'run/accepted') open.add(entry.data.runId)
      if (entry.type === 'run/settled') open.delete(entry.data.runId)
    }
    return [...open]
  })
}

/** @returns what is still not at rest when the time is over. */
async function untilRest(
  limitMs: number,
  look: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const since = machineTime()
  for (;;) {
    const restless = await look().catch((error: unknown) => [String(error)])
    if (restless.length === 0 || machineTime() - since > limitMs) return restless
    await pause(LOOK_MS)
  }
}

async function readSessions(log: DurableLog, ids: readonly string[]): Promise<Remains['sessions']> {
  const ctx = new Context()
  await ctx.plugin(SessionStore)
  ctx.provide('durableLog', log)
  await mount(ctx, BUILT.sessions, {})
  const persistence = ctx.get('sessionPersistence') as {
    inspect(id: SessionId): Promise<{ readonly events: readonly SessionEvent[] }>
  }
  const read = new Map<string, readonly SessionEvent[] | string>()
  for (const id of ids) {
    read.set(id, await persistence.inspect(SessionId(id)).then(({ events }) => events, String))
  }
  await ctx.fiber.dispose()
  return read
}

function figuresOf(times: readonly number[]): ChaosResult['takeoverMs'] {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0)
  return { count: sorted.length, median: at(0.5), p95: at(0.95), max: at(1) }
}

if (import.meta.main) {
  const [rounds = '5', seed = '1'] = process.argv.slice(2)
  const onRound = (text: string): void => void process.stderr.write(`${text}\n`)
  const result = await run({ rounds: Number(rounds), seed: Number(seed), onRound })
  process.stdout.write(`${JSON.stringify(result, undefined, 2)}\n`)
  process.exitCode = result.failed === 0 ? 0 : 1
}
