/**
 * What a durable append on PostgreSQL costs, as ratios measured in one run on one server that syncs
 * every commit.
 *
 * - `postgres-append`: one append after the other, against a prepared single-row INSERT of the same
 *   bytes into a table of the same layout, on one connection of the same client library.
 * - `postgres-append-concurrent`: 64 appends at once, against 64 such INSERTs at once over as many
 *   connections as the log has.
 *
 * `DATABASE_URL` selects a server; else one is started. Rounds of both sides alternate.
 */
import { randomBytes } from 'node:crypto'
import { Pool } from 'pg'
import { type DurableLog, postgresLog } from 'dsh-durable-log'
import type { BenchFigure } from '../../../scripts/figures.ts'
import { startPostgres } from '../tests/support/postgres-server.ts'
import { compare } from './compare.ts'
import { ENTRY, STREAM } from './workload.ts'

const CONNECTIONS = 4
const CONCURRENT = 64

export async function run(): Promise<BenchFigure[]> {
  const outside = process.env['DATABASE_URL']
  const server = outside === undefined || outside === '' ? await startPostgres() : undefined
  const connectionString = server?.url ?? outside ?? ''
  const schema = `bench_${randomBytes(6).toString('hex')}`
  const log = postgresLog({ connectionString, schema, poolSize: CONNECTIONS })
  const pool = new Pool({ connectionString, max: CONNECTIONS })
  try {
    await log.append(STREAM, 0, [ENTRY])
    await pool.query(
      `CREATE TABLE ${schema}.raw (LIKE ${schema}.entries INCLUDING DEFAULTS INCLUDING INDEXES)`,
    )
    const insert = rawInsert(pool, schema)
    return [
      await compare({
        bench: 'postgres-append',
        baseline: 'raw prepared INSERT',
        rounds: 40,
        operations: 50,
        measured: (operations) => inTurn(operations, () => append(log)),
        reference: (operations) => inTurn(operations, insert),
      }),
      await compare({
        bench: 'postgres-append-concurrent',
        baseline: `${CONCURRENT} raw INSERTs at once`,
        rounds: 40,
        operations: CONCURRENT,
        measured: (operations) => atOnce(operations, () => append(log)),
        reference: (operations) => atOnce(operations, insert),
      }),
    ]
  } finally {
    await log.close()
    await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    await pool.end()
    await server?.stop()
  }
}

function append(log: DurableLog): Promise<unknown> {
  return log.append(STREAM, 'any', [ENTRY])
}

function rawInsert(pool: Pool, schema: string): () => Promise<unknown> {
  const text = JSON.stringify(ENTRY.data)
  let seq = 0
  return () => {
    seq += 1
    return pool.query({
      name: 'raw',
      text: `INSERT INTO ${schema}.raw (stream, seq, format, appended_at, type, data, checksum)
             VALUES ($1, $2, 2, $3, $4, $5, $6)`,
      values: [STREAM, seq, Date.now(), ENTRY.type, text, 0x9e3779b9],
    })
  }
}

async function inTurn(operations: number, act: () => Promise<unknown>): Promise<void> {
  for (let index = 0; index < operations; index += 1) await act()
}

async function atOnce(operations: number, act: () => Promise<unknown>): Promise<void> {
  await Promise.all(Array.from({ length: operations }, act))
}
