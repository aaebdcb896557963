/**
 * Whether an operation costs the same on a large graph as on a small one: its cost at 10,000 works, and at
 * 100,000 records, over its cost at 100 works. In memory, so that no disk hides it. Sizes alternate.
 *
 * - `update-flat`: an update with one work, committed.
 * - `view-flat`: the state, a page of 64 pending works from the beginning, one from the middle, and the 64
 *   that ended last.
 * - `reconcile-flat`: a pure reconcile after one update, with 32 permits.
 */
import { memoryLog } from 'dsh-durable-log'
import { endedWorks, pendingWorks } from '../src/changes.ts'
import type { FoldedGraph } from '../src/graph-state.ts'
import { GraphControlStore, reconcile } from '../src/index.ts'
import type { BenchFigure } from '../../../scripts/figures.ts'
import { benchGraphId, entriesOf, type Size, updateOf, write } from './graphs.ts'
import { costFigure, timed } from './timing.ts'

const ROUNDS = 200
const WARM_UP_ROUNDS = 40
const OPERATIONS = 10
const PAGE = 64

const SMALL: Size = { works: 100, ended: 50 }
const LARGE: readonly (readonly [name: string, size: Size])[] = [
  ['10,000 works, 5,000 of them done', { works: 10_000, ended: 5_000 }],
  ['10,000 works, 100,000 records', { works: 10_000, ended: 5_000, records: 20 }],
]

interface Subject {
  readonly store: GraphControlStore
  readonly graphIds: readonly string[]
}

type Operation = (store: GraphControlStore, graphId: string, call: string) => Promise<number>

const OPERATION: Readonly<Record<string, Operation>> = {
  'update-flat': (store, graphId, call) => {
    const request = updateOf(graphId, call, 1)
    return timed(() => store.commitScheduleUpdate(request))
  },
  'view-flat': async (store, graphId) => {
    const { works } = (await store.readGraph(graphId)) ?? { works: new Map() }
    return timed(async () => {
      const state = (await store.readGraph(graphId)) as FoldedGraph
      pendingWorks(state, { limit: PAGE })
      pendingWorks(state, { afterOrdinal: Math.floor((works.size * 3) / 4), limit: PAGE })
      endedWorks(state, { limit: PAGE })
    })
  },
  'reconcile-flat': async (store, graphId, call) => {
    await store.commitScheduleUpdate(updateOf(graphId, call, 1))
    const state = (await store.readGraph(graphId)) as FoldedGraph
    return timed(() => reconcile(state, { maxNewActivations: 32, now: 0 }))
  },
}

export async function run(): Promise<BenchFigure[]> {
  const figures: BenchFigure[] = []
  for (const [name, size] of LARGE) {
    // Enough small graphs that each stays small while works are added.
    const small = await openGraphs('small', 40, SMALL)
    const large = await openGraphs('large', 1, size)
    for (const bench of Object.keys(OPERATION)) figures.push(await compare(bench, name, { small, large }))
    await small.store.close()
    await large.store.close()
  }
  return figures
}

async function openGraphs(name: string, count: number, size: Size): Promise<Subject> {
  const log = memoryLog()
  const graphIds = Array.from({ length: count }, (_, n) => benchGraphId(`${name}-${n}`))
  for (const graphId of graphIds) await write(log, graphId, entriesOf(graphId, size))
  const store = await GraphControlStore.open(log)
  for (const graphId of graphIds) await store.readGraph(graphId)
  return { store, graphIds }
}

async function compare(
  bench: string,
  name: string,
  { small, large }: { readonly small: Subject; readonly large: Subject },
): Promise<BenchFigure> {
  const operate = OPERATION[bench]
  const costs = { small: [] as number[], large: [] as number[] }
  for (let round = 0; round < ROUNDS + WARM_UP_ROUNDS; round++) {
    const sum = { small: 0, large: 0 }
    for (let operation = 0; operation < OPERATIONS; operation++) {
      const call = `${bench}-${round}-${operation}`
      const sides = operation % 2 === 0 ? (['small', 'large'] as const) : (['large', 'small'] as const)
      for (const side of sides) {
        const { store, graphIds } = side === 'small' ? small : large
        const graphId = graphIds[round % graphIds.length] ?? ''
        sum[side] += (await operate?.(store, graphId, call)) ?? 0
      }
    }
    if (round < WARM_UP_ROUNDS) continue
    costs.small.push(sum.small / OPERATIONS)
    costs.large.push(sum.large / OPERATIONS)
  }
  const baseline = `the cost at 100 works; ${name}`
  return costFigure({
    bench,
    baseline,
    ours: costs.large,
    base: costs.small,
    operations: ROUNDS * OPERATIONS,
  })
}
