import { describe, expect, it } from 'vitest'
import { type GraphControlStore, LIMITS, type WorkCondition } from '../src/index.ts'
import {
  begin,
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

type End = 'completed' | 'failed' | 'stopped'

async function end(store: GraphControlStore, workId: string, how: End): Promise<void> {
  if (how === 'completed') await complete(store, workId)
  else if (how === 'failed') await fail(store, workId)
  else await commit(store, `stop ${workId}`, { stop: [{ targetId: workId, reason: 'no' }] })
}

const CASES: readonly [WorkCondition, readonly [End, End], string][] = [
  ['all', ['completed', 'completed'], 'ready'],
  ['all', ['completed', 'failed'], 'skipped'],
  ['any', ['completed', 'failed'], 'ready'],
  ['any', ['stopped', 'completed'], 'ready'],
  ['any', ['failed', 'stopped'], 'skipped'],
  ['always', ['failed', 'stopped'], 'ready'],
  ['always', ['completed', 'failed'], 'ready'],
]

describe('a work that runs when', () => {
  it.each(CASES)('%s of its inputs completed, after %s, is %s', async (when, [a, b], status) => {
    const { store, reopenStore } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b'), work('w', { inputIds: ['a', 'b'], when })] })
    await end(store, 'a', a)
    const isDecided = when === 'all' && a !== 'completed'
    expect((await statuses(store))['w']).toBe(isDecided ? 'skipped' : 'waiting')
    await end(store, 'b', b)
    expect((await statuses(store))['w']).toBe(status)
    expect(await statuses(await reopenStore())).toEqual(await statuses(store))
  })

  it('all completed is skipped at once, any and always wait for the rest', async () => {
    const { store } = await openGraph()
    const inputIds = ['a', 'b']
    await commit(store, 'c1', {
      addWork: [
        work('a'),
        work('b'),
        work('all', { inputIds }),
        work('any', { inputIds, when: 'any' }),
        work('always', { inputIds, when: 'always' }),
      ],
    })
    await fail(store, 'a')
    expect((await graph(store)).works.get('any')).toMatchObject({ status: 'waiting', waitingFor: ['b'] })
    expect(await statuses(store)).toMatchObject({ all: 'skipped', always: 'waiting' })
    await fail(store, 'b')
    expect((await graph(store)).works.get('any')).toMatchObject({
      status: 'skipped',
      reason: 'none of its inputs completed',
    })
    expect((await statuses(store))['always']).toBe('ready')
  })

  it('has a record among its inputs, which counts as completed', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b')] })
    const recordId = await complete(store, 'a')
    await fail(store, 'b')
    const addWork = [work('w', { inputIds: [recordId, 'b'], when: 'any' })]
    await commit(store, 'c2', { addWork })
    expect((await statuses(store))['w']).toBe('ready')
  })

  it.each(['any', 'always'] as const)('%s stops with a cascade, whatever its condition', async (when) => {
    const { store } = await openGraph()
    await commit(store, 'c1', {
      addWork: [work('a'), work('w', { inputIds: ['a'], when }), work('v', { inputIds: ['w'] })],
    })
    await commit(store, 'c2', { stop: [{ targetId: 'a', reason: 'enough', cascadeDownstream: true }] })
    expect(await statuses(store)).toEqual({ a: 'stopped', w: 'stopped', v: 'stopped' })
    const { works } = await graph(store)
    expect(works.get('a')?.reason).toBe('enough')
    expect(works.get('v')?.reason).toBe('it waited for a, which was stopped: enough')
  })

  it('always runs after a stop without a cascade, and later work is not stopped by an earlier one (scenario R14)', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('w', { inputIds: ['a'], when: 'always' })] })
    await commit(store, 'c2', { stop: [{ targetId: 'a', reason: 'no' }] })
    expect((await statuses(store))['w']).toBe('ready')
    await commit(store, 'c3', { addWork: [work('late', { inputIds: ['a'], when: 'always' })] })
    expect((await statuses(store))['late']).toBe('ready')
  })
})

