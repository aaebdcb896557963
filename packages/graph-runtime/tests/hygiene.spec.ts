import { Annotation, InMemoryStore, MemorySaver, START, StateGraph } from '@langchain/langgraph'
import { describe, expect, it, vi } from 'vitest'
import { createGraphDefinition, type GraphDefinitionOptions, type GraphInvocable } from '../src/index.ts'
import { echoBuilder, endingWith, topicOnly } from './graphs.ts'
import { bootGraphs, define, errorOf, valueOf } from './host.ts'

async function mounted(options: Partial<GraphDefinitionOptions> & Pick<GraphDefinitionOptions, 'build'>) {
  const host = await bootGraphs()
  const definition = createGraphDefinition({
    name: 'g',
    description: 'd',
    parameters: { input: { type: 'json' } },
    asTool: true,
    ...options,
  })
  const entry = host.graphTools().mount(definition, host.ctx)
  return { host, entry, call: () => host.call('g', { input: 1 }) }
}

function noting(configs: object[]): () => GraphInvocable {
  return () => ({
    invoke: async (_input, config = {}) => {
      const { signal: _, ...rest } = config as Record<string, unknown>
      configs.push(rest)
      return {}
    },
  })
}

describe('options of LangGraph', () => {
  it('reach it as they are, and only those that were given (R50)', async () => {
    const configs: object[] = []
    const store = new InMemoryStore()
    const context = { tenant: 'a' }
    const { call } = await mounted({
      build: noting(configs),
      context,
      durability: 'exit',
      store,
      recursionLimit: 7,
    })
    context.tenant = 'b'
    valueOf(await call())
    expect(configs).toEqual([{ context: { tenant: 'a' }, durability: 'exit', store, recursionLimit: 7 }])
    expect(Reflect.get(configs[0] ?? {}, 'store')).toBe(store)
    const few = await mounted({ build: noting(configs), durability: 'sync' })
    valueOf(await few.call())
    expect(Object.keys(configs[1] ?? {})).toEqual(['durability'])
  })

  it('work: a node sees context and store', async () => {
    const store = new InMemoryStore()
    await store.put(['notes'], 'one', { text: 'kept' })
    const build = () =>
      new StateGraph(Annotation.Root({ input: Annotation<unknown>, out: Annotation<unknown> }))
        .addNode('read', async (_state, config) => ({
          out: [
            (config as { context?: { tenant?: string } }).context?.tenant,
            (await config.store?.get(['notes'], 'one'))?.value,
          ],
        }))
        .addEdge(START, 'read')
    const { call } = await mounted({ build, context: { tenant: 'a' }, store })
    expect(valueOf(await call())).toMatchObject({ out: ['a', { text: 'kept' }] })
  })

  it.each([
    [{ context: 'a' }, 'context must be a plain object'],
    [{ context: new Map() }, 'context must be a plain object'],
    [{ durability: 'never' }, 'durability must be "exit", "async" or "sync"'],
    [{ store: {} }, 'store must be a LangGraph store'],
    [{ store: null }, 'store must be a LangGraph store'],
    [{ recursionLimit: 2.5 }, 'recursionLimit must be a whole number of at least 1'],
    [{ drain: 1 }, 'drain must be true or false'],
  ])('that make no sense are refused: %j', (options, text) => {
    const build = () => ({ invoke: async () => 1 })
    expect(() => createGraphDefinition({ name: 'g', build, ...(options as object) })).toThrow(text)
  })

  it.each(['recursionLimit', 'recursion_limit'])(
    'put into configurable, %s is warned about once (4.4 row 34)',
    async (key) => {
      const { host, call } = await mounted({ build: echoBuilder, configurable: { [key]: 3 } })
      for (let i = 0; i < 3; i++) valueOf(await call())
      expect(host.warnings()).toEqual([
        `graph "g": LangGraph ignores configurable.${key}; set recursionLimit beside configurable`,
      ])
    },
  )
})

describe('drain', () => {
  /** A node that goes on after an abort until it is let go, and one that would come after it. */
  const slow = () => {
    let release = (): void => undefined
    const gate = new Promise<void>((resolve) => (release = resolve))
    let begin = (): void => undefined
    const begun = new Promise<void>((resolve) => (begin = resolve))
    const after = vi.fn(() => ({}))
    const drained: unknown[] = []
    const build = () =>
      new StateGraph(Annotation.Root({ input: Annotation<unknown> }))
        .addNode('slow', async (_state, config) => {
          begin()
          await gate
          drained.push((config as { control?: { drainRequested: boolean } }).control?.drainRequested)
          return {}
        })
        .addNode('after', after)
        .addEdge(START, 'slow')
        .addEdge('slow', 'after')
    return { build, release, begun, after, drained }
  }

  it('ends an aborted call when its running nodes have ended, and starts no other', async () => {
    const { build, release, begun, after, drained } = slow()
    const { entry } = await mounted({ build, drain: true })
    const controller = new AbortController()
    const ended = vi.fn()
    const call = entry.run({ input: 1 }, { signal: controller.signal })
    call.catch(ended)
    await begun
    controller.abort(new Error('enough'))
    await new Promise((resolve) => setImmediate(resolve))
    expect(ended).not.toHaveBeenCalled()
    release()
    await expect(call).rejects.toThrow('enough')
    expect(drained).toEqual([true])
    expect(after).not.toHaveBeenCalled()
  })

  it('is not the default: the call ends at once', async () => {
    const { build, release, begun } = slow()
    const { entry } = await mounted({ build })
    const controller = new AbortController()
    const call = entry.run({ input: 1 }, { signal: controller.signal })
    await begun
    controller.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    release()
  })

  it('still ends in a timeout when the budget is spent (R48)', async () => {
    const build = () =>
      new StateGraph(Annotation.Root({ input: Annotation<unknown> }))
        .addNode('patient', async (_state, config) => {
          const { control } = config as { control?: { drainRequested: boolean } }
          await vi.waitUntil(() => control?.drainRequested)
          return {}
        })
        .addEdge(START, 'patient')
    const { call } = await mounted({ build, drain: true, timeoutMs: 10 })
    expect(errorOf(await call()).code).toBe('GRAPH_TIMEOUT')
  })

  it('leaves a graph that is not LangGraph’s its signal', async () => {
    const { entry } = await mounted({
      drain: true,
      build: () => ({ invoke: async (_input, config) => Object.keys(config ?? {}) }),
    })
    expect(await entry.run({ input: 1 }, {})).toEqual(['signal'])
  })

  it('does not keep a call from an abort that came before it (R71)', async () => {
    const node = vi.fn(() => 1)
    const { entry } = await mounted({ drain: true, build: () => endingWith(node) })
    await expect(entry.run({ input: 1 }, { signal: AbortSignal.abort(new Error('late')) })).rejects.toThrow(
      'late',
    )
    expect(node).not.toHaveBeenCalled()
  })
})

