import { MemorySaver, StateGraph } from '@langchain/langgraph'
import { describe, expect, it, vi } from 'vitest'
import { createGraphDefinition, type GraphBuilder, type GraphInvocable } from '../src/index.ts'
import { echoBuilder, EchoState, topicOnly } from './graphs.ts'
import { bootGraphs, define, errorOf, valueOf } from './host.ts'

const declared = { name: 'echo', description: 'd', parameters: topicOnly, asTool: true } as const

describe('a builder', () => {
  it('is built and compiled at the first call, plainly, and once (R28) (R29) (R62) (R63) (R66) (R78)', async () => {
    const host = await bootGraphs()
    const builder = echoBuilder()
    const compile = vi.spyOn(builder, 'compile')
    const build = vi.fn(() => builder)
    define({ ...declared, build })
    expect(build).not.toHaveBeenCalled()
    for (let i = 0; i < 3; i++) valueOf(await host.call('echo', { topic: 'x' }))
    expect(build.mock.calls).toEqual([[]])
    expect(compile.mock.calls).toEqual([[]])
  })

  it('is built and compiled once for many first calls at a time (R64) (R66)', async () => {
    const host = await bootGraphs()
    const builder = echoBuilder()
    const compile = vi.spyOn(builder, 'compile')
    const build = vi.fn(async () => builder)
    define({ ...declared, build })
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => host.call('echo', { topic: `t${i}` })),
    )
    expect(results.map((result) => valueOf(result))).toEqual(
      results.map((_, i) => ({ topic: `t${i}`, log: [`seen:t${i}`] })),
    )
    expect(build).toHaveBeenCalledTimes(1)
    expect(compile).toHaveBeenCalledTimes(1)
  })

  it('that cannot be compiled fails each call with its own error until it can (R65)', async () => {
    const host = await bootGraphs()
    const builder = new StateGraph(EchoState).addNode('lost', () => ({ log: ['found'] }))
    define({ ...declared, build: () => builder })
    const entry = host.graphTools().get('echo')
    const failures = await Promise.allSettled([1, 2].map(() => entry?.run({ topic: 'x' }, {})))
    const reasons = failures.map((failure) => (failure.status === 'rejected' ? failure.reason : undefined))
    expect(reasons[0]).toMatchObject({ name: 'UnreachableNodeError' })
    expect(reasons[0]).toBe(reasons[1])
    expect(errorOf(await host.call('echo', { topic: 'x' })).message).toContain('not reachable')
    builder.addEdge('__start__', 'lost')
    expect(valueOf(await host.call('echo', { topic: 'x' }))).toEqual({ topic: 'x', log: ['found'] })
  })

  it('whose structure was read at mount is built once all the same (R66)', async () => {
    const host = await bootGraphs()
    const build = vi.fn(echoBuilder)
    const definition = createGraphDefinition({ name: 'echo', build })
    for (let i = 0; i < 3; i++) {
      const entry = host.graphTools().mount(definition, host.ctx)
      await entry.run({ input: { topic: 'x' } }, {})
      await entry.dispose()
    }
    expect(build).toHaveBeenCalledTimes(1)
  })
})

describe('an author’s own compiled graph', () => {
  it('is used as it is (4.3 row 31) (R30) (R79)', async () => {
    const host = await bootGraphs()
    const compiled = echoBuilder().compile({ checkpointer: new MemorySaver() })
    const invoke = vi.spyOn(compiled, 'invoke')
    const withConfig = vi.spyOn(compiled, 'withConfig')
    const own = Object.keys(compiled)
    define({ ...declared, threadId: 'one', build: () => compiled })
    valueOf(await host.call('echo', { topic: 'a' }))
    expect(valueOf(await host.call('echo', { topic: 'b' }))).toEqual({
      topic: 'b',
      log: ['seen:a', 'seen:b'],
    })
    expect(invoke).toHaveBeenCalledTimes(2)
    expect(withConfig).not.toHaveBeenCalled()
    expect(Object.keys(compiled)).toEqual(own)
  })

  it('keeps its memory over a reload of the plugin (R66)', async () => {
    const host = await bootGraphs()
    const build = vi.fn(() => echoBuilder().compile({ checkpointer: new MemorySaver() }))
    const definition = createGraphDefinition({ ...declared, threadId: 'one', build })
    const first = host.graphTools().mount(definition, host.ctx)
    valueOf(await host.call('echo', { topic: 'a' }))
    await first.dispose()
    host.graphTools().mount(definition, host.ctx)
    expect(valueOf(await host.call('echo', { topic: 'b' }))).toMatchObject({ log: ['seen:a', 'seen:b'] })
    expect(build).toHaveBeenCalledTimes(1)
  })
})

describe('a factory', () => {
  it('may be async; nothing is read before the call then (4.8 row 70)', async () => {
    const host = await bootGraphs()
    define({ name: 'late', asTool: true, build: async () => echoBuilder() })
    expect(host.graphTools().get('late')?.description).toBe('Runs the graph "late".')
    expect(valueOf(await host.call('late', { input: { topic: 'x' } }))).toMatchObject({ log: ['seen:x'] })
  })

  it('that throws at mount is warned about, fails calls with its error, and is tried again', async () => {
    const host = await bootGraphs()
    const failure = new Error('no database')
    const build = vi.fn<() => GraphBuilder>(() => {
      throw failure
    })
    define({ name: 'flaky', build })
    expect(host.warnings()).toEqual(['graph "flaky": build failed, a call will try again: no database'])
    const run = () =>
      host
        .graphTools()
        .get('flaky')
        ?.run({ input: { topic: 'x' } }, {})
    await expect(run()).rejects.toBe(failure)
    build.mockImplementation(echoBuilder)
    await expect(run()).resolves.toMatchObject({ log: ['seen:x'] })
    await expect(run()).resolves.toMatchObject({ log: ['seen:x'] })
    expect(build).toHaveBeenCalledTimes(3)
  })

  it('that rejects before anybody calls is tried again by the call', async () => {
    const host = await bootGraphs()
    const build = vi.fn<() => Promise<GraphInvocable>>()
    build.mockRejectedValueOnce(new Error('not yet')).mockResolvedValue({ invoke: async () => 'ready' })
    define({ name: 'later', build })
    await new Promise((done) => setImmediate(done))
    await expect(host.graphTools().get('later')?.run({ input: 1 }, {})).resolves.toBe('ready')
  })

  it.each([undefined, null, 3, 'graph', {}, []])('that gives %j is told what to return', async (product) => {
    const host = await bootGraphs()
    define({ ...declared, build: () => product as unknown as GraphBuilder })
    const { code, message } = errorOf(await host.call('echo', { topic: 'x' }))
    expect(code).toBe('GRAPH_DEFINITION')
    expect(message).toMatch(/build\(\) returned .*return a StateGraph builder or a compiled graph/)
  })

  it('whose builder compiles to nothing is told so', async () => {
    const host = await bootGraphs()
    define({ ...declared, build: () => ({ compile: () => undefined as unknown as GraphInvocable }) })
    expect(errorOf(await host.call('echo', { topic: 'x' })).message).toContain('compile() returned undefined')
  })
})
