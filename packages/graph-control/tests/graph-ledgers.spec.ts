import { memoryLog } from 'dsh-durable-log'
import { describe, expect, it } from 'vitest'
import { GraphLedgers } from '../src/graph-ledgers.ts'
import { commit, GRAPH, storeOn, work } from './fixture.ts'

async function opened() {
  const log = memoryLog()
  const store = await storeOn(log)
  await commit(store, 'c1', { addWork: [work('a')] })
  await commit(store, 'c2', { graphId: 'over', finish: { resultIds: [], reason: 'end' } })
  return new GraphLedgers(log, { announce: () => undefined, report: () => undefined })
}

describe('the ledgers of a store', () => {
  it('keep a graph that has entries, and let go of one that has none', async () => {
    const ledgers = await opened()
    const [held, empty] = [ledgers.of(GRAPH), ledgers.of('ghost')]
    expect([(await ledgers.read(GRAPH)).seq, (await ledgers.read('ghost')).seq]).toEqual([1, 0])
    expect(ledgers.of(GRAPH)).toBe(held)
    expect(ledgers.of('ghost')).not.toBe(empty)
  })

  it('do not let go of a graph whose first commit is under way', async () => {
    const ledgers = await opened()
    const ledger = ledgers.of('new')
    const committing = ledger.commit((state) => ({ entries: [], answer: () => state.seq }))
    await ledgers.read('new')
    expect(ledgers.of('new')).toBe(ledger)
    expect(await committing).toBe(0)
  })
})
