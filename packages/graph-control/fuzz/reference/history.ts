/**
 * Plays a history on several stores over one log and on the reference, and compares after each step.
 *
 * A history is plain data, so that a failing one can be kept as it is.
 */
import { deepStrictEqual, fail } from 'node:assert/strict'
import { type DurableLog, memoryLog } from 'dsh-durable-log'
import { snapshotOf } from '../../src/graph-snapshot.ts'
import type { FoldedGraph } from '../../src/graph-state.ts'
import { GraphControlError, GraphControlStore, type GraphState, type Work } from '../../src/index.ts'
import { compareChanges, compareGraph, compareOutline } from './compare.ts'
import { type Asked, ask, type OperationName } from './operations.ts'
import { Dice, graphIds, ROOT } from './requests.ts'
import { refused, type Verdict } from './verdict.ts'
import { hasCircle } from './works.ts'
import { graphOf, newWorld, type RefLease, type RefWorld, take, underLease } from './world.ts'

/** Plain data: which operation, by which store, on which graph, under which lease, with which numbers. */
export type Step =
  | {
      readonly do: OperationName
      readonly by: number
      readonly on: number
      readonly lease: number
      readonly dice: readonly number[]
    }
  /** Several at once, each by another store. */
  | { readonly together: readonly Extract<Step, { do: OperationName }>[] }
  /** A store is closed and opened anew; with `snapshot` of each graph saved before. */
  | { readonly reopen: number; readonly snapshot: boolean }
  | { readonly take: number; readonly by: number; readonly on: number }

type Single = Extract<Step, { do: OperationName }>

export const STORES = 3

/** What was reached: operations taken and refused, and what became of works and graphs. */
export type Tally = Map<string, number>

export async function play(steps: readonly Step[], tally: Tally = new Map()): Promise<void> {
  const history = new History(tally)
  await history.open()
  try {
    for (const [index, step] of steps.entries()) await history.step(step, index)
    await history.compareAll()
    history.tellEnds()
  } finally {
    await history.close()
  }
}

interface Attempted {
  readonly asked: Asked & { readonly name: string }
  readonly single: Single
  readonly outcome: { readonly error: unknown } | { readonly answer: unknown }
}

class History {
  private readonly log: DurableLog = memoryLog()
  private stores: GraphControlStore[] = []
  private world: RefWorld = newWorld()
  private now = 1_000
  /** An earlier state of each graph, with its works. */
  private readonly earlier = new Map<string, { seq: number; works: ReadonlyMap<string, Work> }>()
  private readonly contained: unknown[] = []
  private readonly tally: Tally

  constructor(tally: Tally) {
    this.tally = tally
  }

  /** What became of the works, for the tally. */
  tellEnds(): void {
    for (const { works } of this.world.graphs) {
      for (const { over, items, retries, replacedBy } of works) {
        this.count(`work ${over?.status ?? 'live'}`)
        if (items !== undefined) this.count(`join ${over?.status ?? 'live'}`)
        if (retries > 0) this.count(`retried ${over?.status ?? 'live'}`)
        if (replacedBy !== undefined) this.count(`replaced ${over?.status ?? 'live'}`)
      }
    }
  }

  private count(what: string): void {
    this.tally.set(what, (this.tally.get(what) ?? 0) + 1)
  }

  async open(): Promise<void> {
    for (let index = 0; index < STORES; index += 1) this.stores.push(await this.newStore())
  }

  async close(): Promise<void> {
    await Promise.all(this.stores.map((store) => store.close()))
    await this.log.close()
  }

  async step(step: Step, index: number): Promise<void> {
    this.now += 1 + (index % 7)
    if ('do' in step) await this.together([step], index)
    else if ('together' in step) await this.together(step.together, index)
    else if ('take' in step) await this.take(step)
    else await this.reopen(step.reopen % STORES, step.snapshot)
    deepStrictEqual(this.contained, [], 'something had to be contained')
  }

  /** All stores, one that folds from the beginning, and one that goes on from snapshots. */
  async compareAll(): Promise<void> {
    await this.reopen(0, false)
    await this.reopen(1, true)
    for (const graphId of graphIds()) {
      const graph = graphOf(this.world, graphId)
      for (const store of this.stores) compareGraph(await store.readGraph(graphId), graph)
    }
  }

  private newStore(): Promise<GraphControlStore> {
    return GraphControlStore.open(this.log, {
      now: () => this.now,
      report: (error) => this.contained.push(error),
    })
  }

  private async reopen(index: number, snapshot: boolean): Promise<void> {
    const before = this.stores[index]
    if (before === undefined) return
    for (const graphId of snapshot ? graphIds() : []) {
      const state = (await before.readGraph(graphId)) as FoldedGraph | undefined
      // Through text and back, as a medium does it.
      if (state === undefined) continue
      const saved = JSON.parse(JSON.stringify(snapshotOf(state))) as ReturnType<typeof snapshotOf>
      await this.log.saveSnapshot(`graph/${graphId}`, state.seq, saved)
    }
    await before.close()
    const store = await this.newStore()
    this.stores[index] = store
    for (const graphId of graphIds())
      compareGraph(await store.readGraph(graphId), graphOf(this.world, graphId))
  }

