/**
 * Starts a writing process, kills it at an aim with SIGKILL, and says where it died. Suites share it.
 *
 * Owns: the child, the wait for its aim, the histogram of where kills hit. Does not own: what the writer
 * does and what it promised.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextMacrotask } from 'node:timers/promises'
import { randomFrom } from 'dsh-durable-log/testing'
import { createPhaseFile, type Phase, PhaseReader, PHASES } from './phases.ts'

/** What a suite reports. */
export interface ChaosResult<S extends string> {
  readonly suite: S
  readonly rounds: number
  /** Rounds with any failure, and one more when a phase was hit too seldom. */
  readonly failed: number
  /** Acknowledged writes that are gone. */
  readonly lost: number
  /** Writes that are there more than once. */
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

export interface Aim {
  readonly aim: Exclude<Phase, 'between'> | 'anywhere'
  /** Bound of the random occurrence of the phase, counted from 1, at which the writer asks to be killed. */
  readonly occurrences: number
  /** Bound of the random time after that until the kill. */
  readonly delaysUs: number
}

export interface Killed {
  readonly notes: string
  /** Where the writer died. */
  readonly phase: Phase
}

export interface Round {
  /** The writer; its arguments are path, notes, phases, label, seed, aim, occurrence. */
  readonly script: string
  readonly aims: readonly Aim[]
  /** For the notes and the phases of the round. */
  readonly folder: string
  readonly path: string
  readonly label: string
  /** Decides the aim too, so that it repeats a round by itself. */
  readonly seed: number
}

const HISTOGRAM_ROUNDS = 20
/** From so many rounds on, each judged phase must be hit by so large a share of the kills. */
const JUDGED_ROUNDS = 40
const LEAST_SHARE = 0.05

/** Runs the writer, kills it in the middle of its work, and returns what it noted. */
export async function killWriter({ script, aims, folder, path, label, seed }: Round): Promise<Killed> {
  const random = randomFrom(seed)
  const { aim, occurrences, delaysUs } = aims[seed % aims.length] ?? {
    aim: 'anywhere',
    occurrences: 1,
    delaysUs: 1,
  }
  const [occurrence, delayUs] = [1 + random.below(occurrences), random.below(delaysUs)]
  const notes = join(folder, 'notes')
  const phases = join(folder, 'phases')
  writeFileSync(notes, '')
  createPhaseFile(phases)
  const reader = new PhaseReader(phases)
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

export function noKills(): Record<Phase, number> {
  return Object.fromEntries(PHASES.map((phase) => [phase, 0])) as Record<Phase, number>
}

export function histogramOf(
  kills: Readonly<Record<Phase, number>>,
  rounds: number,
): { kills?: Readonly<Record<Phase, number>> } {
  return rounds < HISTOGRAM_ROUNDS ? {} : { kills }
}

/** Complaints about phases that too few kills hit. */
export function sparedPhases(
  kills: Readonly<Record<Phase, number>>,
  rounds: number,
  judged: readonly Phase[],
): string[] {
  if (rounds < JUDGED_ROUNDS) return []
  return judged
    .filter((phase) => kills[phase] < rounds * LEAST_SHARE)
    .map((phase) => `only ${kills[phase]} of ${rounds} kills hit the phase "${phase}"`)
}

/** Burns the time: a timer would be too coarse to hit the inside of a commit. */
function spin(microseconds: number): void {
  const end = performance.now() + microseconds / 1000
  while (performance.now() < end);
}
