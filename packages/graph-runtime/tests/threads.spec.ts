import { getEventListeners } from 'node:events'
import { Annotation, MemorySaver, START, StateGraph } from '@langchain/langgraph'
import { describe, expect, it, vi } from 'vitest'
import { createGraphDefinition, type GraphDefinitionOptions, type GraphInvocable } from '../src/index.ts'
import { ThreadTurns } from '../src/thread-turns.ts'
import { CallScope } from '../src/call-scope.ts'
import { bootAgents, bootGraphs, createAgent, define, errorOf, valueOf } from './host.ts'

const Counting = Annotation.Root({ by: Annotation<number>, count: Annotation<number> })

/** Adds to a count, after a pause in which others may read the same count. */
const counter = (checkpointer: MemorySaver, pause: () => Promise<void> = async () => undefined) =>
  new StateGraph(Counting)
    .addNode('add', async ({ by, count }) => {
      await pause()
      return { count: (count ?? 0) + by }
    })
    .addEdge(START, 'add')
    .compile({ checkpointer })

const turnOfLoop = () => new Promise<void>((resolve) => setImmediate(resolve))

async function mounted(options: Partial<GraphDefinitionOptions> & Pick<GraphDefinitionOptions, 'build'>) {
  const host = await bootGraphs()
  const definition = createGraphDefinition({
    name: 'count',
    description: 'd',
    parameters: { by: { type: 'number' } },
    asTool: true,
    ...options,
  })
  const entry = host.graphTools().mount(definition, host.ctx)
  return { host, entry, call: (by = 1) => host.call('count', { by }) }
}

describe('serialize: "thread"', () => {
  it('lets parallel calls on one thread add up, which they do not by themselves (4.3 row 28)', async () => {
    const last = async (options: object) => {
      const { call } = await mounted({
        build: () => counter(new MemorySaver(), turnOfLoop),
        threadId: 'one',
        ...options,
      })
      const results = await Promise.all([1, 1, 1, 1, 1].map((by) => call(by)))
      return results.map((result) => (valueOf(result) as { count: number }).count)
    }
    expect(await last({ serialize: 'thread' })).toEqual([1, 2, 3, 4, 5])
    expect(Math.max(...(await last({})))).toBeLessThan(5)
  })

  it('does not hold up other threads', async () => {
    let release = (): void => undefined
    const gate = new Promise<void>((resolve) => (release = resolve))
    const saver = new MemorySaver()
    const { entry } = await mounted({
      build: () => counter(saver, async () => gate),
      threadId: (input) => String((input as { by: number }).by),
      serialize: 'thread',
    })
    const ran: number[] = []
    const calls = [1, 2].map(async (by) =>
      ran.push(((await entry.run({ by }, {})) as { count: number }).count),
    )
    await turnOfLoop()
    release()
    await Promise.all(calls)
    expect(ran.toSorted()).toEqual([1, 2])
  })

  it('holds for two graphs over one memory', async () => {
    const host = await bootGraphs()
    const saver = new MemorySaver()
    for (const name of ['a', 'b']) {
      define({
        name,
        parameters: { by: { type: 'number' } },
        asTool: true,
        threadId: 'one',
        serialize: 'thread',
        build: () => counter(saver, turnOfLoop),
      })
    }
    await Promise.all(['a', 'b', 'a', 'b'].map((name) => host.call(name, { by: 1 })))
    expect(valueOf(await host.call('a', { by: 0 }))).toEqual({ by: 0, count: 4 })
  })

  it('lets a waiting call be aborted without losing the order of the others', async () => {
    const order: number[] = []
    let release = (): void => undefined
    const gate = new Promise<void>((resolve) => (release = resolve))
    const build = (): GraphInvocable => ({
      invoke: async (input) => {
        const { by } = input as { by: number }
        if (by === 1) await gate
        order.push(by)
        return by
      },
    })
    const { entry } = await mounted({ build, threadId: 'one', serialize: 'thread' })
    const controller = new AbortController()
    const first = entry.run({ by: 1 }, {})
    const second = entry.run({ by: 2 }, { signal: controller.signal })
    const third = entry.run({ by: 3 }, {})
    controller.abort(new Error('enough'))
    await expect(second).rejects.toThrow('enough')
    await turnOfLoop()
    expect(order).toEqual([])
    release()
    await Promise.all([first, third])
    expect(order).toEqual([1, 3])
  })

  it('keeps nothing of a thread whose calls have ended', async () => {
    const turns = new ThreadTurns()
    const scope = new CallScope({ graph: 'g' })
    const work = async () => undefined
    await Promise.all([1, 2, 3].map(() => turns.take('t', scope, work, () => new Error('entangled'))))
    await turnOfLoop()
    expect(Reflect.get(turns, 'last')).toEqual(new Map())
    expect(getEventListeners(scope.signal, 'abort')).toEqual([])
  })

  it('refuses a call that would wait for the call it is part of', async () => {
    const host = await bootGraphs()
    const inner = vi.fn(async () => host.call('count', { by: 1 }))
    define({
      name: 'count',
      parameters: { by: { type: 'number' } },
      asTool: true,
      threadId: 'one',
      serialize: 'thread',
      build: () => ({ invoke: async () => errorOf(await inner()) }),
    })
    expect(valueOf(await host.call('count', { by: 1 }))).toEqual({
      code: 'GRAPH_THREAD',
      message: expect.stringContaining('called on thread "one" from within a call on that thread'),
    })
  })

  it('lets work that outlives its call take the thread later on', async () => {
    const turns = new ThreadTurns()
    const scope = new CallScope({ graph: 'g' })
    const entangled = () => new Error('entangled')
    let later: Promise<string> | undefined
    await turns.take(
      't',
      scope,
      async () => {
        later = turnOfLoop().then(() => turns.take('t', scope, async () => 'later', entangled))
      },
      entangled,
    )
    await expect(later).resolves.toBe('later')
  })
})

