import { memoryLog } from 'dsh-durable-log'
import { graphWakeAttemptId, graphWakeId, GraphControlStore } from 'dsh-graph-control'
import { expect, it } from 'vitest'
import { metricsLines, readMetrics } from '../src/read-metrics.ts'
import { addWorks, claimWork, settleWork } from './graph-deeds.ts'

/** A store whose clock the test moves. */
async function clocked() {
  const clock = { now: 1_000_000 }
  const store = await GraphControlStore.open(memoryLog(), { now: () => clock.now })
  return { store, pass: (ms: number) => void (clock.now += ms) }
}

it('measures waits from when a work could begin, run times, wakes, retries and tokens', async () => {
  const { pass, store } = await clocked()
  const graphId = await addWorks(store, 'root', [{ workId: 'a' }, { workId: 'b', inputIds: ['a'] }])
  pass(100)
  const claimId = await claimWork(store, graphId, 'a')
  pass(50)
  await store.retryActivation(graphId, claimId, 1, 'lost')
  pass(1_950)
  await settleWork(store, graphId, 'a', {
    outcome: 'completed',
    conclusion: 'x',
    usage: { inputTokens: 11, outputTokens: 4 },
  })
  const { changeSeq } = (await store.readGraph(graphId)) ?? { changeSeq: 0 }
  pass(250)
  const wakeId = graphWakeId(graphId, changeSeq)
  await store.claimSupervisorWake({ graphId, wakeId, snapshotVersion: changeSeq, rootSessionId: 'root' })
  pass(30)
  await store.beginSupervisorWakeAttempt({ graphId, wakeId, attemptId: graphWakeAttemptId(wakeId, 1) })
  pass(20)
  await claimWork(store, graphId, 'b')
  pass(500)
  await settleWork(store, graphId, 'b', { outcome: 'failed', reason: 'it broke' })

  const metrics = await readMetrics(store, [graphId])
  expect(metrics).toEqual({
    graphs: 1,
    worksByStatus: { completed: 1, failed: 1 },
    queueWait: { count: 2, p50Ms: 100, p95Ms: 300, maxMs: 300 },
    runTime: { count: 2, p50Ms: 500, p95Ms: 2_000, maxMs: 2_000 },
    wakeLatency: { count: 1, p50Ms: 280, p95Ms: 280, maxMs: 280 },
    retries: { attempts: 1, works: 0 },
    tokens: { inputTokens: 11, outputTokens: 4 },
  })
  expect(metricsLines(metrics)).toContain('queue wait    p50 100ms, p95 300ms, max 300ms (2)')
})

it('tells of nothing that nothing was measured', async () => {
  const { store } = await clocked()
  expect(await readMetrics(store, ['nothing'])).toMatchObject({
    graphs: 0,
    queueWait: undefined,
    tokens: { inputTokens: 0 },
  })
})
