import { describe, expect, it } from 'vitest'
import { reconcile } from '../src/index.ts'
import {
  claimRequest,
  commit,
  complete,
  GRAPH,
  graph,
  MEDIA,
  openGraph,
  provision,
  provisionRequest,
  refusal,
  refusedAs,
  statuses,
  update,
  work,
} from './fixture.ts'

describe.each(MEDIA)('a draft on %s', (medium) => {
  it('runs nothing before it is committed, once, however often that is repeated', async () => {
    const { store, reopenStore } = await openGraph(medium)
    await commit(store, 'c1', { draft: 'open', addWork: [work('a')] })
    await commit(store, 'c2', { addWork: [work('b', { inputIds: ['a'] })] })
    expect(await graph(store)).toMatchObject({ phase: 'draft', closed: false, counts: { pending: 2 } })
    expect(reconcile(await graph(store), { maxNewActivations: 8 })).toEqual([])
    const commitDraft = update('c3', { draft: 'commit' })
    const first = await store.commitScheduleUpdate(commitDraft)
    expect(first).toMatchObject({ created: true, update: { draft: 'commit' } })
    const reopened = await reopenStore()
    expect(await reopened.commitScheduleUpdate(commitDraft)).toEqual({ ...first, created: false })
    expect((await graph(reopened)).phase).toBe('open')
    expect(reconcile(await graph(reopened), { maxNewActivations: 8 })).toEqual([
      { kind: 'provision', workId: 'a' },
    ])
    await complete(reopened, 'a')
    expect(await statuses(reopened)).toEqual({ a: 'completed', b: 'ready' })
  })
})

describe('a draft', () => {
  it('refuses operators and claims', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { draft: 'open', addWork: [work('a')] })
    expect(await refusal(store, () => provision(store, 'a'))).toMatchObject(
      refusedAs('draft-conflict', 'is a draft'),
    )
    expect(await refusal(store, () => store.claimIntent(claimRequest('a')))).toMatchObject(
      refusedAs('draft-conflict', 'draft: commit'),
    )
  })

  it('takes stops, replacements and retries, and is worked on like any graph', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { draft: 'open', addWork: [work('a'), work('b')] })
    await commit(store, 'c2', { stop: [{ targetId: 'b', reason: 'no' }], draft: 'open' })
    await commit(store, 'c3', { addWork: [work('a2', { replaces: 'a' })] })
    await commit(store, 'c4', { retry: [{ workId: 'b', reason: 'after all' }], draft: 'commit' })
    expect(await statuses(store)).toEqual({ a: 'superseded', a2: 'ready', b: 'ready' })
    expect((await store.provisionOperator(provisionRequest('b', 4))).created).toBe(true)
  })

  it('begins with the first update only, and is committed only while it is one', async () => {
    const { store } = await openGraph()
    const commitNothing = () => commit(store, 'c0', { draft: 'commit' })
    expect(await refusal(store, commitNothing)).toMatchObject(refusedAs('draft-conflict', 'is no draft'))
    await commit(store, 'c1', { addWork: [work('a')] })
    const late = () => commit(store, 'c2', { draft: 'open', addWork: [work('b')] })
    expect(await refusal(store, late)).toMatchObject(refusedAs('draft-conflict', 'cannot become a draft'))
    expect(await refusal(store, commitNothing)).toMatchObject(refusedAs('draft-conflict', 'is no draft'))
  })

  it('is finished without having run', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { draft: 'open', addWork: [work('a')] })
    const finish = { resultIds: [], reason: 'thought better of it' }
    await commit(store, 'c2', { stop: [{ targetId: GRAPH, reason: 'no' }], finish })
    expect(await graph(store)).toMatchObject({ phase: 'closed', closed: true })
    expect(await refusal(store, () => commit(store, 'c3', { draft: 'commit' }))).toMatchObject(
      refusedAs('schedule-closed'),
    )
  })
})