describe('ephemeralThread', () => {
  it('gives each call a thread of its own and deletes it, however the call ends', async () => {
    const saver = new MemorySaver()
    const seen = vi.spyOn(saver, 'put')
    let broken = false
    const { call } = await mounted({
      ephemeralThread: true,
      build: () =>
        counter(saver, async () => {
          if (broken) throw new Error('broken')
        }),
    })
    for (let i = 0; i < 4; i++) expect(valueOf(await call(2))).toEqual({ by: 2, count: 2 })
    const threads = new Set(seen.mock.calls.map(([config]) => String(config.configurable?.['thread_id'])))
    expect(threads.size).toBe(4)
    broken = true
    expect(errorOf(await call(2)).message).toBe('broken')
    expect([saver.storage, saver.writes]).toEqual([{}, {}])
  })

  it('leaves nothing of an aborted call, not even what ends later', async () => {
    const saver = new MemorySaver()
    const controller = new AbortController()
    let release = (): void => undefined
    const gate = new Promise<void>((resolve) => (release = resolve))
    const { entry } = await mounted({
      ephemeralThread: true,
      build: () =>
        counter(saver, async () => {
          controller.abort(new Error('enough'))
          await gate
        }),
    })
    await expect(entry.run({ by: 1 }, { signal: controller.signal })).rejects.toThrow('enough')
    expect([saver.storage, saver.writes]).toEqual([{}, {}])
    release()
    await turnOfLoop()
    await turnOfLoop()
    expect([saver.storage, saver.writes]).toEqual([{}, {}])
  })

  it('that cannot be deleted is warned about and does not spoil the result', async () => {
    const saver = new MemorySaver()
    saver.deleteThread = async () => {
      throw new Error('disk full')
    }
    const { host, call } = await mounted({ ephemeralThread: true, build: () => counter(saver) })
    expect(valueOf(await call(2))).toMatchObject({ count: 2 })
    expect(host.warnings()).toEqual(['graph "count": the thread of a call was not deleted: disk full'])
    const keeps = Object.assign(new MemorySaver(), { deleteThread: undefined }) as unknown as MemorySaver
    const other = await mounted({ ephemeralThread: true, build: () => counter(keeps) })
    expect(valueOf(await other.call(2))).toMatchObject({ count: 2 })
    expect(other.host.warnings()).toEqual([expect.stringContaining('its checkpointer has no deleteThread')])
  })

  it('does not matter to a graph without a memory', async () => {
    const configs: unknown[] = []
    const build = () => ({ invoke: async (_input: unknown, config?: object) => (configs.push(config), 1) })
    const { call } = await mounted({ ephemeralThread: true, build })
    expect(valueOf(await call())).toBe(1)
    expect(configs).toEqual([
      {
        signal: expect.anything(),
        configurable: { thread_id: expect.stringMatching(/^count-[0-9a-f-]{36}$/) },
      },
    ])
  })
})

describe('a declaration of threads', () => {
  it.each([
    [{ ephemeralThread: true, threadId: 't' }, 'ephemeralThread makes a thread for each call'],
    [
      { ephemeralThread: true, configurable: { thread_id: 't' } },
      'ephemeralThread makes a thread for each call',
    ],
    [{ serialize: 'thread' }, 'serialize: "thread" needs a threadId'],
    [{ serialize: 'graph', threadId: 't' }, 'serialize must be "thread"'],
    [{ ephemeralThread: 'yes' }, 'ephemeralThread must be true or false'],
  ])('that makes no sense is refused: %j', (options, text) => {
    expect(() =>
      createGraphDefinition({ name: 'g', build: () => ({ invoke: async () => 1 }), ...(options as object) }),
    ).toThrow(text)
  })
})

it('keeps the memories of two sessions apart (4.3 row 29)', async () => {
  const host = await bootAgents()
  const [one, two] = [await createAgent(host.ctx), await createAgent(host.ctx)]
  define({
    name: 'count',
    parameters: { by: { type: 'number' } },
    asTool: true,
    threadId: (_input, { sessionId }) => sessionId,
    build: () => counter(new MemorySaver()),
  })
  for (const [agent, count] of [
    [one, 1],
    [two, 1],
    [one, 2],
  ] as const) {
    expect(valueOf(await host.call('count', { by: 1 }, { agent }))).toMatchObject({ count })
  }
})

it('keeps fifty parallel calls with slow nodes on their own threads (4.3 row 25)', async () => {
  const host = await bootGraphs()
  define({
    name: 'who',
    parameters: { by: { type: 'number' } },
    asTool: true,
    threadId: (input) => `t${(input as { by: number }).by}`,
    build: () =>
      new StateGraph(Annotation.Root({ by: Annotation<number>, thread: Annotation<unknown> }))
        .addNode('slow', async (_state, config) => {
          await turnOfLoop()
          return { thread: config.configurable?.['thread_id'] }
        })
        .addEdge(START, 'slow')
        .compile({ checkpointer: new MemorySaver() }),
  })
  const results = await Promise.all(Array.from({ length: 50 }, (_, by) => host.call('who', { by })))
  expect(results.map((result) => valueOf(result))).toEqual(results.map((_, by) => ({ by, thread: `t${by}` })))
})
