/**
 * Scheduling without durability.
 *
 * [lane-throughput] 10,000 sessions with 10 runs each that do nothing but yield: runs a second, over those
 * of `p-queue` with one queue of concurrency 1 for each session. Ours keeps global lanes on top of that;
 * measured as wide as the sessions, and with the four slots of `main`.
 *
 * [lane-heap] What is left in memory when all are done, over what one run costs while queued.
 *
 * [lane-million] One operation on a million queued runs: the last tenth over the first.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import PQueue from 'p-queue'
import { quantile, rateFigureOf, type BenchFigure } from '../../../scripts/figures.ts'
import { EmbeddedLanes } from '../src/engines/embedded-lanes.ts'
import { Block, LaneState, type LaneItem } from '../src/lane-state.ts'

const SESSIONS = 10_000
const RUNS_EACH = 10
const ROUNDS = 7
const MILLION = 1_000_000
const MAIN = 4

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const yielding = async (): Promise<void> => undefined

export async function run(): Promise<BenchFigure[]> {
  return [...(await throughput()), await heap(), ...million()]
}

function stateOf(width: number): LaneState {
  const widths = new Map([['main', width]])
  return new LaneState({ engine: new EmbeddedLanes({ widths, ageMs: 30_000 }), widths, perTarget: [] })
}

function item(session: number, number: number): LaneItem {
  const id = `${session}/${number}`
  return { id, sessionId: `session-${session}`, lane: 'main', level: 1, collects: false }
}

/** Runs everything through the lanes. @returns runs that were done. */
async function throughLanes(width: number): Promise<number> {
  const state = stateOf(width)
  const allDone = Promise.withResolvers<void>()
  let done = 0
  const finish = (id: string): void => {
    done += 1
    state.finish(id, 0)
    pump()
    if (done === SESSIONS * RUNS_EACH) allDone.resolve()
  }
  const pump = (): void => {
    for (let next = state.next(0); next !== undefined; next = state.next(0)) {
      const { id } = next
      void yielding().then(() => finish(id))
    }
  }
  for (let number = 0; number < RUNS_EACH; number += 1) {
    for (let session = 0; session < SESSIONS; session += 1) {
      state.add(item(session, number), { at: 'end' }, 0)
      pump()
    }
  }
  await allDone.promise
  return done
}

async function throughQueues(): Promise<number> {
  const queues = new Map<string, PQueue>()
  let done = 0
  const work: Promise<unknown>[] = []
  for (let number = 0; number < RUNS_EACH; number += 1) {
    for (let session = 0; session < SESSIONS; session += 1) {
      const key = `session-${session}`
      let queue = queues.get(key)
      if (queue === undefined) queues.set(key, (queue = new PQueue({ concurrency: 1 })))
      work.push(queue.add(async () => void (await yielding(), (done += 1))))
    }
  }
  await Promise.all(work)
  return done
}

async function rateOf(side: () => Promise<number>): Promise<number> {
  collect()
  const begin = performance.now()
  const done = await side()
  return (done / (performance.now() - begin)) * 1000
}

async function throughput(): Promise<BenchFigure[]> {
  const wide: number[] = []
  const narrow: number[] = []
  const queues: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    wide.push(await rateOf(() => throughLanes(SESSIONS)))
    queues.push(await rateOf(throughQueues))
    narrow.push(await rateOf(() => throughLanes(MAIN)))
  }
  const baseline = 'p-queue with a queue a session'
  const against = { base: queues, baseline, each: SESSIONS * RUNS_EACH }
  return [
    rateFigureOf('lane-throughput', 'runs/s', { ...against, ours: wide }),
    rateFigureOf('lane-throughput with four slots', 'runs/s', { ...against, ours: narrow }),
  ]
}

/** Bytes that stay when every run is done, for each run; what a queued one takes is the baseline. */
async function heap(): Promise<BenchFigure> {
  await throughLanes(SESSIONS)
  const before = heapUsed()
  const state = stateOf(SESSIONS)
  const runs = SESSIONS * RUNS_EACH
  for (let session = 0; session < SESSIONS; session += 1) {
    for (let number = 0; number < RUNS_EACH; number += 1) state.add(item(session, number), { at: 'end' }, 0)
  }
  const queued = (heapUsed() - before) / runs
  for (let next = state.next(0); next !== undefined; next = state.next(0)) state.finish(next.id, 0)
  const left = (heapUsed() - before) / runs
  return {
    bench: 'lane-heap',
    median: left,
    p95: left,
    unit: 'B/run left',
    baseline: `${Math.round(queued)} B a queued run, its id and its session's share among them`,
    ratio: left / queued,
    n: runs,
  }
}

function heapUsed(): number {
  collect()
  return process.memoryUsage().heapUsed
}

function million(): BenchFigure[] {
  const state = stateOf(MILLION)
  const items = Array.from({ length: MILLION }, (_, index) => item(index % SESSIONS, index))
  for (let session = 0; session < SESSIONS; session += 1) state.block(`session-${session}`, Block.held, 0)
  const before = heapUsed()
  const adds = byTenths(items, (one) => state.add(one, { at: 'end' }, 0))
  const bytes = (heapUsed() - before) / MILLION
  // Every second one by its id, wherever it stands.
  const removes = byTenths(
    items.filter((_one, index) => index % 2 === 0),
    (one) => state.remove(one.id, 0),
  )
  for (let session = 0; session < SESSIONS; session += 1) state.unblock(`session-${session}`, Block.held, 0)
  const starts = byTenths(Array.from({ length: MILLION / 2 }), () => {
    const next = state.next(0)
    if (next !== undefined) state.finish(next.id, 0)
  })
  return [
    tenthsFigure('lane-million enqueue', adds, `${Math.round(bytes)} B an item besides its id`),
    tenthsFigure('lane-million remove by id', removes, 'half of them, each in the middle of its queue'),
    tenthsFigure('lane-million dequeue', starts, 'start and finish of the other half'),
  ]
}

/** Nanoseconds an operation takes, for each tenth of them. */
function byTenths<T>(all: readonly T[], operate: (one: T) => unknown): readonly number[] {
  const size = Math.floor(all.length / 10)
  return Array.from({ length: 10 }, (_, tenth) => {
    const part = all.slice(tenth * size, (tenth + 1) * size)
    const begin = performance.now()
    for (const one of part) operate(one)
    return ((performance.now() - begin) / size) * 1e6
  })
}

function tenthsFigure(bench: string, tenths: readonly number[], what: string): BenchFigure {
  const [first = Number.NaN] = tenths
  const last = tenths.at(-1) ?? Number.NaN
  return {
    bench,
    median: quantile(tenths, 0.5),
    p95: quantile(tenths, 0.95),
    unit: 'ns',
    baseline: `the first tenth, ${Math.round(first)} ns; ${what}`,
    ratio: last / first,
    n: tenths.length,
  }
}

if (import.meta.main) {
  for (const result of await run()) process.stdout.write(`${JSON.stringify(result)}\n`)
}
