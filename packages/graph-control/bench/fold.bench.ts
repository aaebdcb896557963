/**
 * How fast a stream becomes a state, and how large that is.
 *
 * - `fold`: entries a second, over the 200,000 that are to be reached; of the fold alone, and with the
 *   check of each entry.
 * - `open`: milliseconds until a store on SQLite has read a graph of 100,000 entries, told what to do next
 *   and shown a page of its works, over the bound: 250 behind a snapshot, 1,500 without one.
 * - `memory`: bytes for each live work apart from its instruction, over the 1,500 that are allowed.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Entry, type JsonValue, sqliteLog } from 'dsh-durable-log'
import { type GraphEntry, graphStream, parseGraphEntry } from '../src/entries.ts'
import { foldAll } from '../src/fold.ts'
import { snapshotOf } from '../src/graph-snapshot.ts'
import { emptyGraph, type FoldedGraph } from '../src/graph-state.ts'
import { pendingWorks } from '../src/changes.ts'
import { GraphControlStore, reconcile } from '../src/index.ts'
import { type BenchFigure, quantile } from '../../../scripts/figures.ts'
import { benchGraphId, entriesOf, INSTRUCTION, write } from './graphs.ts'
import { timed } from './timing.ts'

const GRAPH = benchGraphId('fold')
/** 100,000 entries: an update for 32 works, and five entries for each that is done. */
const LONG = { works: 20_000, ended: 19_875, isRetried: true }
const FOLD_TARGET = 200_000
const MEMORY_TARGET = 1_500
const LIVE_WORKS = 20_000
const ROUNDS = 9
const PAGE = 2_000

export async function run(): Promise<BenchFigure[]> {
  // The stores first: whoever opens one does not hold its entries beside it.
  const opened = await openFigures()
  return [
    ...(await foldFigures()),
    ...opened,
    memoryFigure('a ready work', 0),
    memoryFigure('a ready work and its operator', LIVE_WORKS),
  ]
}

async function foldFigures(): Promise<BenchFigure[]> {
  const entries = entriesOf(GRAPH, LONG)
  const checked = (page: readonly GraphEntry[]) => page.map((entry) => parseGraphEntry(entry as Entry))
  return [
    await foldFigure('the fold alone', entries, (page) => page),
    await foldFigure('the fold, each entry checked', entries, checked),
  ]
}

/** In pages, as a stream is read. */
async function foldFigure(
  what: string,
  entries: readonly GraphEntry[],
  read: (page: readonly GraphEntry[]) => readonly GraphEntry[],
): Promise<BenchFigure> {
  const rates: number[] = []
  for (let round = -2; round < ROUNDS; round++) {
    const cost = await timed(() => {
      let state = emptyGraph(GRAPH)
      for (let done = 0; done < entries.length; done += PAGE) {
        state = foldAll(state, read(entries.slice(done, done + PAGE)))
      }
    })
    if (round >= 0) rates.push((entries.length * 1000) / cost)
  }
  const median = quantile(rates, 0.5)
  return {
    bench: 'fold',
    median,
    p95: quantile(rates, 0.05),
    p99: quantile(rates, 0.01),
    unit: 'entries/s',
    baseline: `a rate over ${FOLD_TARGET} entries/s; ${what}`,
    ratio: median / FOLD_TARGET,
    n: entries.length,
  }
}

async function openFigures(): Promise<BenchFigure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'graph-control-bench-'))
  const path = join(folder, 'log.sqlite')
  try {
    const log = sqliteLog({ path })
    await write(log, GRAPH, entriesOf(GRAPH, LONG))
    await log.close()
    const without = await openFigure(path, 'without a snapshot', 1_500)
    const writer = sqliteLog({ path })
    const store = await GraphControlStore.open(writer)
    const state = (await store.readGraph(GRAPH)) as FoldedGraph
    await writer.saveSnapshot(graphStream(GRAPH), state.seq, snapshotOf(state) as JsonValue)
    await store.close()
    await writer.close()
    return [await openFigure(path, 'behind a snapshot', 250), without]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function openFigure(path: string, how: string, target: number): Promise<BenchFigure> {
  const costs: number[] = []
  let seq = 0
  for (let round = -1; round < ROUNDS; round++) {
    const log = sqliteLog({ path })
    const cost = await timed(async () => {
      const store = await GraphControlStore.open(log)
      const state = (await store.readGraph(GRAPH)) as FoldedGraph
      reconcile(state, { maxNewActivations: 32 })
      pendingWorks(state, { limit: 64 })
      seq = state.seq
      await store.close()
    })
    await log.close()
    if (round >= 0) costs.push(cost)
  }
  const median = quantile(costs, 0.5)
  return {
    bench: 'open',
    median,
    p95: quantile(costs, 0.95),
    p99: quantile(costs, 0.99),
    unit: 'ms',
    baseline: `a cost over ${target} ms; ${seq} entries ${how}`,
    ratio: median / target,
    n: ROUNDS,
  }
}

function memoryFigure(what: string, provisioned: number): BenchFigure {
  const collect = collector()
  const sizes: number[] = []
  for (let round = 0; round < 3; round++) {
    const before = collect()
    let state: FoldedGraph | undefined = readState(provisioned)
    const held = collect() - before
    sizes.push(held / (state.works.size || 1) - INSTRUCTION.length)
    state = undefined
  }
  const median = quantile(sizes, 0.5)
  return {
    bench: 'memory',
    median,
    p95: quantile(sizes, 0.95),
    p99: quantile(sizes, 0.99),
    unit: 'B/work',
    baseline: `bytes over ${MEMORY_TARGET}; ${what}, instructions apart`,
    ratio: median / MEMORY_TARGET,
    n: LIVE_WORKS,
  }
}

/** Of entries as they come from a medium. A function of its own: nothing but the state outlives it. */
function readState(provisioned: number): FoldedGraph {
  const text = JSON.stringify(entriesOf(GRAPH, { works: LIVE_WORKS, provisioned }))
  return foldAll(emptyGraph(GRAPH), (JSON.parse(text) as Entry[]).map(parseGraphEntry))
}

/** Collects garbage, and answers with the bytes that are held. */
function collector(): () => number {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  return () => {
    gc()
    gc()
    return process.memoryUsage().heapUsed
  }
}
