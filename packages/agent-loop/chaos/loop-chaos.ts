/**
 * SIGKILL at random moments of a real `dsh --profile headless`. A round is one DSH home: a process accepts
 * numbered runs on three sessions and is killed one to three times, then it may finish. Afterwards every
 * accepted run has exactly one terminal entry, no run's message stands twice in a session, and the
 * messages stand in the order in which their runs were accepted.
 *
 * `node loop-chaos.ts [rounds] [seed]` prints the figures.
 */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteLog } from 'dsh-durable-log'
import { follow, setStage, start, type Life, type Stage } from './headless-process.ts'
import { SESSIONS, type Report } from './headless-runner.ts'

export interface ChaosOptions {
  readonly rounds: number
  readonly seed: number
}

export interface ChaosResult {
  readonly suite: 'loop'
  readonly rounds: number
  readonly failed: number
  /** Acknowledged runs without a terminal entry. */
  readonly lost: number
  /** Runs with more than one terminal entry, or whose message stands twice in its session. */
  readonly doubled: number
  readonly failures: Array<{ round: number; seed: number; text: string }>
  /**
   * What the kills hit: `boot`, nothing was told yet; `accepting`, not every run was accepted;
   * `turns`, runs were under way; `rest`, every run was settled. Aimed at in equal shares.
   */
  readonly kills: Readonly<Record<string, number>>
}

const MOMENTS = ['boot', 'accepting', 'turns', 'rest'] as const
type Moment = (typeof MOMENTS)[number]

const RUNS = 24
const LIFE_LIMIT_MS = 60_000
/** A boot takes about as long. */
const BOOT_MS = 900

interface Findings {
  lost: number
  doubled: number
  readonly problems: string[]
}

export async function run(options: ChaosOptions): Promise<ChaosResult> {
  const failures: ChaosResult['failures'] = []
  const kills: Record<string, number> = {}
  let lost = 0
  let doubled = 0
  for (let round = 0; round < options.rounds; round += 1) {
    const seed = (options.seed + round * 0x9e37_79b9) >>> 0
    const found = await playRound(randomOf(seed), kills)
    lost += found.lost
    doubled += found.doubled
    for (const text of found.problems) failures.push({ round, seed, text })
  }
  const failed = new Set(failures.map((failure) => failure.round)).size
  return { suite: 'loop', rounds: options.rounds, failed, lost, doubled, failures, kills }
}