describe('a graph within a graph', () => {
  it('inherits neither store, callbacks, tags nor limits, and keeps its own saver', async () => {
    const host = await bootGraphs()
    const seen: Record<string, unknown>[] = []
    /** Names of the runs that the outer graph's callbacks are told of. */
    const heard: unknown[] = []
    const saver = new MemorySaver()
    const inner = echoBuilder()
      .addNode('peek', (_state, config) => {
        seen.push({ ...config, ...config.configurable })
        return {}
      })
      .addEdge('echo', 'peek')
      .compile({ checkpointer: saver })
    define({
      name: 'inner',
      parameters: topicOnly,
      asTool: true,
      threadId: 'inner-thread',
      build: () => inner,
    })
    const outer = endingWith(async () => valueOf(await host.call('inner', { topic: 'x' })))
      .compile({ checkpointer: new MemorySaver(), store: new InMemoryStore() })
      .withConfig({
        tags: ['outer-tag'],
        metadata: { outer: true },
        callbacks: [{ handleChainStart: (...told) => void heard.push(told[7]) }],
      })
    define({
      name: 'outer',
      parameters: { input: { type: 'json' } },
      asTool: true,
      threadId: 'outer-thread',
      configurable: { secret: 'outer' },
      recursionLimit: 77,
      build: () => outer,
    })
    expect(valueOf(await host.call('outer', { input: 1 }))).toMatchObject({ out: { log: ['seen:x'] } })
    expect(heard).toContain('end')
    expect(heard).not.toContain('peek')
    const [config] = seen
    expect(config).not.toHaveProperty('secret')
    expect([config?.['thread_id'], config?.['recursionLimit'], config?.['store']]).toEqual([
      'inner-thread',
      25,
      undefined,
    ])
    expect(JSON.stringify([config?.['tags'], config?.['metadata']])).not.toContain('outer')
    expect(Object.keys(saver.storage)).toEqual(['inner-thread'])
  })

  it('is aborted with the one around it, two levels deep (4.1 row 2) (4.1 row 10) (R71)', async () => {
    const host = await bootGraphs()
    const signals: AbortSignal[] = []
    let begin = (): void => undefined
    const begun = new Promise<void>((resolve) => (begin = resolve))
    const leaf = endingWith(
      (_input, signal) =>
        new Promise((_, reject) => {
          if (signal === undefined) throw new Error('no signal')
          signals.push(signal)
          signal.addEventListener('abort', () => reject(signal.reason))
          begin()
        }),
    )
    const parameters = { input: { type: 'json' } } as const
    define({ name: 'leaf', parameters, asTool: true, build: () => leaf })
    for (const [name, inner] of [
      ['mid', 'leaf'],
      ['top', 'mid'],
    ] as const) {
      const build = () =>
        endingWith(async (_input, signal) =>
          valueOf(await host.call(inner, { input: 1 }, signal && { signal })),
        )
      define({ name, parameters, asTool: true, build })
    }
    const controller = new AbortController()
    const call = host.call('top', { input: 1 }, { signal: controller.signal })
    await begun
    const reason = new Error('enough')
    controller.abort(reason)
    expect((await call).isError).toBe(true)
    expect(signals[0]?.reason).toBe(reason)
  })
})

describe('asOperator', () => {
  it('is kept on definition and entry, and changes nothing else', async () => {
    const host = await bootGraphs()
    const build = echoBuilder
    const [operator, plain] = [
      define({ name: 'op', build, asOperator: true }),
      define({ name: 'plain', build }),
    ]
    expect([operator.asOperator, plain.asOperator]).toEqual([true, false])
    expect(
      host
        .graphTools()
        .list()
        .map((entry) => [entry.name, entry.asOperator]),
    ).toEqual([
      ['op', true],
      ['plain', false],
    ])
    expect(host.graphTools().register(echoBuilder(), host.ctx, { name: 'r' }).asOperator).toBe(false)
    expect(host.toolNames()).toEqual([])
  })

  it.each([
    [{ asOperator: 'yes' }, 'asOperator must be true or false'],
    [{ asOperator: true, asGraphTool: false }, 'asOperator needs asGraphTool'],
  ])('that makes no sense is refused: %j', (options, text) => {
    expect(() => createGraphDefinition({ name: 'g', build: echoBuilder, ...(options as object) })).toThrow(
      text,
    )
  })
})
