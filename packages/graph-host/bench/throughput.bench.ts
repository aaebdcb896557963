/**
 * [throughput] A graph of 5,000 works whose models answer at once, 8 at a time: what a work costs in the
 * last tenth of the graph over what it costs in the first. With it the rate, the memory and the size of
 * the log at the end.
 *
 * The works are there before the clock starts, as a draft; the root waits for all of them. Sessions are
 * JSONL files and the log is SQLite with durable commits.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { quantile, type BenchFigure } from '../../../scripts/figures.ts'
import { Stage } from './stage.ts'

const WORKS = 5_000
const TENTH = WORKS / 10
/** Works of one sample. */
const SAMPLE = 50
/** Of one update. */
const BATCH = 32

export async function run(): Promise<BenchFigure[]> {
  const stage = await Stage.set({ config: {}, operatorMs: 0 })
  try {
    await draftOf(stage)
    const before = heapBytes()
    const times = [performance.now()]
    let ended = 0
    const off = stage.onCommitted(({ counts }) => {
      for (; ended + SAMPLE <= counts.terminal; ended += SAMPLE) times.push(performance.now())
    })
    const isDone = stage.when(({ counts, works }) => works.size === WORKS && counts.pending === 0)
    await stage.call('update', { draft: 'commit' })
    await stage.call('yield', { until: 'all' })
    await isDone
    off()
    const { rss } = process.memoryUsage()
    const costs = times.slice(1).map((time, at) => (time - (times[at] ?? 0)) / SAMPLE)
    const first = quantile(costs.slice(0, TENTH / SAMPLE), 0.5)
    const last = quantile(costs.slice(-TENTH / SAMPLE), 0.5)
    const perSecond = (WORKS * 1_000) / ((times.at(-1) ?? 0) - (times[0] ?? 0))
    const megabytes = (bytes: number) => (bytes / 1_048_576).toFixed(0)
    const told = [
      `${perSecond.toFixed(0)} works/s`,
      `heap +${megabytes(heapBytes() - before)} MiB`,
      `rss ${megabytes(rss)} MiB`,
      `log ${megabytes(await stage.logBytes())} MiB`,
    ]
    return [
      {
        bench: 'throughput',
        median: quantile(costs, 0.5),
        p95: quantile(costs, 0.95),
        unit: 'ms a work',
        baseline: `cost of the last tenth over the first, ${first.toPrecision(3)} ms; ${told.join(', ')}`,
        ratio: last / first,
        n: WORKS,
      },
    ]
  } finally {
    await stage.strike()
  }
}

async function draftOf(stage: Stage): Promise<void> {
  for (let at = 0; at < WORKS; at += BATCH) {
    const addWork = Array.from({ length: Math.min(BATCH, WORKS - at) }, (_, offset) => ({
      workId: `w${at + offset}`,
      instruction: 'say done',
    }))
    await stage.call('update', { addWork, draft: 'open' })
  }
}

let collectGarbage: (() => void) | undefined

function heapBytes(): number {
  if (collectGarbage === undefined) {
    setFlagsFromString('--expose-gc')
    collectGarbage = runInNewContext('gc') as () => void
  }
  collectGarbage()
  return process.memoryUsage().heapUsed
}

if (import.meta.main) {
  for (const result of await run()) process.stdout.write(`${JSON.stringify(result)}\n`)
}
