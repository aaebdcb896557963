/**
 * What durability costs on SQLite, as ratios measured in one run.
 *
 * - `append-single`: one durable append after the other, against a raw prepared INSERT of the same
 *   bytes into a table of the same layout with the same pragmas.
 * - `append-concurrent`: 64 appends at once, against 64 one after the other.
 *
 * Rounds of both sides alternate, so that a slower disk for a while slows both.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type DurableLog, sqliteLog } from 'dsh-durable-log'
import { quantile, type BenchFigure } from '../../../scripts/figures.ts'

/** Runs so many operations and resolves when they are durable. */
type Side = (operations: number) => Promise<void> | void

interface Comparison {
  readonly bench: string
  readonly baseline: string
  readonly rounds: number
  readonly operations: number
  readonly measured: Side
  readonly reference: Side
}

const STREAM = 'graph/0197c4a2-8f0e-7d31-b2a5-6f4e9d1c0b7a'
const ENTRY = {
  type: 'graph/claimed',
  data: {
    workId: 'work-17',
    claimId: 'claim-3',
    turnId: 'turn-9',
    runId: 'run-9',
    attempt: 1,
    note: 'x'.repeat(160),
  },
}
const WARM_UP_ROUNDS = 5

export async function run(): Promise<BenchFigure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'durable-log-bench-'))
  const log = sqliteLog({ path: join(folder, 'log.sqlite') })
  const raw = await openRaw(join(folder, 'raw.sqlite'))
  try {
    const single = await compare({
      bench: 'append-single',
      baseline: 'raw prepared INSERT',
      rounds: 60,
      operations: 64,
      measured: (operations) => appendInTurn(log, operations),
      reference: raw.insert,
    })
    const concurrent = await compare({
      bench: 'append-concurrent',
      baseline: '64 sequential appends',
      rounds: 60,
      operations: 64,
      measured: (operations) => appendAtOnce(log, operations),
      reference: (operations) => appendInTurn(log, operations),
    })
    return [single, concurrent]
  } finally {
    raw.close()
    await log.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function appendInTurn(log: DurableLog, operations: number): Promise<void> {
  for (let index = 0; index < operations; index += 1) await log.append(STREAM, 'any', [ENTRY])
}

async function appendAtOnce(log: DurableLog, operations: number): Promise<void> {
  await Promise.all(Array.from({ length: operations }, () => log.append(STREAM, 'any', [ENTRY])))
}

/** A file laid out by the package itself, then written to with nothing in between. */
async function openRaw(path: string): Promise<{ insert: (operations: number) => void; close: () => void }> {
  const log = sqliteLog({ path })
  await log.append('first', 0, [ENTRY])
  await log.close()
  const database = new DatabaseSync(path)
  database.exec('PRAGMA journal_mode = WAL')
  database.exec('PRAGMA synchronous = FULL')
  const statement = database.prepare(
    `INSERT INTO entries (stream, seq, format, appended_at, type, data, checksum) VALUES (?, ?, 1, ?, ?, ?, ?)`,
  )
  const text = JSON.stringify(ENTRY.data)
  let seq = 0
  return {
    insert: (operations) => {
      for (let index = 0; index < operations; index += 1) {
        seq += 1
        statement.run(STREAM, seq, Date.now(), ENTRY.type, text, 0x9e3779b9)
      }
    },
    close: () => database.close(),
  }
}

async function compare(comparison: Comparison): Promise<BenchFigure> {
  const { rounds, operations, measured, reference } = comparison
  const rates: number[] = []
  const ratios: number[] = []
  for (let round = -WARM_UP_ROUNDS; round < rounds; round += 1) {
    const measuredFirst = round % 2 === 0
    const first = await rateOf(measuredFirst ? measured : reference, operations)
    const second = await rateOf(measuredFirst ? reference : measured, operations)
    if (round < 0) continue
    const [rate, baseline] = measuredFirst ? [first, second] : [second, first]
    rates.push(rate)
    ratios.push(rate / baseline)
  }
  return {
    bench: comparison.bench,
    median: quantile(rates, 0.5),
    p95: quantile(rates, 0.05),
    unit: 'appends/s',
    baseline: comparison.baseline,
    ratio: quantile(ratios, 0.5),
    n: rounds * operations,
  }
}

/** Operations a second. */
async function rateOf(side: Side, operations: number): Promise<number> {
  const start = performance.now()
  await side(operations)
  return (operations * 1000) / (performance.now() - start)
}
