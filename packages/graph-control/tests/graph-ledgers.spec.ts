import { memoryLog } from 'dsh-durable-log'
import { faultyLog } from 'dsh-durable-log/testing'
import { describe, expect, it } from 'vitest'
import { GraphLedgers } from '../src/graph-ledgers.ts'
import { commit, GRAPH, storeOn, work } from './fixture.ts'

const finish = { resultIds: [], reason: 'end' }

/** Ledgers over one open graph and `finished` finished ones, and how often their streams were read whole. */
async function opened(finished = 1) {
  const inner = memoryLog()
  const store = await storeOn(inner)
  await commit(store, 'c1', { addWork: [work('a')] })
  for (let n = 1; n <= finished; n++) await commit(store, `over${n}`, { graphId: `over${n}`, finish })
  const loads: string[] = []
  const log = faultyLog(inner, [
    { at: 'before-load', fault: 'call', call: (call) => loads.push(call.stream) },
  ])
  const ledgers = new GraphLedgers(log, { announce: () => undefined, report: () => undefined })
  return { ledgers, loads, store }
}

describe('the ledgers of a store', () => {
  it('keep a graph that has entries, and let go of one that has none', async () => {
    const { ledgers, loads } = await opened()
    for (const graphId of [GRAPH, 'ghost', GRAPH, 'ghost']) await ledgers.read(graphId)
    expect([ledgers.size, loads]).toEqual([1, [`graph/${GRAPH}`, 'graph/ghost', 'graph/ghost']])
  })

  it('do not let go of a graph whose first commit is under way', async () => {
    const { ledgers, loads } = await opened()
    const committing = ledgers.commit('new', (state) => ({ entries: [], answer: () => state.seq }))
    await ledgers.read('new')
    expect(await committing).toBe(0)
    expect(loads).toEqual(['graph/new'])
  })

  it('keep the last few finished graphs, and every open one', async () => {
    const { ledgers, loads } = await opened(8)
    await ledgers.read(GRAPH)
    for (let n = 1; n <= 8; n++) await ledgers.read(`over${n}`)
    expect(ledgers.size).toBe(5)
    loads.length = 0
    await ledgers.read('over8')
    await ledgers.read(GRAPH)
    expect(loads).toEqual([])
    await ledgers.read('over1')
    expect([ledgers.size, loads]).toEqual([5, ['graph/over1']])
  })

  it('list a finished graph without looking at it again, until its stream is another', async () => {
    const { ledgers, loads, store } = await opened(6)
    const open = [{ graphId: GRAPH, rootSessionId: undefined }]
    expect(await ledgers.listOpen()).toEqual(open)
    loads.length = 0
    expect(await ledgers.listOpen()).toEqual(open)
    expect(loads).toEqual([])
    await commit(store, 'c2', { stop: [{ targetId: 'a', reason: 'no' }], finish })
    expect(await ledgers.listOpen()).toEqual([])
  })
})
