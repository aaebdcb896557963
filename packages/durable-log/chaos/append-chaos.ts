/**
 * Kills a writing process at chosen and at random moments and looks at what it left.
 *
 * Rounds come in runs over one file: each round opens what the last kill left, so recovery itself is
 * killed into now and then. Rounds aim at the phases of the writer in turn (phases.ts), and count
 * where it really died. Promises checked: the log opens; every acknowledged batch of all rounds of
 * the file is there exactly once, at the seq that was acknowledged; every batch is whole; a removed
 * stream is gone, and one whose removal was not acknowledged is gone or whole; and no phase escapes
 * the kills.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextMacrotask } from 'node:timers/promises'
import { type Random, randomFrom } from 'dsh-durable-log/testing'
import { createPhaseFile, type Phase, PhaseReader, PHASES } from './phases.ts'
import { Promises } from './promises.ts'

export interface ChaosResult {
  readonly suite: 'store'
  readonly rounds: number
  /** Rounds with any failure, and one more when a phase was hit too seldom. */
  readonly failed: number
  /** Acknowledged batches that are gone. */
  readonly lost: number
  /** Batches that are there more than once. */
  readonly doubled: number
  /** How many kills hit each phase; from 20 rounds on, fewer say nothing. */
  readonly kills?: Readonly<Record<Phase, number>>
  readonly failures: readonly ChaosFailure[]
}

export interface ChaosFailure {
  readonly round: number
  readonly seed: number
  readonly text: string
}

type Aim = Exclude<Phase, 'between'> | 'anywhere'

interface Target {
  readonly aim: Aim
  /** The writer asks to be killed at this occurrence of the phase, counted from 1. */
  readonly occurrence: number
  /** How long after that the kill follows. */
  readonly delayUs: number
}

interface Killed {
  readonly notes: string
  /** Where the writer died. */
  readonly phase: Phase
}

const ROUNDS_PER_FILE = 10
const HISTOGRAM_ROUNDS = 20
/** From so many rounds on, each of these phases must be hit by so large a share of the kills. */
const JUDGED_ROUNDS = 40
const JUDGED_PHASES: readonly Phase[] = ['append', 'commit', 'acknowledge', 'read', 'snapshot', 'remove']
const LEAST_SHARE = 0.05

/** Aims in turn, each with the bounds of its random occurrence and delay. */
const AIMS: readonly { readonly aim: Aim; readonly occurrences: number; readonly delaysUs: number }[] = [
  { aim: 'opening', occurrences: 1, delaysUs: 3000 },
  { aim: 'append', occurrences: 300, delaysUs: 300 },
  { aim: 'commit', occurrences: 400, delaysUs: 500 },
  { aim: 'acknowledge', occurrences: 100, delaysUs: 300 },
  { aim: 'read', occurrences: 40, delaysUs: 300 },
  { aim: 'snapshot', occurrences: 60, delaysUs: 500 },
  { aim: 'remove', occurrences: 20, delaysUs: 500 },
  { aim: 'anywhere', occurrences: 1500, delaysUs: 1500 },
]

export async function run(options: { rounds: number; seed: number }): Promise<ChaosResult> {
  const folder = mkdtempSync(join(tmpdir(), 'durable-log-chaos-'))
  const failures: ChaosFailure[] = []
  const total = { failed: 0, lost: 0, doubled: 0 }
  const kills = Object.fromEntries(PHASES.map((phase) => [phase, 0])) as Record<Phase, number>
  let promises = new Promises()
  try {
    for (let round = 0; round < options.rounds; round += 1) {
      if (round % ROUNDS_PER_FILE === 0) promises = new Promises()
      const seed = options.seed + round
      const path = join(folder, `log-${Math.floor(round / ROUNDS_PER_FILE)}.sqlite`)
      const killed = await killWriter(folder, path, `r${round}`, seed)
      promises.note(killed.notes)
      kills[killed.phase] += 1
      const findings = await promises.inspect(path)
      total.lost += findings.lost
      total.doubled += findings.doubled
      if (findings.texts.length === 0) continue
      total.failed += 1
      failures.push(...findings.texts.map((text) => ({ round, seed, text })))
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const { rounds, seed } = options
  const spared = sparedPhases(kills, rounds)
  if (spared.length > 0) total.failed += 1
  failures.push(...spared.map((text) => ({ round: rounds - 1, seed, text })))
  const histogram = rounds < HISTOGRAM_ROUNDS ? {} : { kills }
  return { suite: 'store', rounds, ...total, ...histogram, failures }
}

/** Complaints about phases that too few kills hit. */
function sparedPhases(kills: Readonly<Record<Phase, number>>, rounds: number): string[] {
  if (rounds < JUDGED_ROUNDS) return []
  return JUDGED_PHASES.filter((phase) => kills[phase] < rounds * LEAST_SHARE).map(
    (phase) => `only ${kills[phase]} of ${rounds} kills hit the phase "${phase}"`,
  )
}

/** The seed decides the aim too, so that it repeats a round by itself. */
function targetOf(seed: number, random: Random): Target {
  const { aim, occurrences, delaysUs } = AIMS[seed % AIMS.length] ?? {
    aim: 'anywhere',
    occurrences: 1,
    delaysUs: 1,
  }
  return { aim, occurrence: 1 + random.below(occurrences), delayUs: random.below(delaysUs) }
}

/** Runs the writer, kills it in the middle of its work, and returns what it noted. */
async function killWriter(folder: string, path: string, label: string, seed: number): Promise<Killed> {
  const { aim, occurrence, delayUs } = targetOf(seed, randomFrom(seed))
  const notes = join(folder, 'notes')
  const phases = join(folder, 'phases')
  writeFileSync(notes, '')
  createPhaseFile(phases)
  const reader = new PhaseReader(phases)
  const script = join(import.meta.dirname, 'append-writer.ts')
  const child = spawn(
    process.execPath,
    [script, path, notes, phases, label, String(seed), aim, String(occurrence)],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const closed = once(child, 'close')
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text))
  try {
    while (!reader.isAtAim) {
      if (child.exitCode !== null)
        throw new Error(`the writer of round ${label} ended by itself: ${complaint}`)
      await nextMacrotask()
    }
    spin(delayUs)
    child.kill('SIGKILL')
    await closed
    return { notes: readFileSync(notes, 'utf8'), phase: reader.phase }
  } finally {
    reader.close()
  }
}

/** Burns the time: a timer would be too coarse to hit the inside of a commit. */
function spin(microseconds: number): void {
  const end = performance.now() + microseconds / 1000
  while (performance.now() < end);
}
