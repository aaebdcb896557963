import { describe, expect, it } from 'vitest'
import { type GraphControlStore, graphIntentId } from '../src/index.ts'
import {
  begin,
  claim,
  claimRequest,
  commit,
  complete,
  fail,
  GRAPH,
  graph,
  MEDIA,
  openGraph,
  refusal,
  refusedAs,
  settlement,
  statuses,
  work,
} from './fixture.ts'

const again = (...workIds: string[]) => workIds.map((workId) => ({ workId, reason: 'once more' }))

async function stop(store: GraphControlStore, targetId: string): Promise<void> {
  await commit(store, `stop ${targetId}`, { stop: [{ targetId, reason: 'no' }] })
}

describe.each(MEDIA)('a retry of a work on %s', (medium) => {
  it('does it once more under a new intent, and brings back what was skipped on its account', async () => {
    const { store, reopenStore } = await openGraph(medium)
    await commit(store, 'c1', {
      addWork: [
        work('a'),
        work('b', { inputIds: ['a'] }),
        work('c', { inputIds: ['b'] }),
        work('x'),
        work('lost', { inputIds: ['a', 'x'] }),
      ],
    })
    await fail(store, 'a')
    await fail(store, 'x')
    const before = await graph(store)
    await commit(store, 'c2', { retry: again('a') })
    const reopened = await reopenStore()
    const state = await graph(reopened)
    expect(await statuses(reopened)).toEqual({
      a: 'ready',
      b: 'waiting',
      c: 'waiting',
      x: 'failed',
      lost: 'skipped',
    })
    expect(state.works.get('a')).toMatchObject({ retries: 1, retryReason: 'once more', recordIds: [] })
    expect(state.works.get('a')).not.toHaveProperty('reason')
    expect(state.works.get('a')).not.toHaveProperty('claimId')
    expect(state.works.get('lost')).toMatchObject({ reason: 'input x failed', retries: 0 })
    expect(state.counts).toEqual({ works: 5, pending: 3, terminal: 2 })
    expect(state.changeSeq).toBeGreaterThanOrEqual(before.changeSeq)
    const second = await claim(reopened, 'a')
    expect(second.intentId).toBe(graphIntentId(GRAPH, 'a', 1))
    expect(second.targetRunId).toBe('run-of-a~1')
    const revision = state.revision
    await reopened.beginAgentGraphIntentExecutionAtScheduleRevision(GRAPH, second.intentId, revision)
    const { record } = await reopened.settleActivation(settlement('a', { claimId: second.claimId }))
    expect(record?.activationId).toBe('run-of-a~1')
    expect((await statuses(reopened))['b']).toBe('ready')
    expect((await graph(reopened)).claims.size).toBe(3)
  })
})