async function playRound(random: () => number, kills: Record<string, number>): Promise<Findings> {
  const folder = await mkdtemp(join(tmpdir(), 'loop-chaos-'))
  const stage = setStage(folder)
  const acked = new Map<number, string>()
  try {
    const lives = 1 + Math.floor(random() * 3)
    for (let life = 0; life < lives; life += 1) {
      const { reports } = await liveAndDie(stage, acked.size, random)
      remember(acked, reports)
      const moment = reports.length === 0 ? 'boot' : await momentOf(stage)
      kills[moment] = (kills[moment] ?? 0) + 1
    }
    const last = await liveToTheEnd(stage, acked.size)
    remember(acked, last.reports)
    return await examine(stage, acked, last)
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

function remember(acked: Map<number, string>, reports: readonly Report[]): void {
  for (const line of reports) if (line.kind === 'ack') acked.set(line.index, line.runId)
}

/** Read from what the kill left on the medium. */
async function momentOf({ database }: Stage): Promise<Moment> {
  if (!existsSync(database)) return 'boot'
  const log = sqliteLog({ path: database })
  try {
    const counts: Record<string, number> = {}
    for (const sessionId of SESSIONS) {
      for (const { type } of await log.read(`run/${sessionId}`)) counts[type] = (counts[type] ?? 0) + 1
    }
    const { 'run/accepted': accepted = 0, 'run/settled': settled = 0 } = counts
    return accepted < RUNS ? 'accepting' : settled < RUNS ? 'turns' : 'rest'
  } finally {
    await log.close()
  }
}

/** Kills the process around a moment that is drawn, some milliseconds after what tells of it. */
async function liveAndDie(stage: Stage, from: number, random: () => number): Promise<Life> {
  const open = from < RUNS ? MOMENTS : MOMENTS.filter((moment) => moment !== 'accepting')
  const moment = open[Math.floor(random() * open.length)] ?? 'boot'
  const lines = moment === 'boot' ? 0 : linesUntil(moment, from, random)
  const delayMs = random() * (moment === 'boot' ? BOOT_MS : 4)
  const child = start(stage, `${from} ${RUNS}`)
  let timer: NodeJS.Timeout | undefined
  const kill = (): void => {
    timer ??= setTimeout(() => child.kill('SIGKILL'), delayMs)
  }
  if (lines === 0) kill()
  const life = await follow(child, (reports) => {
    if (reports.length >= lines) kill()
  })
  clearTimeout(timer)
  return life
}

/** How many lines a life says before a moment of it: one, then an ack each, then a settlement each. */
function linesUntil(moment: Exclude<Moment, 'boot'>, from: number, random: () => number): number {
  const acks = RUNS - from
  switch (moment) {
    case 'accepting':
      return 1 + Math.floor(random() * acks)
    case 'turns':
      return 1 + acks + Math.floor(random() * (RUNS - 2))
    case 'rest':
      return 1 + acks + RUNS
  }
}

async function liveToTheEnd(stage: Stage, from: number): Promise<Life> {
  const child = start(stage, `${from} ${RUNS}`)
  const timer = setTimeout(() => child.kill('SIGKILL'), LIFE_LIMIT_MS)
  const life = await follow(child, () => undefined)
  clearTimeout(timer)
  return life
}

async function examine(
  { database }: Stage,
  acked: ReadonlyMap<number, string>,
  last: Life,
): Promise<Findings> {
  const found: Findings = { lost: 0, doubled: 0, problems: [] }
  const told = last.reports.findLast((line) => line.kind === 'sessions')
  if (last.code !== 0 || told?.kind !== 'sessions') {
    found.problems.push(`the last life ended with code ${last.code}: ${last.errors.slice(-2000)}`)
  }
  const log = sqliteLog({ path: database })
  try {
    for (const sessionId of SESSIONS) {
      const stream = readStream(await log.read(`run/${sessionId}`))
      const sent = told?.kind === 'sessions' ? (told.messages[sessionId] ?? []) : []
      const expected = [...acked].flatMap(([index, runId]) =>
        SESSIONS[index % SESSIONS.length] === sessionId ? [runId] : [],
      )
      examineSession(sessionId, stream, expected, sent, found)
    }
  } finally {
    await log.close()
  }
  return found
}

interface Stream {
  /** Run id and message id, in the order of acceptance. */
  readonly accepted: readonly (readonly [runId: string, messageId: string])[]
  readonly terminal: ReadonlyMap<string, number>
}

function readStream(entries: readonly { type: string; data: unknown }[]): Stream {
  const accepted: [string, string][] = []
  const terminal = new Map<string, number>()
  for (const { type, data } of entries) {
    const { runId, messageId = '' } = data as { runId: string; messageId?: string }
    if (type === 'run/accepted') accepted.push([runId, messageId])
    if (type === 'run/settled') terminal.set(runId, (terminal.get(runId) ?? 0) + 1)
  }
  return { accepted, terminal }
}

function examineSession(
  sessionId: string,
  { accepted, terminal }: Stream,
  expected: readonly string[],
  sent: readonly string[],
  found: Findings,
): void {
  const known = new Set(accepted.map(([runId]) => runId))
  for (const runId of new Set([...expected, ...known])) {
    const endings = known.has(runId) ? (terminal.get(runId) ?? 0) : 0
    if (endings === 1) continue
    if (endings === 0) found.lost += 1
    else found.doubled += 1
    found.problems.push(`${sessionId}: run ${runId} has ${endings} terminal entries`)
  }
  const ofRuns = sent.filter((id) => accepted.some(([, messageId]) => messageId === id))
  for (const id of new Set(ofRuns)) {
    const times = ofRuns.filter((other) => other === id).length
    if (times === 1) continue
    found.doubled += 1
    found.problems.push(`${sessionId}: message ${id} stands ${times} times in the session`)
  }
  const inOrder = accepted.map(([, messageId]) => messageId).filter((id) => ofRuns.includes(id))
  if (inOrder.join() !== [...new Set(ofRuns)].join()) {
    found.problems.push(`${sessionId}: messages stand out of order`)
  }
}

/** A small seeded generator (mulberry32), numbers from 0 to below 1. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b_79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

if (import.meta.main) {
  const [rounds = '10', seed = '1'] = process.argv.slice(2)
  const result = await run({ rounds: Number(rounds), seed: Number(seed) })
  process.stdout.write(`${JSON.stringify(result, undefined, 2)}\n`)
  process.exitCode = result.failed === 0 ? 0 : 1
}
