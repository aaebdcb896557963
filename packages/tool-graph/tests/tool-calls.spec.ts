/** What the tools do, through the real tool runtime, on each medium that graphs are kept on. */
import { DurableLogError } from 'dsh-durable-log'
import { describe, expect, it } from 'vitest'
import type { ToolExecutionToken } from '@deepseek-ai/dsh-tools'
import { registerAgentGraphTools, type GraphView, type UpdateAnswer } from '../src/index.ts'
import {
  bootDsh,
  callTool,
  HandExecutor,
  makeAgent,
  makeController,
  mountTools,
  textOf,
  until,
} from './host.ts'
import { eager, MEDIA, openMedium, openRig, work } from './rig.ts'

const TOOLS = [
  ['view_agent_graph', {}],
  ['update_agent_graph', { addWork: [work('a')] }],
  ['yield_agent_graph', {}],
] as const

describe.each(MEDIA)('who may call, on %s', (medium) => {
  it('is unavailable without a host, and works when one appears, goes and comes again', async () => {
    const ctx = await bootDsh()
    await mountTools(ctx)
    const root = await makeAgent(ctx, 'root')
    const log = await openMedium(medium)
    for (const [name, args] of TOOLS)
      expect((await callTool(ctx, root, name, args)).error?.info?.code).toBe('agent-graph-unavailable')
    const { controller } = await makeController('root', { executor: new HandExecutor() }, log)
    const undo = ctx.provide('agentGraphController', controller)
    for (const [name, args] of TOOLS.slice(0, 2))
      expect((await callTool(ctx, root, name, args)).isError).toBe(false)
    undo()
    expect((await callTool(ctx, root, 'view_agent_graph', {})).error?.info?.code).toBe(
      'agent-graph-unavailable',
    )
    ctx.provide('agentGraphController', controller)
    expect(textOf(await callTool(ctx, root, 'view_agent_graph', {}))).toContain('- a [')
  })

  it('refuses another root, a child session, and code, and writes nothing for them', async () => {
    const rig = await openRig(medium)
    const other = await makeAgent(rig.ctx, 'other')
    const child = await makeAgent(rig.ctx, 'child', rig.root)
    const before = await rig.entries()
    for (const [name, args] of TOOLS) {
      expect((await callTool(rig.ctx, other, name, args)).error?.info?.code).toBe('not_root_session')
      // A child has none of the tools; one that gets at them all the same is refused by the body.
      expect(textOf(await callTool(rig.ctx, child, name, args))).toContain('unknown tool')
      const nested = await rig.ctx.tools.execute({
        callId: `nested ${name}` as never,
        name,
        arguments: args,
        agent: rig.root,
        parent: Symbol('code') as ToolExecutionToken,
        signal: new AbortController().signal,
      })
      expect(nested.error?.info?.code).toBe('nested_call')
    }
    // As a host does it that registers them for everybody.
    registerAgentGraphTools(rig.ctx)
    for (const [name, args] of TOOLS)
      expect((await callTool(rig.ctx, child, name, args)).error?.info?.code).toBe('not_root_session')
    expect(await rig.entries()).toBe(before)
  })
})

describe.each(MEDIA)('one call, on %s', (medium) => {
  it('commits one update and runs no provider and no operator', async () => {
    const rig = await openRig(medium)
    const requests: unknown[] = []
    rig.ctx.on('llm/stream', (request, next) => {
      requests.push(request)
      return next()
    })
    const answer = await rig.ask<UpdateAnswer>('update', {
      draft: 'open',
      addWork: [work('a'), work('b', { inputIds: ['a'] })],
    })
    expect(answer.update).toMatchObject({ revision: 1, created: true, workIds: ['a', 'b'] })
    // The epoch, its graph, and the update: a draft is driven by nobody.
    expect(await rig.entries()).toBe(3)
    const before = await rig.entries()
    await rig.ask('update', { addWork: [work('c')], stop: [{ targetId: 'a', reason: 'r' }], retry: [] })
    expect(await rig.entries()).toBe(before + 1)
    expect(
      (await rig.store.listScheduleUpdates((await rig.state()).graphId)).map(({ revision }) => revision),
    ).toEqual([1, 2])
    expect(rig.executor.started).toEqual([])
    expect(requests).toEqual([])
  })

  it('shows nothing as written that a refusal stopped', async () => {
    const rig = await openRig(medium)
    await rig.ask('update', { draft: 'open', addWork: [work('a')] })
    const before = await rig.entries()
    const { code } = await rig.refusal('update', { addWork: [work('b'), work('c', { inputIds: ['d'] })] })
    expect(code).toBe('invalid_input')
    expect((await rig.refusal('update', { addWork: [work('b'), work('a')] })).code).toBe('work-conflict')
    expect(await rig.entries()).toBe(before)
    expect([...(await rig.state()).works.keys()]).toEqual(['a'])
  })
})

