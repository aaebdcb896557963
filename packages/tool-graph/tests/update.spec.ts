import { describe, expect, it } from 'vitest'
import { memoryLog, type DurableLog } from 'dsh-durable-log'
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

async function rig(log: DurableLog = memoryLog()) {
  const ctx = await bootDsh()
  await mountTools(ctx)
  const root = await makeAgent(ctx, 'root')
  const executor = new HandExecutor()
  const made = await makeController(
    'root',
    {
      executor,
      catalog: () => ({ agents: [{ id: 'default' }, { id: 'writer' }], presets: [] }),
    },
    log,
  )
  ctx.provide('agentGraphController', made.controller)
  const update = (args: unknown, callId?: string) => callTool(ctx, root, 'update_agent_graph', args, callId)
  const entries = async () => {
    const { streams } = await log.list()
    return streams.reduce((sum, head) => sum + head.seq, 0)
  }
  return { ...made, ctx, root, executor, update, entries }
}

const work = (workId: string, rest: object = {}) => ({ workId, instruction: `do ${workId}`, ...rest })

describe('update_agent_graph', () => {
  it('opens the first graph of a root and shows its works', async () => {
    const { update, store } = await rig()
    const result = await update({ addWork: [work('a'), work('b'), work('c', { inputIds: ['a', 'b'] })] })
    expect(result.isError).toBe(false)
    expect(textOf(result)).toContain('Committed as revision 1. Graph')
    expect(textOf(result)).toMatch(/- a \[.*\n- b \[.*\n- c \[waiting\] do c; inputs a, b; waits for a, b/)
    const epoch = await store.currentEpoch('root')
    const state = await store.readGraph(epoch?.graphId ?? '')
    expect([...(state?.works.keys() ?? [])]).toEqual(['a', 'b', 'c'])
    expect(state?.works.get('c')).toMatchObject({ status: 'waiting', waitingFor: ['a', 'b'] })
  })

  it('commits a replayed call once', async () => {
    const { update, store } = await rig()
    await update({ addWork: [work('a')] }, 'same')
    const again = await update({ addWork: [work('a')] }, 'same')
    expect(textOf(again)).toContain('Already committed as revision 1')
    const epoch = await store.currentEpoch('root')
    expect(await store.listScheduleUpdates(epoch?.graphId ?? '')).toHaveLength(1)
  })

  it('commits the same idempotency key once, over calls', async () => {
    const { update, store } = await rig()
    await update({ addWork: [work('a')], idempotencyKey: 'k' })
    expect(textOf(await update({ addWork: [work('a')], idempotencyKey: 'k' }))).toContain('Already committed')
    const other = await update({ addWork: [work('b')], idempotencyKey: 'k' })
    expect(other.error?.info?.code).toBe('schedule-update-conflict')
    const epoch = await store.currentEpoch('root')
    expect(await store.listScheduleUpdates(epoch?.graphId ?? '')).toHaveLength(1)
  })

  it('understands what models send for "not given"', async () => {
    const { update } = await rig()
    const result = await update({
      graphId: null,
      operation: 'add_work',
      stop: [],
      finish: null,
      idempotencyKey: '',
      addWork: [
        {
          ...work('a'),
          targetKind: 'new_agent',
          agentId: 'writer',
          subagentId: '',
          operatorId: null,
          replaces: '',
        },
        {
          ...work('b'),
          targetKind: 'new_agent',
          agentId: 'writer',
          operatorId: 'x',
          replacementMode: 'none',
          replaces: 'a',
        },
      ],
    })
    expect(textOf(result)).toContain('Committed as revision 1')
  })

  it.each([
    ['nothing to do', {}, 'give at least one of'],
    ['an operation without its payload', { operation: 'stop' }, 'operation stop needs its payload'],
    [
      'finish with work',
      { addWork: [work('a')], finish: { resultIds: [], reason: 'r' } },
      'finish excludes addWork and retry',
    ],
    ['an unknown agent', { addWork: [work('a', { agentId: 'nobody' })] }, 'available: default, writer'],
    ['a preset where there is none', { addWork: [work('a', { subagentId: 'p' })] }, 'available: none'],
    ['two targets', { addWork: [work('a', { agentId: 'default', operatorId: 'o' })] }, 'names 2 targets'],
    [
      'a kind without its id',
      { addWork: [work('a', { targetKind: 'existing_operator' })] },
      'needs operatorId',
    ],
    ['a replacement of nothing', { addWork: [work('a', { replacementMode: 'replace' })] }, 'needs replaces'],
    ['an input twice', { addWork: [work('a'), work('b', { inputIds: ['a', 'a'] })] }, 'names a twice'],
    ['33 works', { addWork: Array.from({ length: 33 }, (_, index) => work(`w${index}`)) }, 'at most 32'],
    [
      '65 inputs',
      { addWork: [work('a', { inputIds: Array.from({ length: 65 }, (_, i) => `i${i}`) })] },
      'at most 64',
    ],
    ['a long instruction', { addWork: [{ instruction: 'x'.repeat(60_001) }] }, 'at most 60000'],
    ['a missing instruction', { addWork: [{ workId: 'a' }] }, 'instruction'],
    ['works that are no list', { addWork: 'a' }, 'addWork'],
    ['a foreign graph', { graphId: 'agent_graph_x', addWork: [work('a')] }, '[unknown_graph]'],
    ['a stop before any graph', { stop: [{ targetId: 'a', reason: 'r' }] }, '[unknown_graph]'],
    [
      'a selected result of nowhere',
      { addWork: [work('a', { selectedResultInputs: [{ sourceGraphId: 'g', resultId: 'r' }] })] },
      'selectedResultInputs',
    ],
  ])('refuses %s and writes nothing', async (_title, args, text) => {
    const { update, entries } = await rig()
    const before = await entries()
    const result = await update(args)
    expect(result.isError).toBe(true)
    expect(textOf(result)).toContain(text)
    expect(result.error?.info?.code).toBeDefined()
    expect(await entries()).toBe(before)
  })

  it('accepts 32 works and 64 inputs, the bounds themselves', async () => {
    const { update } = await rig()
    expect((await update({ addWork: Array.from({ length: 32 }, (_, i) => work(`a${i}`)) })).isError).toBe(
      false,
    )
    expect((await update({ addWork: Array.from({ length: 32 }, (_, i) => work(`b${i}`)) })).isError).toBe(
      false,
    )
    const inputIds = ['a', 'b'].flatMap((wave) => Array.from({ length: 32 }, (_, i) => `${wave}${i}`))
    expect((await update({ addWork: [work('join', { inputIds })] })).isError).toBe(false)
  })

  it('refuses to finish while work is pending and with unknown results', async () => {
    const { update, executor, store } = await rig()
    await update({ addWork: [work('a')] })
    const early = await update({ finish: { resultIds: [], reason: 'done' } })
    expect(early.isError).toBe(true)
    await until(() => executor.started.length === 1)
    const epoch = await store.currentEpoch('root')
    const graphId = epoch?.graphId ?? ''
    const claim = [...((await store.readGraph(graphId))?.claims.values() ?? [])][0]
    executor.end(claim?.targetRunId ?? '', { outcome: 'completed', conclusion: 'text' })
    await until(async () => (await store.readGraph(graphId))?.counts.pending === 0)
    expect((await update({ finish: { resultIds: ['graph_record_x'], reason: 'done' } })).isError).toBe(true)
    const recordId = [...((await store.readGraph(graphId))?.records.keys() ?? [])][0] ?? ''
    const done = await update({ finish: { resultIds: [recordId], reason: 'done' } }, 'finishing')
    expect(textOf(done)).toContain('finished, revision 2')
    // The finishing call replayed is answered by the graph it finished.
    expect(
      textOf(await update({ finish: { resultIds: [recordId], reason: 'done' } }, 'finishing')),
    ).toContain('Already committed')
    // The next work opens the next graph, which may take results of the finished one.
    const next = await update({
      addWork: [work('a', { selectedResultInputs: [{ sourceGraphId: graphId, resultId: recordId }] })],
    })
    expect(next.isError).toBe(false)
    expect((await store.currentEpoch('root'))?.epoch).toBe(2)
    await until(() => executor.started.length === 2)
    expect(executor.prompts.get('a')).toContain('text')
  })
})