describe('a retry of a work', () => {
  it.each<[string, (store: GraphControlStore) => Promise<unknown>]>([
    ['failed', (store) => fail(store, 'a')],
    ['stopped', (store) => stop(store, 'a')],
    [
      'cancelled',
      async (store) => {
        const { intentId } = await claim(store, 'a')
        await store.cancelAgentGraphIntentExecution(GRAPH, intentId, 'no')
      },
    ],
  ])('that is %s leads to its end after all', async (status, lose) => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    await lose(store)
    expect(await statuses(store)).toEqual({ a: status })
    await commit(store, 'c2', { retry: again('a') })
    await fail(store, 'a', 'twice')
    await commit(store, 'c3', { retry: again('a') })
    await complete(store, 'a')
    expect((await graph(store)).works.get('a')).toMatchObject({ status: 'completed', retries: 2 })
    expect((await graph(store)).works.get('a')).not.toHaveProperty('reason')
  })

  it('needs a turn and a run of its own', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    await fail(store, 'a')
    await commit(store, 'c2', { retry: again('a') })
    const fresh = claimRequest('a', 'a', 1)
    for (const part of [{ targetRunId: 'run-of-a' }, { targetTurnId: 'turn-of-a' }]) {
      expect(await refusal(store, () => store.claimIntent({ ...fresh, ...part }))).toMatchObject(
        refusedAs('intent-claim-conflict', 'needs a turn and a run of its own'),
      )
    }
    expect((await store.claimIntent(fresh)).created).toBe(true)
  })

  it('may take the ids that its operator came with, if no claim had them', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b', { inputIds: ['a'] })] })
    await fail(store, 'a')
    await commit(store, 'c2', { retry: again('a') })
    await commit(store, 'c3', { retry: [], stop: [{ targetId: 'b', reason: 'no' }] })
    await commit(store, 'c4', { retry: again('b') })
    await complete(store, 'a')
    await begin(store, 'b')
    expect((await graph(store)).works.get('b')).toMatchObject({ status: 'running', retries: 1 })
  })

  it('waits again for an input that is not there, and is refused when that is lost', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b', { inputIds: ['a'] })] })
    await stop(store, 'b')
    await commit(store, 'c2', { retry: again('b') })
    expect((await graph(store)).works.get('b')).toMatchObject({ status: 'waiting', waitingFor: ['a'] })
    await fail(store, 'a')
    expect(await refusal(store, () => commit(store, 'c3', { retry: again('b') }))).toMatchObject(
      refusedAs('work-conflict', /would be skipped again: input a failed; retry or replace that input/),
    )
    await commit(store, 'c4', { retry: again('b', 'a') })
    expect(await statuses(store)).toEqual({ a: 'ready', b: 'waiting' })
    // Named itself, so its count tells; `a` alone would have brought it back uncounted.
    expect((await graph(store)).works.get('b')?.retries).toBe(2)
  })

  it('is refused for what is not there, not over, completed, replaced, or still being cancelled', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', {
      addWork: [work('ready'), work('done'), work('old'), work('runs'), work('failed')],
    })
    await complete(store, 'done')
    await begin(store, 'runs')
    await fail(store, 'failed')
    await commit(store, 'c2', {
      stop: [{ targetId: 'runs', reason: 'no' }],
      addWork: [work('new', { replaces: 'old' })],
    })
    const cases = [
      ['ghost', 'no such work'],
      ['ready', 'which is ready'],
      ['done', 'which is completed'],
      ['old', 'new took its place'],
      ['runs', 'still being cancelled'],
    ] as const
    for (const [workId, text] of cases) {
      expect(await refusal(store, () => commit(store, 'c3', { retry: again(workId) }))).toMatchObject(
        refusedAs('work-conflict', text),
      )
    }
    const both = { addWork: [work('heir', { replaces: 'failed' })], retry: again('failed') }
    expect(await refusal(store, () => commit(store, 'c3', both))).toMatchObject(
      refusedAs('work-conflict', 'heir of the same update'),
    )
    const finish = { resultIds: [], reason: 'end' }
    expect(await refusal(store, () => commit(store, 'c3', { retry: again('failed'), finish }))).toMatchObject(
      refusedAs('invalid', 'or retry any'),
    )
  })

  it('wakes the root again when the work ends once more', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    await fail(store, 'a')
    await store.acknowledgeChanges(GRAPH, 1)
    await commit(store, 'c2', { retry: again('a') })
    expect((await graph(store)).changeSeq).toBe(1)
    await complete(store, 'a')
    expect(await graph(store)).toMatchObject({ changeSeq: 2, seenChangeSeq: 1 })
    expect((await graph(store)).works.get('a')?.endedChangeSeq).toBe(2)
  })

  it('is shown by those that wait for it whatever it became', async () => {
    const { store } = await openGraph()
    const inputIds = ['a', 'b']
    await commit(store, 'c1', { addWork: [work('a'), work('b'), work('w', { inputIds, when: 'always' })] })
    await fail(store, 'a')
    expect((await graph(store)).works.get('w')?.waitingFor).toEqual(['b'])
    await commit(store, 'c2', { retry: again('a') })
    expect((await graph(store)).works.get('w')?.waitingFor).toEqual(['a', 'b'])
  })
})

/** `each` over two artifacts of `a`, beside an input `b` that failed. */
async function joined() {
  const opened = await openGraph()
  const { store } = opened
  const each = work('each', { inputIds: ['a', 'b'], forEach: 'a', when: 'any' })
  await commit(store, 'c1', {
    addWork: [work('a'), work('b'), each, work('after', { inputIds: ['each'] })],
  })
  await fail(store, 'b')
  await begin(store, 'a')
  const artifacts = [1, 2].map((n) => ({ name: `n${n}`, text: 't' }))
  await store.settleActivation(settlement('a', { artifacts }))
  return opened
}

describe('a retry of a joined work', () => {
  it('repeats the items that were lost, and keeps the others', async () => {
    const { store } = await joined()
    const kept = await complete(store, 'each#1')
    await fail(store, 'each#2')
    expect(await statuses(store)).toMatchObject({ each: 'failed', after: 'skipped' })
    await commit(store, 'c2', { retry: again('each') })
    expect(await statuses(store)).toMatchObject({
      each: 'waiting',
      'each#1': 'completed',
      'each#2': 'ready',
      after: 'waiting',
    })
    const redone = await complete(store, 'each#2')
    expect((await graph(store)).works.get('each')).toMatchObject({
      status: 'completed',
      recordIds: [kept, redone],
    })
    expect((await statuses(store))['after']).toBe('ready')
  })

  it('brings a stopped one back together with its items', async () => {
    const { store } = await joined()
    await complete(store, 'each#1')
    await stop(store, 'each')
    expect(await statuses(store)).toMatchObject({ each: 'stopped', 'each#2': 'stopped' })
    await commit(store, 'c2', { retry: again('each') })
    expect(await statuses(store)).toMatchObject({ each: 'waiting', 'each#2': 'ready' })
    await complete(store, 'each#2')
    expect((await statuses(store))['each']).toBe('completed')
  })

  it('is also made by a retry of one item, and while other items still run', async () => {
    const { store } = await joined()
    await fail(store, 'each#1')
    await commit(store, 'c2', { retry: again('each#1') })
    expect((await graph(store)).works.get('each')?.waitingFor).toEqual(['each#1', 'each#2'])
    await fail(store, 'each#1')
    await fail(store, 'each#2')
    await commit(store, 'c3', { retry: again('each#2') })
    expect(await statuses(store)).toMatchObject({ each: 'waiting', 'each#1': 'failed', 'each#2': 'ready' })
    await complete(store, 'each#2')
    expect((await statuses(store))['each']).toBe('failed')
  })

  it('lets an item wait for an input that comes back meanwhile', async () => {
    const { store } = await joined()
    await fail(store, 'each#1')
    await complete(store, 'each#2')
    await commit(store, 'c2', { retry: again('b') })
    await commit(store, 'c3', { retry: again('each#1') })
    expect((await graph(store)).works.get('each#1')).toMatchObject({ status: 'waiting', waitingFor: ['b'] })
    await complete(store, 'b')
    expect((await statuses(store))['each#1']).toBe('ready')
  })

  it('is refused where nothing was lost, and where another work took its place', async () => {
    const { store } = await joined()
    expect(await refusal(store, () => commit(store, 'c2', { retry: again('each') }))).toMatchObject(
      refusedAs('work-conflict', 'none of its items failed'),
    )
    await fail(store, 'each#1')
    await commit(store, 'c3', { addWork: [work('heir', { replaces: 'each' })] })
    for (const workId of ['each', 'each#1']) {
      expect(await refusal(store, () => commit(store, 'c4', { retry: again(workId) }))).toMatchObject(
        refusedAs('work-conflict', 'heir took its place'),
      )
    }
  })
})

