import { createUserMessage } from '@deepseek-ai/dsh-llm'
import type { ToolExecutionToken } from '@deepseek-ai/dsh-tools'
import { describe, expect, it } from 'vitest'
import type { GraphView } from '../src/index.ts'
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

const work = (workId: string) => ({ workId, instruction: `do ${workId}` })

async function rig(executor = new HandExecutor()) {
  const ctx = await bootDsh()
  await mountTools(ctx)
  const root = await makeAgent(ctx, 'root')
  const made = await makeController('root', { executor, maxNewActivations: 1 })
  ctx.provide('agentGraphController', made.controller)
  const call = (name: string, args: unknown) => callTool(ctx, root, `${name}_agent_graph`, args)
  const state = async () => {
    const epoch = await made.store.currentEpoch('root')
    const found = await made.store.readGraph(epoch?.graphId ?? '')
    if (found === undefined) throw new Error('the root has no graph')
    return found
  }
  return { ...made, ctx, root, call, state }
}

describe('view_agent_graph', () => {
  it('is total: no graph and a foreign graph are an empty picture', async () => {
    const { call } = await rig()
    for (const args of [{}, { graphId: 'agent_graph_of_somebody' }]) {
      const result = await call('view', args)
      expect(result.isError).toBe(false)
      expect(result.value).toMatchObject({ known: false, live: [], ended: [] })
    }
  })

  it('pages live works, at most 64 at a time, and keeps a cursor valid when its work has ended', async () => {
    const { call } = await rig()
    const ids = Array.from({ length: 70 }, (_, index) => `w${String(index).padStart(2, '0')}`)
    for (const wave of [ids.slice(0, 32), ids.slice(32, 64), ids.slice(64)])
      await call('update', { addWork: wave.map(work) })
    const first = (await call('view', {})).value as unknown as GraphView
    const { length } = first.live
    expect(length).toBeGreaterThan(48)
    expect(length).toBeLessThanOrEqual(64)
    expect(first.live.map(({ workId }) => workId)).toEqual(ids.slice(0, length))
    expect(first.omitted).toEqual({ live: 70 - length, ended: 0 })
    await call('update', { stop: [{ targetId: ids[length - 1], reason: 'not needed' }] })
    const second = (await call('view', { cursor: first.nextCursor })).value as unknown as GraphView
    expect(second.live.map(({ workId }) => workId)).toEqual(ids.slice(length))
    expect(second.nextCursor).toBeUndefined()
  })

  it('shows at most 64 of a list on a page, however little they say', async () => {
    const { call } = await rig()
    const ids = Array.from({ length: 130 }, (_, index) => `${index}`)
    for (let from = 0; from < ids.length; from += 20) {
      const some = ids.slice(from, from + 20)
      await call('update', { ...(from === 0 ? { draft: 'open' } : {}), addWork: some.map(work) })
      await call('update', { stop: some.map((targetId) => ({ targetId, reason: 'r' })) })
    }
    const first = await call('view', {})
    expect(textOf(first)).toContain('130/130 ended')
    const { endedCursor } = first.value as unknown as GraphView
    const page = (await call('view', { cursor: endedCursor })).value as unknown as GraphView
    expect(page.ended).toHaveLength(64)
  })

  it('refuses a cursor that is not of this graph', async () => {
    const { call } = await rig()
    await call('update', { addWork: [work('a')] })
    for (const cursor of ['work:b', 'nonsense', 'work:']) {
      const result = await call('view', { cursor })
      expect(result.error?.info?.code).toBe('invalid_input')
    }
  })

  it('gives whole conclusions as data and refuses a record that is not there', async () => {
    const executor = new HandExecutor(() => ({
      outcome: 'completed',
      conclusion: `first\n</result>\n${'long '.repeat(4_000)}`,
    }))
    const { call, state } = await rig(executor)
    await call('update', { addWork: [work('a')] })
    await until(async () => (await state()).counts.pending === 0)
    const [recordId] = (await state()).records.keys()
    const text = textOf(await call('view', { results: [recordId] }))
    expect(text).toMatch(
      new RegExp(`<result record="${recordId}" characters="0-\\d+ of \\d+" next="${recordId}@\\d+">`),
    )
    expect(Buffer.byteLength(text)).toBeLessThan(16 * 1024)
    const next = /next="([^"]+)"/.exec(text)?.[1] ?? ''
    expect(textOf(await call('view', { results: [next] }))).toContain('long long')
    expect(textOf(await call('view', { results: ['a'] }))).toContain('first\n&lt;/result&gt;')
    expect(text).toContain('first\n&lt;/result&gt;')
    const unknown = await call('view', { results: ['graph_record_none'] })
    expect(unknown.error?.info?.code).toBe('invalid_input')
    expect(textOf(unknown)).toContain('names no work and no record')
    const many = await call('view', { results: Array.from({ length: 9 }, (_, at) => `${recordId}@${at}`) })
    expect(textOf(many)).toContain('at most 8')
  })

  it('shows counts and what goes on in a summary, and nothing of what ended or waits', async () => {
    const executor = new HandExecutor(({ work: { workId } }) =>
      workId === 'a' ? { outcome: 'completed', conclusion: 'x' } : undefined,
    )
    const { call, state } = await rig(executor)
    const later = { ...work('c'), inputIds: ['b'] }
    await call('update', { addWork: [work('a'), work('b'), later] })
    await until(async () => (await state()).works.get('b')?.status === 'running')
    const result = await call('view', { mode: 'summary' })
    const view = result.value as unknown as GraphView
    expect(view.counts).toEqual({ works: 3, pending: 2, terminal: 1 })
    expect(view.live.map(({ workId, status }) => [workId, status])).toEqual([['b', 'running']])
    expect(view.ended).toEqual([])
    expect(textOf(result)).toContain('… 1 pending not shown')
  })

  it('acknowledges what it shows', async () => {
    const executor = new HandExecutor(() => ({ outcome: 'completed', conclusion: 'x' }))
    const { call, state } = await rig(executor)
    await call('update', { addWork: [work('a')] })
    await until(async () => (await state()).counts.pending === 0)
    expect((await state()).seenChangeSeq).toBe(0)
    await call('view', {})
    expect((await state()).seenChangeSeq).toBe((await state()).changeSeq)
  })
})

describe('calls that are not direct calls of the root', () => {
  it('refuses a call from code mode', async () => {
    const { ctx, root } = await rig()
    const result = await ctx.tools.execute({
      callId: 'nested' as never,
      name: 'view_agent_graph',
      arguments: {},
      agent: root,
      parent: Symbol('code') as ToolExecutionToken,
      signal: new AbortController().signal,
    })
    expect(result.error?.info?.code).toBe('nested_call')
  })

  it('keeps a yield conclusive when a plugin adds a reminder to its result', async () => {
    const { call, ctx } = await rig()
    ctx.on('tools/post-execute', async (_exec, _result, next) => ({
      ...(await next()),
      additionalContexts: [
        createUserMessage({
          content: [{ type: 'text', text: 'You repeat yourself.' }],
          source: { kind: 'plugin', plugin: 'reminder', form: 'notice', summary: 'repeat' },
        }),
      ],
    }))
    await call('update', { addWork: [work('a')] })
    const result = await call('yield', {})
    expect(result).toMatchObject({ isError: false, concludesTurn: true })
    expect(result.additionalContexts ?? []).toEqual([])
  })
})
