/**
 * The lossless check against DSH's `isJsonValue`, on records as graphs end with them, and how it grows
 * with the size of the state. The ratio of the first figures is a rate over DSH's rate; of the sizes, the
 * cost of a megabyte over its cost in the smallest state.
 */
import { isJsonValue } from '@deepseek-ai/dsh-session'
import { findLossy } from '../src/lossless.ts'
import { figureOf, quantile, type BenchFigure } from '../../../scripts/figures.ts'

const MEGABYTE = 2 ** 20

type Shape = (id: number) => object

/** A row as databases and services give it. */
const row: Shape = (id) => ({
  id,
  name: `record ${id}`,
  email: `user${id}@example.org`,
  score: id / 7,
  active: id % 2 === 0,
  created: '2026-01-01T00:00:00Z',
  note: null,
  tags: ['alpha', 'beta', 'gamma'],
  place: { city: 'Oslo', zip: String(id), lat: id / 3, lon: id / 5 },
})

/** The same check at its dearest: short arrays, whose extra keys can only be found by listing all. */
const arrays: Shape = (id) => ({
  id,
  tags: ['alpha', 'beta', 'gamma'],
  nested: { at: id, path: ['a', 'b', String(id)] },
})

/** Records of one shape, together about `megabytes` of JSON. */
function records(shape: Shape, megabytes: number): unknown {
  const each = JSON.stringify(shape(1000)).length + 1
  return { records: Array.from({ length: Math.ceil((megabytes * MEGABYTE) / each) }, (_, id) => shape(id)) }
}

function times(rounds: number, work: () => boolean): number[] {
  return Array.from({ length: rounds }, () => {
    const start = performance.now()
    if (!work()) throw new Error('the records are lossless')
    return performance.now() - start
  })
}

/** Both by turns, a block each: a check must not pay for the garbage of the other. */
function race(value: unknown): { ours: number[]; theirs: number[] } {
  const ours = () => times(10, () => findLossy(value) === undefined)
  const theirs = () => times(10, () => isJsonValue(value))
  const blocks = Array.from({ length: 5 }, () => ({ ours: ours(), theirs: theirs() }))
  const warm = blocks.slice(1)
  return { ours: warm.flatMap((block) => block.ours), theirs: warm.flatMap((block) => block.theirs) }
}

function rate(bench: string, { ours, theirs }: ReturnType<typeof race>): BenchFigure {
  const [sorted, base] = [ours, quantile(theirs, 0.5)]
  const median = quantile(sorted, 0.5)
  return {
    bench,
    median,
    p95: quantile(sorted, 0.95),
    unit: 'ms/MB',
    baseline: `rate over the rate of isJsonValue, ${base.toPrecision(3)} ms/MB`,
    ratio: base / median,
    n: ours.length,
  }
}

/** Milliseconds a megabyte. */
function perMegabyte(megabytes: number, rounds: number): number[] {
  const value = records(row, megabytes)
  const check = () => findLossy(value) === undefined
  times(2, check)
  return times(rounds, check).map((time) => time / megabytes)
}

export async function run(): Promise<BenchFigure[]> {
  const rows = race(records(row, 1))
  const baseline = 'cost of a megabyte over its cost in 1 MB'
  return [
    rate('lossless', rows),
    rate('lossless-short-arrays', race(records(arrays, 1))),
    figureOf('lossless-10MB', 'ms/MB', { ours: perMegabyte(10, 10), base: rows.ours, baseline }),
    figureOf('lossless-100MB', 'ms/MB', { ours: perMegabyte(100, 3), base: rows.ours, baseline }),
  ]
}