const artifacts = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ name: `part ${n + 1}`, text: `text ${n + 1}` }))

/** A graph in which `a` left `parts` artifacts for `each`, whose items are there. */
async function split(parts: number, medium: (typeof MEDIA)[number] = 'memory') {
  const opened = await openGraph(medium)
  const { store } = opened
  const each = work('each', { inputIds: ['a'], forEach: 'a', title: 'Part', instruction: 'read it' })
  await commit(store, 'c1', { addWork: [work('a'), each, work('after', { inputIds: ['each'] })] })
  await begin(store, 'a')
  await store.settleActivation(settlement('a', { artifacts: artifacts(parts) }))
  return opened
}

describe.each(MEDIA)('forEach on %s', (medium) => {
  it('makes a work for each artifact of its input, and joins them with their records in order', async () => {
    const { store, reopenStore } = await split(3, medium)
    const state = await graph(store)
    const { recordIds = [] } = state.works.get('a') ?? {}
    expect(recordIds).toHaveLength(4)
    expect(state.works.get('each')).toMatchObject({
      status: 'waiting',
      itemWorkIds: ['each#1', 'each#2', 'each#3'],
      waitingFor: ['each#1', 'each#2', 'each#3'],
    })
    expect(state.works.get('each#2')).toMatchObject({
      status: 'ready',
      inputIds: [recordIds[2]],
      joinedBy: 'each',
      title: 'Part 2/3',
      instruction: 'read it',
      ordinal: 5,
    })
    const results = [await complete(store, 'each#3'), await complete(store, 'each#1')]
    const reopened = await reopenStore()
    expect((await graph(reopened)).works.get('each')).toMatchObject({ waitingFor: ['each#2'] })
    const last = await complete(reopened, 'each#2')
    expect((await graph(reopened)).works.get('each')).toMatchObject({
      status: 'completed',
      recordIds: [results[1], last, results[0]],
    })
    expect((await statuses(reopened))['after']).toBe('ready')
  })
})

