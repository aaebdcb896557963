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
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Aim,
  type ChaosFailure,
  type ChaosResult,
  histogramOf,
  killWriter,
  noKills,
  sparedPhases,
} from './killer.ts'
import type { Phase } from './phases.ts'
import { Promises } from './promises.ts'

const SCRIPT = join(import.meta.dirname, 'append-writer.ts')
const ROUNDS_PER_FILE = 10
const JUDGED_PHASES: readonly Phase[] = ['append', 'commit', 'acknowledge', 'read', 'snapshot', 'remove']

/** Aims in turn, each with the bounds of its random occurrence and delay. */
const AIMS: readonly Aim[] = [
  { aim: 'opening', occurrences: 1, delaysUs: 3000 },
  { aim: 'append', occurrences: 300, delaysUs: 300 },
  { aim: 'commit', occurrences: 400, delaysUs: 500 },
  { aim: 'acknowledge', occurrences: 100, delaysUs: 300 },
  { aim: 'read', occurrences: 40, delaysUs: 300 },
  { aim: 'snapshot', occurrences: 60, delaysUs: 500 },
  { aim: 'remove', occurrences: 20, delaysUs: 500 },
  { aim: 'anywhere', occurrences: 1500, delaysUs: 1500 },
]

export async function run(options: { rounds: number; seed: number }): Promise<ChaosResult<'log'>> {
  const folder = mkdtempSync(join(tmpdir(), 'durable-log-chaos-'))
  const failures: ChaosFailure[] = []
  const total = { failed: 0, lost: 0, doubled: 0 }
  const kills = noKills()
  let promises = new Promises()
  try {
    for (let round = 0; round < options.rounds; round += 1) {
      if (round % ROUNDS_PER_FILE === 0) promises = new Promises()
      const seed = options.seed + round
      const path = join(folder, `log-${Math.floor(round / ROUNDS_PER_FILE)}.sqlite`)
      const killed = await killWriter({ script: SCRIPT, aims: AIMS, folder, path, label: `r${round}`, seed })
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
  const spared = sparedPhases(kills, rounds, JUDGED_PHASES)
  if (spared.length > 0) total.failed += 1
  failures.push(...spared.map((text) => ({ round: rounds - 1, seed, text })))
  return { suite: 'log', rounds, ...total, ...histogramOf(kills, rounds), failures }
}
