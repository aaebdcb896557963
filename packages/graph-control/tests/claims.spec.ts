import { describe, expect, it } from 'vitest'
import { type ClaimRequest, graphOperatorId, runIdOf } from '../src/index.ts'
import {
  begin,
  claim,
  claimRequest,
  commit,
  complete,
  GRAPH,
  graph,
  MEDIA,
  openGraph,
  provision,
  refusal,
  refusedAs,
  statuses,
  work,
} from './fixture.ts'

const operatorA = { kind: 'operator', id: graphOperatorId(GRAPH, 'a') } as const

describe.each(MEDIA)('claims on %s', (medium) => {
  it('answer a retry with the persisted turn and run, whatever the retry proposes', async () => {
    const { store, reopenStore } = await openGraph(medium)
    await commit(store, 'c1', { addWork: [work('a')] })
    await provision(store, 'a')
    const first = await store.claimIntentAtScheduleRevision(claimRequest('a'), 1)
    expect(first).toMatchObject({
      created: true,
      claim: { ...claimRequest('a'), admissionStatus: 'claimed', attempt: 0 },
    })
    await commit(store, 'c2', { addWork: [work('b')] })
    const again = { ...claimRequest('a'), targetTurnId: 'fresh', targetRunId: 'fresh' }
    const reopened = await reopenStore()
    expect(await reopened.claimIntentAtScheduleRevision(again, 1)).toEqual({ ...first, created: false })
    expect(await reopened.claimIntent(again)).toEqual({ ...first, created: false })
    expect(await reopened.listAgentGraphIntentClaims(GRAPH)).toEqual([first.claim])
  })

  it('are refused when a retry differs in anything but turn and run', async () => {
    const { store } = await openGraph(medium)
    await commit(store, 'c1', { addWork: [work('a'), work('b')] })
    await claim(store, 'a')
    const keys = ['claimId', 'intentFingerprint', 'targetOperatorId', 'targetSessionId', 'workId'] as const
    for (const key of keys) {
      const other = { ...claimRequest('a'), [key]: key === 'workId' ? 'b' : 'other' }
      expect(await refusal(store, () => store.claimIntent(other))).toMatchObject(
        refusedAs('intent-claim-conflict', key),
      )
    }
    const otherIntent = { ...claimRequest('a'), intentId: 'other' }
    expect(await refusal(store, () => store.claimIntent(otherIntent))).toMatchObject(
      refusedAs('intent-claim-conflict', 'intentId'),
    )
  })

  it('write nothing at a stale revision', async () => {
    const { store } = await openGraph(medium)
    await commit(store, 'c1', { addWork: [work('a')] })
    await provision(store, 'a')
    await commit(store, 'c2', { addWork: [work('b')] })
    const stale = () => store.claimIntentAtScheduleRevision(claimRequest('a'), 1)
    expect(await refusal(store, stale)).toMatchObject(
      refusedAs('schedule-revision-conflict', 'revision 2, not 1'),
    )
    expect((await store.claimIntentAtScheduleRevision(claimRequest('a'), 2)).created).toBe(true)
  })

  it('go claimed → executing → cancelled, and a begin after the cancel does not run', async () => {
    const { store } = await openGraph(medium)
    await commit(store, 'c1', { addWork: [work('a')] })
    const { intentId } = await claim(store, 'a')
    const beginAt = (revision: number) =>
      store.beginAgentGraphIntentExecutionAtScheduleRevision(GRAPH, intentId, revision)
    expect(await refusal(store, () => beginAt(0))).toMatchObject(refusedAs('schedule-revision-conflict'))
    expect(await beginAt(1)).toEqual({ state: 'executing', previousState: 'claimed', changed: true })
    expect(await beginAt(1)).toEqual({ state: 'executing', previousState: 'executing', changed: false })
    const cancel = () => store.cancelAgentGraphIntentExecution(GRAPH, intentId, 'no longer')
    const cancelled = await cancel()
    expect(JSON.stringify(cancelled)).toBe('{"state":"cancelled","previousState":"executing","changed":true}')
    expect(await cancel()).toEqual({ state: 'cancelled', previousState: 'cancelled', changed: false })
    expect(await beginAt(1)).toEqual({ state: 'cancelled', previousState: 'cancelled', changed: false })
    expect((await graph(store)).works.get('a')).toMatchObject({ status: 'cancelled', reason: 'no longer' })
  })
})