describe('forEach', () => {
  it('goes over the conclusion where the input left no artifacts, and over a record', async () => {
    const { store } = await openGraph()
    const each = work('each', { inputIds: ['a'], forEach: 'a' })
    await commit(store, 'c1', { addWork: [work('a'), each] })
    const recordId = await complete(store, 'a')
    expect((await graph(store)).works.get('each#1')?.inputIds).toEqual([recordId])
    await commit(store, 'c2', { addWork: [work('one', { inputIds: [recordId], forEach: recordId })] })
    expect((await graph(store)).works.get('one#1')?.inputIds).toEqual([recordId])
  })

  it('gives every item the other inputs too', async () => {
    const { store } = await openGraph()
    const each = work('each', {
      inputIds: ['b', 'a'],
      forEach: 'a',
      replay: 'model',
      model: 'm',
      effort: 'low',
    })
    await commit(store, 'c1', { addWork: [work('a'), work('b'), each] })
    const recordId = await complete(store, 'a')
    await complete(store, 'b')
    expect((await graph(store)).works.get('each#1')).toMatchObject({
      inputIds: [recordId, 'b'],
      replay: 'model',
      model: 'm',
      effort: 'low',
    })
  })

  it('over nothing completes at once, with no record', async () => {
    const { store } = await openGraph()
    const each = work('each', { inputIds: ['a'], forEach: 'a', when: 'always' })
    await commit(store, 'c1', { addWork: [work('a'), each, work('after', { inputIds: ['each'] })] })
    await fail(store, 'a')
    expect((await graph(store)).works.get('each')).toMatchObject({ status: 'completed', recordIds: [] })
    expect((await statuses(store))['after']).toBe('ready')
  })

  it('fails when an item did not complete, and says which', async () => {
    const { store } = await split(3)
    await complete(store, 'each#1')
    await fail(store, 'each#2')
    await commit(store, 'stop', { stop: [{ targetId: 'each#3', reason: 'no' }] })
    expect((await graph(store)).works.get('each')).toMatchObject({
      status: 'failed',
      reason: '2 of 3 items did not complete: each#2 failed, each#3 stopped',
    })
    expect((await statuses(store))['after']).toBe('skipped')
  })

  it.each([
    ['stopped', { stop: [{ targetId: 'each', reason: 'no' }] }],
    ['superseded', { addWork: [work('other', { replaces: 'each' })] }],
  ] as const)('takes its items along when it is %s', async (status, parts) => {
    const { store } = await split(2)
    await begin(store, 'each#1')
    await commit(store, 'c2', parts)
    expect(await statuses(store)).toMatchObject({ each: status, 'each#1': status, 'each#2': status })
  })

  it('takes 256 items, and fails with more', async () => {
    const { store } = await openGraph()
    const sources = Array.from({ length: 5 }, (_, n) => `s${n}`)
    for (const [n, id] of sources.entries()) {
      await commit(store, `add ${id}`, { addWork: [work(id)] })
      await begin(store, id)
      const count = n === 4 ? 1 : LIMITS.artifacts
      await store.settleActivation(settlement(id, { artifacts: artifacts(count) }))
    }
    // A join passes on the records of its items, which are conclusions: 5 of them, then 257 by nesting.
    const add = (id: string, over: string) => work(id, { inputIds: [over], forEach: over })
    await commit(store, 'each', { addWork: [add('each', 's0')] })
    for (let n = 1; n <= 64; n++) {
      await begin(store, `each#${n}`)
      const count = n <= 4 ? LIMITS.artifacts : 1
      await store.settleActivation(settlement(`each#${n}`, { artifacts: artifacts(count) }))
    }
    await commit(store, 'many', { addWork: [add('many', 'each')] })
    expect((await graph(store)).works.get('many')).toMatchObject({
      status: 'failed',
      reason: 'input each has 316 records; at most 256 are worked on one by one',
    })
  })

  it('is refused for what is no input, for a long id, and for ids that look like items', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    const add = (added: ReturnType<typeof work>) => () => commit(store, 'c2', { addWork: [added] })
    expect(await refusal(store, add(work('b', { inputIds: ['a'], forEach: 'c' })))).toMatchObject(
      refusedAs('invalid', 'not one of its inputIds'),
    )
    const long = 'x'.repeat(253)
    expect(await refusal(store, add(work(long, { inputIds: ['a'], forEach: 'a' })))).toMatchObject(
      refusedAs('invalid', 'too long for forEach'),
    )
    expect(await refusal(store, add(work('b#1')))).toMatchObject(refusedAs('invalid', '#n'))
    await complete(store, 'a')
    const longest = 'x'.repeat(252)
    await add(work(longest, { inputIds: ['a'], forEach: 'a' }))()
    await complete(store, `${longest}#1`)
    expect((await statuses(store))[longest]).toBe('completed')
  })

  it('hands a work on to others as one input', async () => {
    const { store } = await split(2)
    const gather = work('gather', { inputIds: ['each'], forEach: 'each' })
    await commit(store, 'c2', { addWork: [gather] })
    const ids = [await complete(store, 'each#1'), await complete(store, 'each#2')]
    const { works } = await graph(store)
    expect([works.get('gather#1')?.inputIds, works.get('gather#2')?.inputIds]).toEqual([[ids[0]], [ids[1]]])
  })

  it('keeps its items out of reach of replaces', async () => {
    const { store } = await split(1)
    const replace = () => commit(store, 'c2', { addWork: [work('b', { replaces: 'each#1' })] })
    expect(await refusal(store, replace)).toMatchObject(refusedAs('work-conflict', 'an item of each'))
    expect((await graph(store, GRAPH)).works.get('each#1')?.status).toBe('ready')
  })
})