  private async take(step: Extract<Step, { take: number }>): Promise<void> {
    const graphId = graphIds()[step.on % graphIds().length] ?? ''
    const lease = leaseOf(step.take)
    if (lease === undefined) return
    const store = this.storeOf(step.by)
    const outcome = await attempted(() => store.leased(held(lease)).takeGraph(graphId))
    const graph = graphOf(this.world, graphId)
    const verdict = underLease(graph, lease, () => {
      if (graph.seq > 0) take(graph, lease)
      return { wrote: false, answer: {} }
    })
    const complaint = complaintOf(undefined, outcome, verdict)
    if (complaint !== undefined) fail(complaint)
    compareGraph(await store.readGraph(graphId), graph)
  }

  private storeOf(index: number): GraphControlStore {
    const store = this.stores[index % STORES]
    return store ?? fail('no store')
  }

  /** There must be an order in which the reference says the same. */
  private async together(singles: readonly Single[], index: number): Promise<void> {
    const attempts = await Promise.all(
      singles.map(async (single, place): Promise<Attempted> => {
        const graph = graphOf(this.world, idOf(single))
        const dice = new Dice(single.dice)
        const asked = ask(single.do, { graph, dice, at: this.now, call: `${index}.${place}` })
        const lease = asked.isOfRoot === true ? undefined : leaseOf(single.lease)
        const plain = this.storeOf(single.by + place)
        const store = lease === undefined ? plain : plain.leased(held(lease))
        return { asked, single, outcome: await attempted(() => asked.run(store)) }
      }),
    )
    const before = this.world
    let complaint: unknown
    for (const order of ordersOf(attempts)) {
      const world = order.length === 1 ? before : structuredClone(before)
      try {
        for (const one of order) judge(world, one)
        this.world = world
        if (singles.some((single) => single.do === 'purge')) await this.forget(singles[0])
        // Which order it was shows in everything only.
        const isWhole = singles.length > 1 || index % 5 === 0
        await this.compareTouched(singles, isWhole ? compareGraph : compareOutline)
        for (const { asked, outcome } of order) {
          this.count(`${asked.name} ${'error' in outcome ? 'refused' : 'taken'}`)
        }
        return
      } catch (error) {
        complaint ??= error
        this.world = before
      }
    }
    throw complaint
  }

  private async compareTouched(singles: readonly Single[], compare: typeof compareGraph): Promise<void> {
    for (const [place, single] of singles.entries()) {
      const graphId = idOf(single)
      const graph = graphOf(this.world, graphId)
      const state = await this.storeOf(single.by + place).readGraph(graphId)
      compare(state, graph)
      if (hasCircle(graph)) fail('works wait for each other')
      if (state !== undefined) this.compareEarlier(state)
    }
  }

  /**
   * Graphs are gone, and may come again under the same names. A store that has one in memory cannot
   * tell an equally long new stream from the old one, so purging is for when nobody else has.
   */
  private async forget(purged: Single | undefined): Promise<void> {
    this.earlier.clear()
    for (const index of this.stores.keys()) {
      if (index !== (purged?.by ?? 0) % STORES) await this.reopen(index, false)
    }
  }

  private compareEarlier(state: GraphState): void {
    const earlier = this.earlier.get(state.graphId)
    if (earlier !== undefined && earlier.seq <= state.seq && state.seq - earlier.seq < 8) {
      compareChanges(state, earlier.works, earlier.seq)
    } else this.earlier.set(state.graphId, { seq: state.seq, works: state.works })
  }
}

function idOf({ on }: Single): string {
  return graphIds()[on % graphIds().length] ?? ''
}

function leaseOf(number: number): RefLease | undefined {
  if (number === 0) return undefined
  return { rootSessionId: ROOT, epoch: number, holderId: `holder${number}` }
}

function held(lease: RefLease) {
  return { ...lease, assertHeld: () => lease }
}

async function attempted(act: () => Promise<unknown>): Promise<Attempted['outcome']> {
  try {
    return { answer: await act() }
  } catch (error) {
    return { error }
  }
}

function judge(world: RefWorld, { asked, single, outcome }: Attempted): void {
  const graph = graphOf(world, idOf(single))
  const lease = asked.isOfRoot === true ? undefined : leaseOf(single.lease)
  const mayBeEmpty = asked.isOfRoot === true || asked.mayBeEmpty === true
  const isMissing = graph.seq === 0 && !mayBeEmpty
  const verdict = underLease(graph, lease, () =>
    isMissing ? refused('graph-not-found') : asked.judge(graph, world),
  )
  const complaint = complaintOf(asked, outcome, verdict)
  if (complaint !== undefined) fail(`${asked.name}: ${complaint}`)
}

function complaintOf(
  asked: Asked | undefined,
  outcome: Attempted['outcome'],
  verdict: Verdict,
): string | undefined {
  if ('error' in outcome) {
    const { error } = outcome
    if (!(error instanceof GraphControlError))
      return `failed with ${String(error instanceof Error ? error.stack : error)}`
    if ('refused' in verdict && verdict.refused.includes(error.code)) return undefined
    const said = 'refused' in verdict ? `refuses it as ${verdict.refused.join(' or ')}` : 'allows it'
    return `refused with ${error.code}: ${error.message}; the reference ${said}`
  }
  if ('refused' in verdict) return `taken; the reference refuses it as ${verdict.refused.join(' or ')}`
  const told = asked?.told?.(outcome.answer as never)
  if (told !== undefined) deepStrictEqual(told, verdict.answer, 'the answer')
  return undefined
}

function ordersOf<T>(values: readonly T[]): T[][] {
  if (values.length <= 1) return [[...values]]
  return values.flatMap((value, index) =>
    ordersOf(values.toSpliced(index, 1)).map((rest) => [value, ...rest]),
  )
}
