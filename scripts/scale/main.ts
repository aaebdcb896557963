/**
 * `pnpm scale`: measures hosts on this machine and compares them with the model. `pnpm scale --model`:
 * the model alone, from the committed figures. Both say what 1,000 hosts and 1,000,000 sessions need,
 * and put the tables into `docs/scale.md` in both languages.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Bench, type Load, type Measured } from './measure.ts'
import { agreement, DATABASES, type Figures, split } from './predict.ts'
import { machineLine, measuredTable, splitTable, timesTable, writeTables } from './tables.ts'

const FIGURES = join(import.meta.dirname, 'figures.json')

/** Update, operator, claim, begin, accept: see `host-process.ts`. */
const APPENDS_BEFORE = 5

const { values } = parseArgs({
  options: {
    model: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
  },
})

const LOADS: readonly Load[] = [8, 32].flatMap((sessionsPerHost) =>
  [1, 2, 3, 4].map((hosts) => ({ hosts, sessionsPerHost, waitMs: 200 })),
)

async function measure(seconds: number, rounds: number): Promise<Figures> {
  const bench = await Bench.open()
  try {
    const { appendsPerTurn, latencies, times } = await bench.serviceTimes(seconds)
    console.log(JSON.stringify({ times, latencies, appendsPerTurn }, undefined, 2))
    const all: Measured[] = []
    for (let round = 0; round < rounds; round += 1)
      for (const load of LOADS) {
        const measured = await bench.measure(load, seconds)
        console.log(JSON.stringify(measured))
        all.push(measured)
      }
    return {
      machine: `${cpus().length}x ${cpus()[0]?.model ?? 'unknown'}`,
      node: process.version,
      load: loadavg()
        .map((load) => load.toFixed(1))
        .join(' '),
      cores: cpus().length,
      times,
      appendsBefore: APPENDS_BEFORE,
      appendsAfter: Math.round(appendsPerTurn) - APPENDS_BEFORE,
      latencies,
      measured: all,
    }
  } finally {
    await bench.close()
  }
}

function committed(): Figures {
  return JSON.parse(readFileSync(FIGURES, 'utf8')) as Figures
}

const figures = values.model ? committed() : await measure(Number(values.seconds), Number(values.rounds))
if (!values.model) writeFileSync(FIGURES, `${JSON.stringify(figures, undefined, 2)}\n`)
const tables = {
  machine: machineLine(figures),
  times: timesTable(figures),
  measured: measuredTable(agreement(figures)),
  databases: splitTable(DATABASES.map((databases) => split(figures, databases))),
}
for (const table of Object.values(tables)) console.log(`${table}\n`)
writeTables(tables)
