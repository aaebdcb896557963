/**
 * [commit] What the store adds to a durable append on SQLite: an update with one work, committed to
 * a graph of 100, 1,000 and 10,000 works, against a bare append of the same entry to a stream of its
 * own in the same file. Costs: lower is better. Operations of both sides alternate, so that a slower
 * disk for a while slows both.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DurableLog, type Entry, sqliteLog } from 'dsh-durable-log'
import {
  epochGraphId,
  GraphControlStore,
  graphUpdateId,
  graphWorkId,
  LIMITS,
  type ScheduleUpdateRequest,
  stableHash,
} from '../src/index.ts'
import { quantile, type BenchFigure } from '../../../scripts/figures.ts'

const ROUNDS = 60
const OPERATIONS = 8
const WARM_UP_ROUNDS = 5
const INSTRUCTION =
  'Read the module, list what its callers rely on, and say what a change would break. '.repeat(4)

export async function run(): Promise<BenchFigure[]> {
  const results: BenchFigure[] = []
  for (const works of [100, 1_000, 10_000]) results.push(await commitAt(works))
  return results
}

async function commitAt(works: number): Promise<BenchFigure> {
  const folder = mkdtempSync(join(tmpdir(), 'graph-control-bench-'))
  const log = sqliteLog({ path: join(folder, 'log.sqlite') })
  const store = await GraphControlStore.open(log)
  try {
    // A small graph would not stay small under one sequence of rounds.
    const graphIds = Array.from({ length: works < 10_000 ? 16 : 1 }, (_, n) => epochGraphId(`root-${n}`, 1))
    for (const graphId of graphIds) await fill(store, graphId, works)
    return await measure({ works, store, log, graphIds })
  } finally {
    await store.close()
    await log.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function fill(store: GraphControlStore, graphId: string, works: number): Promise<void> {
  for (let added = 0; added < works; added += LIMITS.addWork) {
    const count = Math.min(LIMITS.addWork, works - added)
    await store.commitScheduleUpdate(updateOf(graphId, `fill-${added}`, count))
  }
}

interface Subject {
  readonly works: number
  readonly store: GraphControlStore
  readonly log: DurableLog
  readonly graphIds: readonly string[]
}

async function measure({ works, store, log, graphIds }: Subject): Promise<BenchFigure> {
  const costs: number[] = []
  const ratios: number[] = []
  let seq = 0
  for (let round = 0; round < ROUNDS + WARM_UP_ROUNDS; round++) {
    const graphId = graphIds[round % graphIds.length] ?? ''
    let [committing, appending] = [0, 0]
    for (let operation = 0; operation < OPERATIONS; operation++) {
      const request = updateOf(graphId, `call-${round}-${operation}`, 1)
      const entry = { type: 'update', data: { v: 1, at: Date.now(), update: request } } as unknown as Entry
      const commit = async () => (committing += await timed(() => store.commitScheduleUpdate(request)))
      const append = async () => {
        appending += await timed(() => log.append('bare', seq, [entry]))
        seq += 1
      }
      for (const side of operation % 2 === 0 ? [commit, append] : [append, commit]) await side()
    }
    if (round < WARM_UP_ROUNDS) continue
    costs.push(committing / OPERATIONS)
    ratios.push(committing / appending)
  }
  return {
    bench: 'commit',
    median: quantile(costs, 0.5),
    p95: quantile(costs, 0.95),
    unit: 'ms',
    baseline: `cost of a bare durable append of the same entry; ${works} works`,
    ratio: quantile(ratios, 0.5),
    n: ROUNDS * OPERATIONS,
  }
}

async function timed(operate: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await operate()
  return performance.now() - start
}

function updateOf(graphId: string, toolCallId: string, count: number): ScheduleUpdateRequest {
  const source = { sessionId: 'root', runId: 'graph_run_1', turnId: 'graph_turn_1', toolCallId }
  const updateId = graphUpdateId({ graphId, ...source })
  const addWork = Array.from({ length: count }, (_, index) => ({
    workId: graphWorkId(updateId, index),
    target: { kind: 'agent', id: 'default' } as const,
    instruction: INSTRUCTION,
    inputIds: [],
  }))
  return {
    schemaVersion: 1,
    updateId,
    updateFingerprint: stableHash({ graphId, addWork }),
    graphId,
    source,
    addWork,
    stop: [],
  }
}
