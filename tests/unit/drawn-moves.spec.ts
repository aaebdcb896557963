/**
 * The drawn state machines of works and wakes against what happens: every scenario of the published
 * conformance suite is played, its log is folded entry by entry, and no state is left in a way that
 * the drawing does not have.
 */
import { memoryLog, type DurableLog } from 'dsh-durable-log'
import { GraphControlStore, type GraphState } from 'dsh-graph-control'
import {
  findViolations,
  graphControlStoreConformanceChecks,
  graphControlStoreScenarios,
  graphStoreOnLog,
} from 'dsh-graph-control/testing'
import { beforeAll, describe, expect, it } from 'vitest'
import { snippetsOf } from '../support/snippets.ts'

const PREFIX = 'graph/'

/** `from --> to` for each move that was seen; `[*]` is where nothing was. */
const works = new Set<string>()
const wakes = new Set<string>()

let violations: readonly object[]

beforeAll(async () => {
  const logs: DurableLog[] = []
  const open = graphStoreOnLog(() => {
    const log = memoryLog()
    // The store closes what it was given; the entries are looked at afterwards.
    const kept: DurableLog = Object.assign(Object.create(log) as DurableLog, { close: async () => undefined })
    logs.push(kept)
    return { log: kept, reopen: async () => kept }
  })
  const clauses = [...graphControlStoreConformanceChecks, ...graphControlStoreScenarios]
  violations = await findViolations(open, clauses)
  for (const log of logs)
    for (const { stream } of (await log.list({ prefix: PREFIX })).streams) await replay(log, stream)
})

/** Folds a graph once for each of its entries. */
async function replay(log: DurableLog, stream: string): Promise<void> {
  const again = memoryLog()
  const store = await GraphControlStore.open(again)
  const graphId = stream.slice(PREFIX.length)
  let before: GraphState | undefined
  for (const { data, type } of await log.read(stream)) {
    await again.append(stream, 'any', [{ data, type }])
    const state = await store.readGraph(graphId)
    if (state === undefined) continue
    note(works, before?.works, state.works)
    note(wakes, before?.wakes, state.wakes)
    before = state
  }
  await store.close()
}

type Standing = ReadonlyMap<string, { readonly status: string }> | undefined

function note(moves: Set<string>, before: Standing, after: Standing): void {
  for (const [id, { status }] of after ?? []) {
    const from = before?.get(id)?.status ?? '[*]'
    if (from !== status) moves.add(`${from} --> ${status}`)
  }
}

/** Moves of a drawing, and what one entry makes of two of them by way of `through`. */
function drawn(at: number, through: readonly string[]): ReadonlySet<string> {
  const text = snippetsOf('docs/state-machines.md')[at]?.text ?? ''
  const moves = [...text.matchAll(/^\s*(\S+) --> ([^\s:]+)/gmu)].map(
    ([, from = '', to = '']) => [from, to] as const,
  )
  const joined = moves.flatMap(([from, over]) =>
    through.includes(over)
      ? moves.flatMap(([middle, to]) => (middle === over ? [[from, to] as const] : []))
      : [],
  )
  return new Set([...moves, ...joined].map(([from, to]) => `${from} --> ${to}`))
}

it('plays every scenario to its end', () => {
  expect(violations).toEqual([])
})

describe('the drawing', () => {
  it('of a work has every move that a scenario makes', () => {
    // An entry that makes a work wait may find that there is nothing to wait for.
    const known = drawn(0, ['waiting'])
    expect([...works].filter((move) => !known.has(move)).sort()).toEqual([])
    expect(works.size).toBeGreaterThan(15)
  })

  it('of a wake has every move that a scenario makes', () => {
    const known = drawn(2, ['pending'])
    expect([...wakes].filter((move) => !known.has(move)).sort()).toEqual([])
    expect(wakes.size).toBeGreaterThan(8)
  })
})
