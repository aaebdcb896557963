/**
 * SIGKILL in a real `dsh --profile headless` with the bundle, whose root supervises a graph of twelve
 * works. A round is one DSH home: its process dies twice and then may finish. Promises checked: the final
 * graph is the one of a run that nobody disturbed; each work was claimed and ended once; what had ended
 * before a kill did not run again after it; every accepted run has exactly one end; and no kind of kill
 * point is spared.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Random, randomFrom } from 'dsh-durable-log/testing'
import { readLogFile, type LogEntry } from '../../../tests/support/start-process.ts'
import { canonicalGraphs } from './canonical-graph.ts'
import { ROOT } from './chaos-runner.ts'
import { RUN_IDS } from './chaos-works.ts'
import { live, settle, type Home, type Life, type LifeOptions } from './headless-life.ts'
import { POINTS, type KillPoint, type Point } from './kill-point.ts'
import { inspect, markOf, type Findings, type Mark } from './log-findings.ts'

export interface ChaosFailure {
  readonly round: number
  /** Repeats the round by itself: `{ rounds: 1, seed }`. */
  readonly seed: number
  readonly text: string
}

/** `clock`: at a random moment, from outside. */
export type Killed = Point | 'clock'

export interface ChaosResult {
  readonly suite: 'graph'
  readonly rounds: number
  /** Rounds with a failure, and one more when a kill point was spared. */
  readonly failed: number
  /** Works that are missing at the end, and runs without an end. */
  readonly lost: number
  /** Works that ended twice, or ran although they had ended. */
  readonly doubled: number
  readonly failures: readonly ChaosFailure[]
  /** How many kills hit each point. */
  readonly kills: Readonly<Record<Killed, number>>
}

/** A work is given up when its third attempt is lost, so two kills are always survived. */
const KILLS = 2
const AIMS: readonly Killed[] = [...POINTS, 'clock']
/** The first kill of a round comes within so much of what an undisturbed run passes, the second soon after. */
const SHARES = [0.7, 0.2] as const
/** After the first line of the process; a whole run takes about as long. */
const KILL_WITHIN_MS = 800
/** From so many kills on, each point must be hit by so large a share of them. */
const JUDGED_KILLS = 40
const LEAST_SHARE = 0.05

interface Undisturbed {
  readonly graphs: string
  readonly answer: string
  readonly passed: KillPoint['passed']
}

/** Plays rounds one after the other; the processes need the machine to themselves. */
export async function run(options: { rounds: number; seed: number }): Promise<ChaosResult> {
  const undisturbed = await inNewHome(playUndisturbed)
  const failures: ChaosFailure[] = []
  const total = { failed: 0, lost: 0, doubled: 0 }
  const kills = Object.fromEntries(AIMS.map((aim) => [aim, 0])) as Record<Killed, number>
  for (let round = 0; round < options.rounds; round += 1) {
    const seed = options.seed + round
    const { lost, doubled, texts } = await inNewHome((home) => playRound(home, seed, undisturbed, kills))
    total.lost += lost
    total.doubled += doubled
    if (texts.length === 0) continue
    total.failed += 1
    failures.push(...texts.map((text) => ({ round, seed, text })))
  }
  const { rounds, seed } = options
  const spared = sparedPoints(kills)
  if (spared.length > 0) total.failed += 1
  failures.push(...spared.map((text) => ({ round: rounds - 1, seed, text })))
  return { suite: 'graph', rounds, ...total, failures, kills }
}

async function inNewHome<T>(play: (home: Home) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'graph-chaos-'))
  try {
    return await play(settle(folder))
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function playUndisturbed(home: Home): Promise<Undisturbed> {
  const life = await live(home, {})
  const done = endOf(life)
  const { texts } = inspect(entriesOf(home), RUN_IDS, [])
  if (done === undefined || texts.length > 0)
    throw new Error(`the run that nobody disturbs fails: ${[...texts, life.errors].join('\n')}`)
  const { answer, passed } = done
  return { graphs: await canonicalGraphs(home.log, ROOT), answer, passed }
}

async function playRound(
  home: Home,
  seed: number,
  undisturbed: Undisturbed,
  kills: Record<Killed, number>,
): Promise<Findings> {
  const random = randomFrom(seed)
  const marks: Mark[] = []
  const hung: string[] = []
  for (let kill = 0; kill < KILLS; kill += 1) {
    const aim = AIMS[(seed * KILLS + kill) % AIMS.length] ?? 'clock'
    const life = await live(home, deathAt(aim, undisturbed.passed, SHARES[kill] ?? 1, random))
    if (life.isHung) hung.push(`a process that was to die at ${aim} hung: ${life.errors}`)
    // Its graph was finished before.
    if (life.signal !== 'SIGKILL' || life.isHung) break
    kills[aim] += 1
    marks.push(markOf(entriesOf(home)))
  }
  // Also after a life that was not killed: an end that is asked for again stays the end.
  const last = await live(home, {})
  const findings = inspect(entriesOf(home), RUN_IDS, marks)
  findings.texts.push(...hung, ...(await complaintsAbout(home, last, undisturbed)))
  return findings
}

function deathAt(aim: Killed, passed: KillPoint['passed'], share: number, random: Random): LifeOptions {
  if (aim === 'clock') return { killAfterMs: random.below(Math.round(KILL_WITHIN_MS * share)) }
  const occurrence = 1 + random.below(Math.max(1, Math.round(passed[aim] * share)))
  return { aim: { point: aim, occurrence } }
}

function entriesOf({ log }: Home): readonly LogEntry[] {
  return existsSync(log) ? readLogFile(log) : []
}

function endOf({ reports }: Life) {
  return reports.find((report) => report.kind === 'done')
}

async function complaintsAbout(home: Home, last: Life, undisturbed: Undisturbed): Promise<string[]> {
  if (last.isHung) return [`the last process hung: ${last.errors.trim()}`]
  const done = endOf(last)
  if (done === undefined) return [`the last process ended with ${last.code}: ${last.errors.trim()}`]
  const texts: string[] = []
  if (done.answer !== undisturbed.answer) texts.push(`the root answers ${JSON.stringify(done.answer)}`)
  const graphs = await canonicalGraphs(home.log, ROOT)
  if (graphs !== undisturbed.graphs)
    texts.push(`the graph differs: ${differenceOf(undisturbed.graphs, graphs)}`)
  return texts
}

/** The first lines in which two texts differ. */
function differenceOf(expected: string, found: string): string {
  const [left, right] = [expected.split('\n'), found.split('\n')]
  const at = left.findIndex((line, index) => line !== right[index])
  return `${(right[at] ?? 'nothing').trim()} in place of ${(left[at] ?? 'nothing').trim()} (line ${at + 1})`
}

function sparedPoints(kills: Readonly<Record<Killed, number>>): string[] {
  const all = Object.values(kills).reduce((sum, count) => sum + count, 0)
  if (all < JUDGED_KILLS) return []
  return POINTS.filter((point) => kills[point] < all * LEAST_SHARE).map(
    (point) => `only ${kills[point]} of ${all} kills hit "${point}"`,
  )
}