describe.each(MEDIA)('replays and retries, on %s', (medium) => {
  it('answers a replayed call with what it committed, also when its works have moved on', async () => {
    const rig = await openRig(medium, { executor: eager() })
    const args = { addWork: [work('a')] }
    const first = await rig.ask<UpdateAnswer>('update', args, 'same')
    await until(async () => (await rig.state()).counts.pending === 0)
    const again = await rig.ask<UpdateAnswer>('update', args, 'same')
    expect(again.update).toEqual({ ...first.update, created: false })
    expect((await rig.refusal('update', { addWork: [work('a')] })).code).toBe('work-conflict')
    const other = await rig.call('update', { addWork: [work('b')] }, 'same')
    expect(other.error?.info?.code).toBe('schedule-update-conflict')
  })

  it('takes the same call id in a later turn as another call', async () => {
    const rig = await openRig(medium)
    await rig.ask('update', { addWork: [work('a')] }, 'call_0')
    rig.beginTurn(1)
    const later = await rig.ask<UpdateAnswer>('update', { addWork: [work('b')] }, 'call_0')
    expect(later.update).toMatchObject({ created: true, revision: 2 })
    const [one, two] = await rig.store.listScheduleUpdates((await rig.state()).graphId)
    expect(one?.source).toEqual({
      sessionId: 'root',
      runId: 'graph_run_0',
      turnId: 'graph_turn_0',
      toolCallId: 'call_0',
    })
    expect(two?.source).toEqual({
      sessionId: 'root',
      runId: 'graph_run_1',
      turnId: 'graph_turn_1',
      toolCallId: 'call_0',
    })
  })

  it('commits a keyed update once, over turns, a finish, and the graphs after it', async () => {
    const rig = await openRig(medium, { executor: eager() })
    const args = { addWork: [work('a')], idempotencyKey: 'wave 1' }
    const { update } = await rig.ask<UpdateAnswer>('update', args)
    const { graphId } = await rig.state()
    rig.beginTurn(1)
    expect((await rig.ask<UpdateAnswer>('update', args)).update).toEqual({ ...update, created: false })
    await until(async () => (await rig.state()).counts.pending === 0)
    await rig.ask('update', { finish: { resultIds: ['a'], reason: 'done' }, idempotencyKey: 'end' })
    rig.beginTurn(2)
    expect((await rig.ask<UpdateAnswer>('update', args)).update).toEqual({ ...update, created: false })
    await rig.ask('update', { addWork: [work('b')] })
    rig.beginTurn(3)
    const last = await rig.ask<UpdateAnswer>('update', args)
    expect(last.update).toEqual({ ...update, created: false })
    expect(last.graph).toMatchObject({ graphId, closed: true })
    expect((await rig.state()).works.has('a')).toBe(false)
    const conflict = await rig.refusal('update', { addWork: [work('z')], graphId, idempotencyKey: 'wave 1' })
    expect(conflict.code).toBe('schedule-update-conflict')
  })
})

