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
import type { BenchFigure } from '../../../scripts/figures.ts'
import { compare } from './compare.ts'
import { ENTRY, STREAM } from './workload.ts'

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
