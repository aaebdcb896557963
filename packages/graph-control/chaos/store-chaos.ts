/**
 * Kills a process that drives the graph store on SQLite, at chosen and at random moments, and looks at
 * what it left.
 *
 * Rounds come in runs over one file: each round's writer goes on from what the last kill left. Rounds
 * aim at the phases in turn, and count where the writer really died. Promises checked: the store opens
 * and reads every graph; every acknowledged transition of all rounds of the file is there exactly once;
 * none that was not acknowledged is half there; every text is whole; and no phase escapes the kills.
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
} from '../../durable-log/chaos/killer.ts'
import type { Phase } from '../../durable-log/chaos/phases.ts'
import { StorePromises } from './store-promises.ts'

const SCRIPT = join(import.meta.dirname, 'store-writer.ts')
const ROUNDS_PER_FILE = 10
const JUDGED_PHASES: readonly Phase[] = ['append', 'commit', 'acknowledge', 'read', 'snapshot']

/** Aims in turn, each with the bounds of its random occurrence and delay. */
const AIMS: readonly Aim[] = [
  { aim: 'opening', occurrences: 1, delaysUs: 3000 },
  { aim: 'append', occurrences: 300, delaysUs: 300 },
  { aim: 'commit', occurrences: 400, delaysUs: 500 },
  { aim: 'acknowledge', occurrences: 200, delaysUs: 300 },
  { aim: 'read', occurrences: 200, delaysUs: 300 },
  { aim: 'snapshot', occurrences: 3, delaysUs: 500 },
  { aim: 'anywhere', occurrences: 1500, delaysUs: 1500 },
]

export async function run(options: { rounds: number; seed: number }): Promise<ChaosResult<'store'>> {
  const folder = mkdtempSync(join(tmpdir(), 'graph-control-chaos-'))
  const failures: ChaosFailure[] = []
  const total = { failed: 0, lost: 0, doubled: 0 }
  const kills = noKills()
  let promises = new StorePromises()
  try {
    for (let round = 0; round < options.rounds; round += 1) {
      if (round % ROUNDS_PER_FILE === 0) promises = new StorePromises()
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
  return { suite: 'store', rounds, ...total, ...histogramOf(kills, rounds), failures }
}