describe.each(MEDIA)('what an update may ask for, on %s', (medium) => {
  it('stops a work, and what waits for it only when told to', async () => {
    const rig = await openRig(medium)
    await rig.ask('update', {
      addWork: [
        work('a'),
        work('b', { inputIds: ['a'] }),
        work('c', { inputIds: ['b'], when: 'always' }),
        work('d'),
      ],
    })
    await until(() => rig.executor.started.length === 2)
    await rig.ask('update', { stop: [{ targetId: 'a', reason: 'no more', cascadeDownstream: true }] })
    expect(await rig.status('c')).toBe('stopped')
    expect(await rig.status('d')).toBe('running')
    await until(() => rig.executor.cancelled.includes('a'))
    await rig.ask('update', { stop: [{ targetId: (await rig.work('d')).operatorId, reason: 'by operator' }] })
    expect(await rig.status('d')).toBe('stopped')
    await rig.ask('update', { addWork: [work('e'), work('f', { inputIds: ['e'], when: 'always' })] })
    await rig.ask('update', { stop: [{ targetId: 'e', reason: 'alone' }] })
    await until(async () => (await rig.status('f')) === 'running')
    await rig.ask('update', { stop: [{ targetId: 'graph', reason: 'all of it' }] })
    expect((await rig.state()).counts.pending).toBe(0)
  })

  it('skips what its condition forbids, with the reason, and what depends on it', async () => {
    const executor = new HandExecutor(({ work: { workId } }) =>
      workId === 'bad'
        ? { outcome: 'failed', reason: 'it broke' }
        : { outcome: 'completed', conclusion: workId },
    )
    const rig = await openRig(medium, { executor })
    const inputIds = ['good', 'bad']
    await rig.ask('update', {
      addWork: [
        work('good'),
        work('bad'),
        work('all', { inputIds }),
        work('any', { inputIds, when: 'any' }),
        work('always', { inputIds: ['bad'], when: 'always' }),
        work('after', { inputIds: ['all'] }),
      ],
    })
    await until(async () => (await rig.state()).counts.pending === 0)
    expect(await rig.work('all')).toMatchObject({ status: 'skipped', reason: 'input bad failed' })
    expect(await rig.work('after')).toMatchObject({ status: 'skipped', reason: 'input all skipped' })
    expect(await rig.status('any')).toBe('completed')
    expect(await rig.status('always')).toBe('completed')
    const text = await rig.say('view', {})
    expect(text).toContain('- all [skipped] do all; inputs good, bad (input bad failed)')
    expect(text).toContain('(it broke)')
  })

  it('does a work for each record of an input and joins once', async () => {
    const executor = new HandExecutor(({ work: { workId } }) =>
      workId === 'list'
        ? {
            outcome: 'completed',
            conclusion: 'three',
            artifacts: ['x', 'y', 'z'].map((name) => ({ name, text: name })),
          }
        : { outcome: 'completed', conclusion: `result of ${workId}` },
    )
    const rig = await openRig(medium, { executor })
    await rig.ask('update', {
      addWork: [
        work('list'),
        work('each', { inputIds: ['list'], forEach: 'list' }),
        work('join', { inputIds: ['each'] }),
      ],
    })
    await until(async () => (await rig.state()).counts.pending === 0)
    expect(await rig.work('each')).toMatchObject({
      status: 'completed',
      itemWorkIds: ['each#1', 'each#2', 'each#3'],
    })
    expect(executor.started.filter((started) => started.startsWith('join'))).toEqual(['join#1'])
    const view = await rig.ask<GraphView>('view', {})
    expect(view.ended.find(({ workId }) => workId === 'each')).toMatchObject({
      items: { total: 3, pending: 0 },
    })
    const { results } = await rig.ask<{ results: { text: string }[] }>('view', { results: ['each'] })
    expect(results.map(({ text }) => text)).toEqual([
      'result of each#1',
      'result of each#2',
      'result of each#3',
    ])
  })

  it('replaces a work: what waited for it waits for the other', async () => {
    const rig = await openRig(medium)
    await rig.ask('update', { addWork: [work('a'), work('b', { inputIds: ['a'] })] })
    await until(() => rig.executor.started.length === 1)
    await rig.ask('update', { addWork: [work('a2', { replaces: 'a' })] })
    expect(await rig.work('a')).toMatchObject({ status: 'superseded', replacedBy: 'a2' })
    await until(() => rig.executor.started.includes('a2#1'))
    await rig.end('a2', { outcome: 'completed', conclusion: 'the second a' })
    await until(() => rig.executor.started.includes('b#1'))
    expect(rig.executor.prompts.get('b')).toContain('the second a')
    expect(await rig.say('view', {})).toContain('- a [superseded] do a')
    expect((await rig.refusal('update', { addWork: [work('a3', { replaces: 'a' })] })).text).toContain(
      'replaced by a2; replace that one',
    )
  })

  it('runs nothing of a draft until it is committed, which is one idempotent act', async () => {
    const rig = await openRig(medium)
    await rig.ask('update', { draft: 'open', addWork: [work('a')] })
    await rig.ask('update', { addWork: [work('b')] })
    await rig.controller.whenQuiet()
    expect(rig.executor.started).toEqual([])
    expect(await rig.say('view', {})).toContain('waits for the draft to be committed')
    expect((await rig.refusal('yield', {})).text).toContain('[nothing_to_yield] the graph is a draft')
    const first = await rig.ask<UpdateAnswer>('update', { draft: 'commit' }, 'commit')
    expect((await rig.ask<UpdateAnswer>('update', { draft: 'commit' }, 'commit')).update).toEqual({
      ...first.update,
      created: false,
    })
    await until(() => rig.executor.started.length === 2)
    expect((await rig.refusal('update', { draft: 'commit' })).code).toBe('draft-conflict')
  })

  it('retries what failed; a hold for the model is its own to end, one for a person is not', async () => {
    const executor = new HandExecutor(({ attempt, work: { workId, retries } }) => {
      if (workId === 'broken')
        return retries === 0
          ? { outcome: 'failed', reason: 'it broke' }
          : { outcome: 'completed', conclusion: 'mended' }
      return attempt === 1
        ? { outcome: 'interrupted', reason: 'cut off' }
        : { outcome: 'completed', conclusion: 'second try' }
    })
    const rig = await openRig(medium, { executor })
    await rig.ask('update', {
      addWork: [work('broken'), work('mine', { replay: 'model' }), work('yours', { replay: 'confirm' })],
    })
    const heldCount = async () =>
      [...(await rig.state()).claims.values()].filter((claim) => claim.hold !== undefined).length
    await until(async () => (await heldCount()) === 2 && (await rig.status('broken')) === 'failed')
    const text = await rig.say('view', {})
    expect(text).toContain('- mine [running] do mine; waits for you (retry it): attempt 1: cut off')
    expect(text).toContain('- yours [running] do yours; waits for a person: attempt 1: cut off')
    await rig.ask('update', { retry: ['broken', 'mine'].map((workId) => ({ workId, reason: 'once more' })) })
    await until(
      async () => (await rig.status('mine')) === 'completed' && (await rig.status('broken')) === 'completed',
    )
    expect((await rig.refusal('update', { retry: [{ workId: 'yours', reason: 'go on' }] })).text).toContain(
      'a person has to confirm it first',
    )
  })

  it('takes results of earlier graphs that those were finished with, by record or by work', async () => {
    const rig = await openRig(medium, { executor: eager() })
    await rig.ask('update', { addWork: [work('kept'), work('left')] })
    await until(async () => (await rig.state()).counts.pending === 0)
    const { graphId: sourceGraphId } = await rig.state()
    expect(
      (
        await rig.refusal('update', {
          addWork: [work('x', { selectedResultInputs: [{ sourceGraphId, resultId: 'kept' }] })],
        })
      ).text,
    ).toContain('is not finished')
    await rig.ask('update', { finish: { resultIds: ['kept'], reason: 'done' } })
    await rig.ask('update', {
      addWork: [work('next', { selectedResultInputs: [{ sourceGraphId, resultId: 'kept' }] })],
    })
    await until(() => rig.executor.started.includes('next#1'))
    expect(rig.executor.prompts.get('next')).toContain('result of kept')
    const { text } = await rig.refusal('update', {
      addWork: [work('y', { selectedResultInputs: [{ sourceGraphId, resultId: 'left' }] })],
    })
    expect(text).toContain('finished with: kept')
    // The earlier graph stays readable, its results too.
    expect(await rig.say('view', { graphId: sourceGraphId, results: ['left'] })).toContain('result of left')
  })
})

describe('a medium that fails', () => {
  it('is told with its code, and the next call goes on', async () => {
    const rig = await openRig('SQLite')
    await rig.ask('update', { draft: 'open', addWork: [work('a')] })
    const append = rig.store.commitScheduleUpdate.bind(rig.store)
    rig.store.commitScheduleUpdate = () =>
      Promise.reject(new DurableLogError('unavailable', 'the disk is full'))
    const { code, text } = await rig.refusal('update', { addWork: [work('b')] })
    expect([code, text]).toEqual(['unavailable', 'Error: [unavailable] the disk is full'])
    rig.store.commitScheduleUpdate = append
    await rig.ask('update', { addWork: [work('b')] })
    expect([...(await rig.state()).works.keys()]).toEqual(['a', 'b'])
  })
})
