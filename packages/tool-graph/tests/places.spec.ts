import { memoryLog } from 'dsh-durable-log'
import { GraphControlStore, graphUpdateId, stableHash } from 'dsh-graph-control'
import { expect, it, onTestFinished } from 'vitest'
import { waitsForOf } from '../src/work-view.ts'

it('a place in line is counted up to a hundred, so that an answer costs the same in a large graph', async () => {
  const store = await GraphControlStore.open(memoryLog())
  onTestFinished(() => store.close())
  const graphId = 'graph'
  for (let update = 0; update < 5; update += 1) {
    const source = { sessionId: 'root', runId: 'r', turnId: 't', toolCallId: `call-${update}` }
    const addWork = Array.from({ length: 32 }, (_, at) => ({
      workId: `w${update * 32 + at}`,
      target: { kind: 'agent', id: 'default' } as const,
      instruction: 'do it',
      inputIds: [],
    }))
    const updateId = graphUpdateId({ graphId, ...source })
    const updateFingerprint = stableHash({ updateId, addWork })
    await store.commitScheduleUpdate({
      schemaVersion: 1,
      updateId,
      updateFingerprint,
      graphId,
      source,
      addWork,
      stop: [],
    })
  }
  const state = await store.readGraph(graphId)
  const waitOf = (workId: string) => {
    const work = state?.works.get(workId)
    return state === undefined || work === undefined ? undefined : waitsForOf(state, work, { slots: 0 })[0]
  }
  expect(waitOf('w0')).toBe('a free slot: all 0 are taken, place 1 of 160 in line')
  expect(waitOf('w100')).toBe('a free slot: all 0 are taken, place 101 of 160 in line')
  for (const far of ['w101', 'w159'])
    expect(waitOf(far)).toBe('a free slot: all 0 are taken, more than 100 of 160 in line come first')
})
