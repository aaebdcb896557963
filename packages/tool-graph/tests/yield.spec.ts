/** What a yield waits for, when it does not, and that no wake is lost. */
import { describe, expect, it } from 'vitest'
import type { GraphView, YieldAnswer } from '../src/index.ts'
import { HandExecutor, HandWakes, until } from './host.ts'
import { eager, MEDIA, openRig, work } from './rig.ts'

const done = { outcome: 'completed', conclusion: 'x' } as const

describe.each(MEDIA)('yield_agent_graph, on %s', (medium) => {
  it('ends the turn and says what it waits for', async () => {
    const rig = await openRig(medium)
    await rig.ask('update', { addWork: [work('a'), work('b', { inputIds: ['a'] })] })
    await until(() => rig.executor.started.length === 1)
    const result = await rig.call('yield', { reason: 'the wave runs' })
    expect(result.concludesTurn).toBe(true)
    expect(result.value).toMatchObject({
      deliveredOnIdle: true,
      pendingWorkCount: 2,
      until: 'any',
      waitingFor: ['a (running)', 'b: a'],
    })
    expect((await rig.state()).wait).toMatchObject({ until: 'any', reason: 'the wave runs' })
  })

  it('is the same wait when nothing is new, and writes nothing for it', async () => {
    const wakes = new HandWakes()
    const rig = await openRig(medium, { wakes })
    await rig.ask('update', { addWork: [work('a')] })
    await until(() => rig.executor.started.length === 1)
    const first = await rig.ask<YieldAnswer>('yield', {})
    const before = await rig.entries()
    rig.beginTurn(1)
    const second = await rig.ask<YieldAnswer>('yield', {})
    expect(second).toEqual(first)
    expect(await rig.entries()).toBe(before)
    await rig.end('a', done)
    await until(() => wakes.delivered.length === 1)
    await until(() => !rig.controller.expectsWake())
    expect(wakes.delivered).toHaveLength(1)
  })

  it('is another wait when it waits for something else', async () => {
    const rig = await openRig(medium)
    await rig.ask('update', { addWork: [work('a')] })
    const any = await rig.ask<YieldAnswer>('yield', {})
    const all = await rig.ask<YieldAnswer>('yield', { until: 'all' })
    expect(all.wakeId).not.toBe(any.wakeId)
    expect((await rig.state()).wait?.until).toBe('all')
  })

  it('with other words keeps the newer ones, and the session is woken once', async () => {
    const wakes = new HandWakes()
    const rig = await openRig(medium, { wakes })
    await rig.ask('update', { addWork: [work('a')] })
    await until(() => rig.executor.started.length === 1)
    for (const reason of ['a runs', 'a still runs']) await rig.ask('yield', { reason })
    expect((await rig.state()).wait?.reason).toBe('a still runs')
    await rig.end('a', done)
    await until(() => wakes.delivered.length === 1)
    await until(() => !rig.controller.expectsWake())
    expect(wakes.delivered).toHaveLength(1)
  })

  it('answers at once when something ended since the last view, once', async () => {
    const rig = await openRig(medium)
    await rig.ask('update', { addWork: [work('a'), work('b')] })
    await until(() => rig.executor.started.length === 2)
    await rig.say('view', {})
    await rig.end('a', { outcome: 'failed', reason: 'it broke' })
    await until(async () => (await rig.status('a')) === 'failed')
    const early = await rig.call('yield', {})
    expect(early.concludesTurn).not.toBe(true)
    expect(early.value).toMatchObject({
      deliveredOnIdle: false,
      changed: { ended: [{ workId: 'a', status: 'failed' }] },
    })
    expect(await rig.ask('yield', {})).toMatchObject({ deliveredOnIdle: true })
  })

  it('tells only what ended since the last view', async () => {
    const rig = await openRig(medium)
    await rig.ask('update', { addWork: [work('a'), work('b'), work('c')] })
    await until(() => rig.executor.started.length === 3)
    for (const id of ['a', 'b'] as const) {
      await rig.end(id, done)
      await until(async () => (await rig.status(id)) === 'completed')
      const { changed } = await rig.ask<YieldAnswer>('yield', {})
      expect((changed as unknown as GraphView).ended.map(({ workId }) => workId)).toEqual([id])
    }
  })

  it('waits for all in spite of what ended, and is answered at once when nothing is pending', async () => {
    const rig = await openRig(medium)
    await rig.ask('update', { addWork: [work('a'), work('b')] })
    await until(() => rig.executor.started.length === 2)
    await rig.end('a', done)
    await until(async () => (await rig.status('a')) === 'completed')
    expect(await rig.ask('yield', { until: 'all' })).toMatchObject({
      deliveredOnIdle: true,
      pendingWorkCount: 1,
    })
    await rig.end('b', done)
    await until(async () => (await rig.state()).counts.pending === 0)
    expect(await rig.ask('yield', { until: 'all' })).toMatchObject({
      deliveredOnIdle: false,
      pendingWorkCount: 0,
    })
  })

  it('loses no change that comes between its reading and its writing', async () => {
    const rig = await openRig(medium, { wakes: new HandWakes() })
    await rig.ask('update', { addWork: [work('a'), work('b')] })
    await until(() => rig.executor.started.length === 2)
    const registerWait = rig.store.registerWait.bind(rig.store)
    // The change arrives when the wait is registered and nothing is read for the answer yet.
    rig.store.registerWait = async (request) => {
      const wait = await registerWait(request)
      await rig.end('a', done)
      await until(async () => (await rig.status('a')) === 'completed')
      return wait
    }
    expect(await rig.ask('yield', {})).toMatchObject({
      deliveredOnIdle: false,
      changed: { ended: [{ workId: 'a' }] },
    })
  })

  it('refuses when nothing can ever wake it, with the reason, and writes nothing', async () => {
    const rig = await openRig(medium, { executor: eager() })
    expect((await rig.refusal('yield', {})).code).toBe('unknown_graph')
    await rig.ask('update', { addWork: [work('a')] })
    await until(async () => (await rig.state()).counts.pending === 0)
    await rig.say('view', {})
    const before = await rig.entries()
    expect(await rig.refusal('yield', {})).toMatchObject({
      code: 'nothing_to_yield',
      text: expect.stringContaining(
        'no work is pending, so nothing would wake you: finish the graph or add work',
      ) as string,
    })
    expect(await rig.entries()).toBe(before)
    await rig.ask('update', { finish: { resultIds: ['a'], reason: 'done' } })
    expect(await rig.refusal('yield', {})).toMatchObject({
      code: 'graph_closed',
      text: expect.stringContaining('answer the user') as string,
    })
  })

  it('refuses when all that is pending waits for the model itself', async () => {
    const executor = new HandExecutor(() => ({ outcome: 'interrupted', reason: 'cut off' }))
    const rig = await openRig(medium, { executor })
    await rig.ask('update', {
      addWork: [work('held', { replay: 'model' }), work('after', { inputIds: ['held'] })],
    })
    await until(async () =>
      [...(await rig.state()).claims.values()].some((claim) => claim.hold !== undefined),
    )
    // Nobody has told the model yet: the hold itself is the news.
    const told = await rig.ask('yield', {})
    expect(told).toMatchObject({ deliveredOnIdle: false, changed: { live: [{ workId: 'held' }] } })
    const { code, text } = await rig.refusal('yield', {})
    expect(code).toBe('nothing_to_yield')
    expect(text).toContain('every pending work waits for you: retry or stop held')
    await rig.ask('update', { addWork: [work('other', { replay: 'confirm' })] })
    await until(
      async () =>
        [...(await rig.state()).claims.values()].filter((claim) => claim.hold !== undefined).length === 2,
    )
    await rig.say('view', {})
    // A person may confirm it at any time.
    expect(await rig.ask('yield', {})).toMatchObject({ deliveredOnIdle: true, pendingWorkCount: 3 })
  })
})
