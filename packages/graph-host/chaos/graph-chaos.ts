/**
 * Kills the process of a supervised graph with SIGKILL at random moments and starts it again until it
 * ends. Promises checked on the log that is left: the graph is completed, each work ended once, what
 * had ended before a kill did not run again after it, and every accepted run has exactly one end.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Random, randomFrom } from 'dsh-durable-log/testing'
import { readLogFile, runStart, type LogEntry, type StartEnd } from '../../../tests/support/start-process.ts'
import { inspect, markOf, type Findings, type Mark } from './log-findings.ts'

export interface ChaosFailure {
  readonly round: number
  /** Repeats the round by itself: `{ rounds: 1, seed }`. */
  readonly seed: number
  readonly text: string
}

export interface ChaosResult {
  readonly suite: 'graph'
  readonly rounds: number
  readonly failed: number
  /** Works that are missing at the end, and runs without an end. */
  readonly lost: number
  /** Works that ended twice, or ran although they had ended. */
  readonly doubled: number
  readonly failures: readonly ChaosFailure[]
}

/** The works of the graph that `start` supervises. */
const WORK_IDS = ['survey', 'measure', 'report']
/** A work is given up when its third attempt is lost, so two kills are always survived. */
const MAX_KILLS = 2
/** After the first line of the process; a whole run takes about as long. */
const KILL_WITHIN_MS = 1_200
/** A start that takes longer hangs. */
const HANGS_AFTER_MS = 60_000

interface Started {
  readonly end: StartEnd
  /** Set when the process was still alive when its time came. */
  readonly killed: boolean
  readonly hung: boolean
}

/** @param killAfterMs none: the process runs to its end. */
async function start(args: readonly string[], killAfterMs: number | undefined): Promise<Started> {
  const run = runStart(args)
  let killed = false
  let hung = false
  const kill = () => run.process.kill('SIGKILL')
  const watchdog = setTimeout(() => (hung = kill()), HANGS_AFTER_MS)
  let timer: ReturnType<typeof setTimeout> | undefined
  if (killAfterMs !== undefined)
    run
      .line(() => true)
      .then(
        () => (timer = setTimeout(() => (killed = kill()), killAfterMs)),
        // It ended without a word; its exit code tells.
        () => undefined,
      )
  const end = await run.end
  clearTimeout(watchdog)
  clearTimeout(timer)
  return { end, killed: killed && end.code === null, hung }
}

function entriesOf(state: string): readonly LogEntry[] {
  const file = join(state, 'home', 'graph', 'log.sqlite')
  return existsSync(file) ? readLogFile(file) : []
}

function complaintsAbout({ end, hung }: Started): string[] {
  if (hung) return [`start hung; it said ${JSON.stringify(end.lines.at(-1) ?? {})}`]
  const result = end.lines.at(-1) ?? {}
  const texts = end.code === 0 ? [] : [`start ended with ${end.code}: ${end.stderr.trim()}`]
  if (result['status'] !== 'completed') texts.push(`the result is ${JSON.stringify(result)}`)
  const works = (result['works'] ?? []) as readonly { workId: string; status: string }[]
  for (const workId of WORK_IDS) {
    const status = works.find((work) => work.workId === workId)?.status ?? 'missing'
    if (status !== 'completed') texts.push(`work ${workId} is ${status}`)
  }
  return texts
}

async function playRound(state: string, random: Random): Promise<Findings> {
  const marks: Mark[] = []
  const kills = 1 + random.below(MAX_KILLS)
  let args = ['--json', '--state', state]
  for (let kill = 0; kill < kills; kill += 1) {
    const started = await start(args, random.below(KILL_WITHIN_MS))
    if (!started.killed) break
    marks.push(markOf(entriesOf(state)))
    args = ['--json', '--resume', '--state', state]
  }
  // Also after a start that was not killed: an end that is asked for again stays the end.
  const last = await start(['--json', '--resume', '--state', state], undefined)
  const findings = inspect(entriesOf(state), WORK_IDS, marks)
  findings.texts.push(...complaintsAbout(last))
  return findings
}

/** Plays rounds one after the other; the processes need the machine to themselves. */
export async function run(options: { rounds: number; seed: number }): Promise<ChaosResult> {
  const failures: ChaosFailure[] = []
  const total = { failed: 0, lost: 0, doubled: 0 }
  for (let round = 0; round < options.rounds; round += 1) {
    const seed = options.seed + round
    const folder = mkdtempSync(join(tmpdir(), 'graph-chaos-'))
    try {
      const { lost, doubled, texts } = await playRound(join(folder, 'state'), randomFrom(seed))
      total.lost += lost
      total.doubled += doubled
      if (texts.length === 0) continue
      total.failed += 1
      failures.push(...texts.map((text) => ({ round, seed, text })))
    } finally {
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    }
  }
  return { suite: 'graph', rounds: options.rounds, ...total, failures }
}