describe('claims', () => {
  it('are refused for works that are not ready', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b', { inputIds: ['a'] }), work('c'), work('d')] })
    await provision(store, 'b')
    expect(await refusal(store, () => store.claimIntent(claimRequest('b')))).toMatchObject(
      refusedAs('work-conflict', 'waits for a'),
    )
    expect(await refusal(store, () => store.claimIntent(claimRequest('ghost')))).toMatchObject(
      refusedAs('work-conflict', 'no work ghost'),
    )
    await complete(store, 'a')
    await provision(store, 'c')
    await commit(store, 'c2', { stop: [{ targetId: 'c', reason: 'no' }] })
    expect(await refusal(store, () => store.claimIntent(claimRequest('c')))).toMatchObject(
      refusedAs('work-conflict', 'stopped'),
    )
    const second = {
      ...claimRequest('d'),
      intentId: 'i2',
      claimId: 'c2',
      targetTurnId: 't2',
      targetRunId: 'r2',
    }
    await claim(store, 'd')
    expect(await refusal(store, () => store.claimIntent(second))).toMatchObject(
      refusedAs('intent-claim-conflict', 'live claim'),
    )
  })

  it('are refused without the operator that the work belongs to', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b')] })
    expect(await refusal(store, () => store.claimIntent(claimRequest('a')))).toMatchObject(
      refusedAs('provision-not-found', 'not provisioned'),
    )
    await provision(store, 'a')
    expect(await refusal(store, () => store.claimIntent(claimRequest('b', 'a')))).toMatchObject(
      refusedAs('provision-not-found', 'no operator yet'),
    )
    await provision(store, 'b')
    expect(await refusal(store, () => store.claimIntent(claimRequest('b', 'a')))).toMatchObject(
      refusedAs('intent-claim-conflict', 'belongs to'),
    )
    const elsewhere = { ...claimRequest('b'), targetSessionId: 'elsewhere' }
    expect(await refusal(store, () => store.claimIntent(elsewhere))).toMatchObject(
      refusedAs('intent-claim-conflict', 'elsewhere'),
    )
  })

  it('of one operator never overlap', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    await provision(store, 'a')
    await commit(store, 'c2', { addWork: [work('a+', { target: operatorA })] })
    const followUp = claimRequest('a+', 'a')
    await store.claimIntent(followUp)
    expect(await refusal(store, () => store.claimIntent(claimRequest('a')))).toMatchObject(
      refusedAs('intent-claim-conflict', 'busy with'),
    )
    await store.cancelAgentGraphIntentExecution(GRAPH, followUp.intentId, 'free it')
    expect((await store.claimIntent(claimRequest('a'))).created).toBe(true)
  })

  it('are refused for turn and run ids of another work', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b')] })
    await claim(store, 'a')
    await provision(store, 'b')
    const reuses: Partial<ClaimRequest>[] = [{ targetTurnId: 'turn-of-a' }, { targetRunId: 'run-of-a' }]
    for (const part of reuses) {
      const request = { ...claimRequest('b'), ...part }
      expect(await refusal(store, () => store.claimIntent(request))).toMatchObject(
        refusedAs('intent-claim-conflict', 'another work'),
      )
    }
    const attemptLike = { ...claimRequest('b'), targetRunId: 'run-of-a#2' }
    expect(await refusal(store, () => store.claimIntent(attemptLike))).toMatchObject(
      refusedAs('invalid', 'targetRunId'),
    )
  })

  it('are refused on a finished graph', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    await provision(store, 'a')
    await commit(store, 'c2', {
      stop: [{ targetId: 'a', reason: 'no' }],
      finish: { resultIds: [], reason: 'no' },
    })
    expect(await refusal(store, () => store.claimIntent(claimRequest('a')))).toMatchObject(
      refusedAs('schedule-closed'),
    )
  })

  it('have one winner among concurrent claimers', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    await provision(store, 'a')
    const claimed = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        store.claimIntent({ ...claimRequest('a'), targetRunId: `run-${n}` }),
      ),
    )
    expect(claimed.map(({ created }) => created)).toEqual([true, ...Array.from({ length: 7 }, () => false)])
    expect(new Set(claimed.map(({ claim }) => claim.targetRunId))).toEqual(new Set(['run-0']))
  })

  it('that nobody made cannot be moved', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    const moves = [
      () => store.beginAgentGraphIntentExecutionAtScheduleRevision(GRAPH, 'ghost', 1),
      () => store.cancelAgentGraphIntentExecution(GRAPH, 'ghost', 'why'),
      () => store.retryActivation(GRAPH, 'ghost', 1, 'why'),
    ]
    for (const move of moves)
      expect(await refusal(store, move)).toMatchObject(refusedAs('intent-not-found', 'ghost'))
  })
})

describe('a retry of an activation', () => {
  it('makes the next attempt the live one, once per loss', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    const { claimId } = await begin(store, 'a')
    const retry = (lost: number) => store.retryActivation(GRAPH, claimId, lost, 'process died')
    const second = await retry(1)
    expect(second).toMatchObject({ attempt: 2, admissionStatus: 'executing', retryReason: 'process died' })
    expect(runIdOf(second, second.attempt)).toBe('run-of-a#2')
    expect((await retry(1)).attempt).toBe(2)
    expect((await retry(2)).attempt).toBe(3)
    expect(await refusal(store, () => retry(1))).toMatchObject(refusedAs('attempt-conflict', 'live one is 3'))
    expect(await refusal(store, () => retry(4))).toMatchObject(refusedAs('attempt-conflict', 'live one is 3'))
    expect(await statuses(store)).toEqual({ a: 'running' })
  })

  it('is refused before the first attempt, after the end, and for a stopped work', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b'), work('c')] })
    const a = await claim(store, 'a')
    expect(await refusal(store, () => store.retryActivation(GRAPH, a.claimId, 1, 'x'))).toMatchObject(
      refusedAs('attempt-conflict', 'claimed'),
    )
    const b = await begin(store, 'b')
    await store.cancelAgentGraphIntentExecution(GRAPH, b.intentId, 'x')
    expect(await refusal(store, () => store.retryActivation(GRAPH, b.claimId, 1, 'x'))).toMatchObject(
      refusedAs('attempt-conflict', 'cancelled'),
    )
    const c = await begin(store, 'c')
    await commit(store, 'c2', { stop: [{ targetId: 'c', reason: 'no' }] })
    expect(await refusal(store, () => store.retryActivation(GRAPH, c.claimId, 1, 'x'))).toMatchObject(
      refusedAs('work-conflict', 'stopped'),
    )
  })
})
