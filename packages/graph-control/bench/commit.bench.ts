/**
 * What the store adds to a durable write on SQLite, for graphs of 100, 1,000 and 10,000 works. Costs over
 * that of a raw prepared INSERT of the bytes of an update: lower is better. Operations of all sides
 * alternate, so that a slower disk for a while slows all.
 *
 * - `commit`: an update with one work.
 * - `claim-begin`: claiming a work and beginning it, which are two commits.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteLog } from 'dsh-durable-log'
import { GraphControlStore } from '../src/index.ts'
import type { BenchFigure } from '../../../scripts/figures.ts'
import { benchGraphId, claimOf, entriesOf, updateOf, write } from './graphs.ts'
import { openRaw, type RawTable } from './raw-insert.ts'
import { costFigure, timed } from './timing.ts'

const ROUNDS = 60
const OPERATIONS = 8
const WARM_UP_ROUNDS = 5

export async function run(): Promise<BenchFigure[]> {
  const results: BenchFigure[] = []
  for (const works of [100, 1_000, 10_000]) results.push(...(await commitAt(works)))
  return results
}

async function commitAt(works: number): Promise<BenchFigure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'graph-control-bench-'))
  const log = sqliteLog({ path: join(folder, 'log.sqlite') })
  const raw = await openRaw(join(folder, 'raw.sqlite'))
  const store = await GraphControlStore.open(log)
  try {
    // A small graph would not stay small under one sequence of rounds.
    const graphs = Array.from({ length: works < 10_000 ? 16 : 1 }, (_, n) => benchGraphId(`commit-${n}`))
    const claims = Math.ceil(((ROUNDS + WARM_UP_ROUNDS) * OPERATIONS) / graphs.length) + OPERATIONS
    const provisioned = Math.min(works, claims)
    const ready = new Map<string, string[]>()
    for (const graphId of graphs) {
      await write(log, graphId, entriesOf(graphId, { works, provisioned }))
      const state = await store.readGraph(graphId)
      ready.set(graphId, [...(state?.live.ready.keys() ?? [])].slice(0, provisioned))
    }
    return await measure({ works, store, raw, ready })
  } finally {
    await store.close()
    await log.close()
    raw.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Subject {
  readonly works: number
  readonly store: GraphControlStore
  readonly raw: RawTable
  /** Works with an operator, by graph. */
  readonly ready: ReadonlyMap<string, string[]>
}

async function measure({ works, store, raw, ready }: Subject): Promise<BenchFigure[]> {
  const graphs = [...ready.keys()]
  const costs = { commit: [] as number[], claim: [] as number[], insert: [] as number[] }
  for (let round = 0; round < ROUNDS + WARM_UP_ROUNDS; round++) {
    const graphId = graphs[round % graphs.length] ?? ''
    const sum = { commit: 0, claim: 0, insert: 0 }
    for (let operation = 0; operation < OPERATIONS; operation++) {
      const request = updateOf(graphId, `call-${round}-${operation}`, 1)
      const text = JSON.stringify({ v: 1, at: Date.now(), update: request })
      const workId = ready.get(graphId)?.pop() ?? ''
      const claim = claimOf(graphId, workId)
      const { revision = 0 } = (await store.readGraph(graphId)) ?? {}
      const commit = async () => (sum.commit += await timed(() => store.commitScheduleUpdate(request)))
      const admit = async () => {
        const held = (await store.readGraph(graphId))?.revision ?? revision
        sum.claim += await timed(async () => {
          await store.claimIntentAtScheduleRevision(claim, held)
          await store.beginAgentGraphIntentExecutionAtScheduleRevision(graphId, claim.intentId, held)
        })
      }
      const insert = async () => (sum.insert += await timed(() => raw.insert('update', text)))
      const sides = [commit, admit, insert]
      for (let side = 0; side < sides.length; side++) await sides[(side + operation) % sides.length]?.()
    }
    if (round < WARM_UP_ROUNDS) continue
    costs.commit.push(sum.commit / OPERATIONS)
    costs.claim.push(sum.claim / OPERATIONS)
    costs.insert.push(sum.insert / OPERATIONS)
  }
  const baseline = `cost of a raw INSERT of the update's bytes; ${works} works`
  const shared = { baseline, base: costs.insert, operations: ROUNDS * OPERATIONS }
  return [
    costFigure({ bench: 'commit', ours: costs.commit, ...shared }),
    costFigure({ bench: 'claim-begin', ours: costs.claim, ...shared }),
  ]
}
