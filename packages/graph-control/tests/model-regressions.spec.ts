/** What random histories found once: each the shortest form of it. */
import { describe, expect, it } from 'vitest'
import type { GraphControlStore } from '../src/index.ts'
import {
  begin,
  commit,
  complete,
  fail,
  GRAPH,
  graph,
  openGraph,
  refusedAs,
  ROOT,
  settlement,
  statuses,
  work,
} from './fixture.ts'

const stop = (targetId: string, parts: object = {}) => ({ targetId, reason: 'enough', ...parts })
const retry = (...ids: string[]) => ({ retry: ids.map((workId) => ({ workId, reason: 'again' })) })

async function open(): Promise<GraphControlStore> {
  return (await openGraph()).store
}

describe('a history found by chance', () => {
  it('stops all works of a graph, also one that was added before what it waits for', async () => {
    const store = await open()
    await commit(store, 'c1', { addWork: [work('b', { inputIds: ['a'] }), work('a')] })
    await commit(store, 'c2', { stop: [stop(GRAPH)] })
    expect(await statuses(store)).toEqual({ a: 'stopped', b: 'stopped' })
  })

  it('stops what a target was to be worked on one by one for, before that begins', async () => {
    const store = await open()
    const each = work('each', { inputIds: ['a'], forEach: 'a', when: 'always' })
    await commit(store, 'c1', { addWork: [work('a'), each] })
    await commit(store, 'c2', { stop: [stop('a', { cascadeDownstream: true })] })
    const { works } = await graph(store)
    expect(works.get('each')).toMatchObject({ status: 'stopped' })
    expect(works.get('each')?.itemWorkIds).toBeUndefined()
  })

  it('waits once for a work that two inputs stand for', async () => {
    const store = await open()
    await commit(store, 'c1', { addWork: [work('a')] })
    await commit(store, 'c2', { addWork: [work('b', { replaces: 'a' })] })
    await commit(store, 'c3', { addWork: [work('c', { inputIds: ['a', 'b'] })] })
    expect((await graph(store)).works.get('c')?.waitingFor).toEqual(['b'])
  })

  it('refuses a work in the place of one that it would wait for after a retry', async () => {
    const store = await open()
    await commit(store, 'c1', { addWork: [work('a'), work('b', { inputIds: ['a'] })] })
    await commit(store, 'c2', { stop: [stop('b')] })
    await fail(store, 'a')
    const closing = { addWork: [work('n', { replaces: 'a', inputIds: ['b'] })] }
    await expect(commit(store, 'c3', closing)).rejects.toMatchObject(refusedAs('work-conflict', 'circle'))
  })

  it('takes every place of an update before it judges any work', async () => {
    const store = await open()
    const each = work('each', { inputIds: ['a'], forEach: 'a' })
    await commit(store, 'c1', { addWork: [work('a'), each, work('d', { inputIds: ['each'] })] })
    await complete(store, 'a')
    // The item ends with its join, and so does what takes the place of that.
    const heirs = [work('n', { replaces: 'each', inputIds: ['each#1'] }), work('m', { replaces: 'd' })]
    await commit(store, 'c2', { addWork: heirs })
    expect(await statuses(store)).toMatchObject({
      each: 'superseded',
      n: 'skipped',
      d: 'superseded',
      m: 'ready',
    })
  })

  it('counts one end for what two retries of one update bring back and skip again', async () => {
    const store = await open()
    const works = [work('a'), work('x'), work('b', { inputIds: ['a'] }), work('c', { inputIds: ['b', 'x'] })]
    await commit(store, 'c1', { addWork: works })
    await commit(store, 'c2', { stop: [stop('x'), stop('a')] })
    const before = (await graph(store)).changeSeq
    await commit(store, 'c3', retry('a', 'b'))
    expect((await graph(store)).changeSeq).toBe(before + 1)
    expect(await statuses(store)).toMatchObject({ a: 'ready', b: 'waiting', c: 'skipped' })
  })

  it('does not begin an item anew that the same update stops while it runs', async () => {
    const store = await open()
    await commit(store, 'c1', { addWork: [work('a'), work('each', { inputIds: ['a'], forEach: 'a' })] })
    await begin(store, 'a')
    const artifacts = ['one', 'two'].map((name) => ({ name, text: name }))
    await store.settleActivation(settlement('a', { artifacts }))
    await fail(store, 'each#1')
    await begin(store, 'each#2')
    const both = { stop: [stop('each#2')], ...retry('each') }
    await expect(commit(store, 'c2', both)).rejects.toMatchObject(refusedAs('work-conflict', 'each#2 yet'))
  })

  it('answers a recurring wake that is asked for again after it was given up', async () => {
    const store = await open()
    const wake = {
      graphId: GRAPH,
      wakeId: 'w',
      snapshotVersion: 0,
      rootSessionId: ROOT,
      dueAt: 5,
      recurMs: 10,
    }
    await store.scheduleSupervisorWake(wake)
    await store.supersedeSupervisorWakes(GRAPH, 'enough')
    expect(await store.scheduleSupervisorWake(wake)).toMatchObject({
      created: false,
      wake: { status: 'superseded', recurMs: 10 },
    })
  })
})