describe('a replacement', () => {
  it('takes over the waiting ones, and revives those that were skipped', async () => {
    const { store, reopenStore } = await openGraph('sqlite')
    await commit(store, 'c1', {
      addWork: [work('a'), work('b', { inputIds: ['a'] }), work('c', { inputIds: ['b'] })],
    })
    await fail(store, 'a')
    expect(await statuses(store)).toEqual({ a: 'failed', b: 'skipped', c: 'skipped' })
    await commit(store, 'c2', { addWork: [work('a2', { replaces: 'a' })] })
    const reopened = await reopenStore()
    expect(await statuses(reopened)).toEqual({ a: 'failed', b: 'waiting', c: 'waiting', a2: 'ready' })
    expect((await graph(reopened)).works.get('a')).toMatchObject({ replacedBy: 'a2', reason: 'it broke' })
    await complete(reopened, 'a2')
    expect(await statuses(reopened)).toMatchObject({ b: 'ready', c: 'waiting' })
  })

  it('of a replacement is followed through, also by work that names the first', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b', { inputIds: ['a'] })] })
    await commit(store, 'c2', { addWork: [work('a2', { replaces: 'a' })] })
    const twice = () => commit(store, 'c3', { addWork: [work('x', { replaces: 'a' })] })
    expect(await refusal(store, twice)).toMatchObject(refusedAs('work-conflict', 'replace that one'))
    await commit(store, 'c3', { addWork: [work('a3', { replaces: 'a2' })] })
    await commit(store, 'c4', { addWork: [work('late', { inputIds: ['a'], forEach: 'a' })] })
    expect((await graph(store)).works.get('late')?.waitingFor).toEqual(['a3'])
    const recordId = await complete(store, 'a3')
    expect((await statuses(store))['b']).toBe('ready')
    expect((await graph(store)).works.get('late#1')?.inputIds).toEqual([recordId])
  })

  it('does not come to life when an input of the replaced one does', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b', { inputIds: ['a'] })] })
    await fail(store, 'a')
    await commit(store, 'c2', { addWork: [work('b2', { replaces: 'b' })] })
    await commit(store, 'c3', { retry: again('a') })
    expect(await statuses(store)).toEqual({ a: 'ready', b: 'skipped', b2: 'ready' })
  })

  it('is refused where works would wait for each other in a circle', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b', { inputIds: ['a'] })] })
    const circle = () => commit(store, 'c2', { addWork: [work('a2', { replaces: 'a', inputIds: ['b'] })] })
    expect(await refusal(store, circle)).toMatchObject(refusedAs('work-conflict', 'circle'))
    await fail(store, 'a')
    expect(await refusal(store, circle)).toMatchObject(refusedAs('work-conflict', 'circle'))
    const two = [work('a2', { replaces: 'a' }), work('a3', { replaces: 'a' })]
    expect(await refusal(store, () => commit(store, 'c2', { addWork: two }))).toMatchObject(
      refusedAs('work-conflict', 'two works of the update replace a'),
    )
  })

  it('takes replacementMode, and refuses it where it says the opposite', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    const none = () =>
      commit(store, 'c2', { addWork: [work('b', { replaces: 'a', replacementMode: 'none' })] })
    expect(await refusal(store, none)).toMatchObject(refusedAs('invalid', 'replacementMode none'))
    const nothing = () => commit(store, 'c2', { addWork: [work('b', { replacementMode: 'replace' })] })
    expect(await refusal(store, nothing)).toMatchObject(refusedAs('invalid', 'names nothing'))
    await commit(store, 'c3', { addWork: [work('b', { replaces: 'a', replacementMode: 'replace' })] })
    expect((await statuses(store))['a']).toBe('superseded')
  })
})
