import { getEventListeners } from 'node:events'
import { StateGraph, StateSchema } from '@langchain/langgraph'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  createGraphDefinition,
  createGraphTool,
  GraphTimeoutError,
  GraphUnmountedError,
  type GraphDefinitionOptions,
  type GraphInvocable,
  type GraphLike,
} from '../src/index.ts'
import { endingWith } from './graphs.ts'
import { bootGraphs, errorOf } from './host.ts'

/** Resolves when the graph has begun, and settles when its signal aborts. */
function waiting() {
  let begin: (signal: AbortSignal) => void
  const begun = new Promise<AbortSignal>((resolve) => (begin = resolve))
  const node = (_input: unknown, signal?: AbortSignal): Promise<never> =>
    new Promise((_, reject) => {
      if (signal === undefined) throw new Error('no signal')
      signal.addEventListener('abort', () => reject(signal.reason))
      begin(signal)
    })
  return { begun, node, build: () => endingWith(node) }
}

async function mounted(options: Partial<GraphDefinitionOptions> & Pick<GraphDefinitionOptions, 'build'>) {
  const host = await bootGraphs()
  const definition = createGraphDefinition({
    name: 'echo',
    description: 'd',
    parameters: { input: { type: 'json' } },
    asTool: true,
    ...options,
  })
  const owner = host.ctx.plugin({ name: 'owner', inject: ['graphTools'], apply: () => undefined })
  await owner
  const entry = host.graphTools().mount(definition, owner.ctx)
  return { host, owner, entry }
}

describe('the caller’s abort', () => {
  it('reaches the graph with its own reason (4.1 row 1) (R71)', async () => {
    const { begun, build } = waiting()
    const { entry } = await mounted({ build })
    const controller = new AbortController()
    const call = entry.run({ input: 1 }, { signal: controller.signal })
    const signal = await begun
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(call).rejects.toBe(reason)
    expect(signal.reason).toBe(reason)
    const calm = await mounted({ build: () => endingWith((input) => input) })
    const { signal: unused } = new AbortController()
    expect(await calm.entry.run({ input: 1 }, { signal: unused })).toMatchObject({ out: 1 })
  })

  it.each([['a text'], [7], [null], [{ code: 'ENOUGH' }], [new RangeError('enough')]])(
    'is what the call fails with, be it %j, and whatever the graph makes of it (R71)',
    async (reason) => {
      const [own, custom] = [waiting(), waiting()]
      const translating: GraphInvocable = {
        invoke: (input, config) =>
          custom.node(input, Reflect.get(config ?? {}, 'signal') as AbortSignal).catch(() => {
            throw new Error('socket closed')
          }),
      }
      for (const { begun, build } of [own, { begun: custom.begun, build: () => translating }]) {
        const { entry } = await mounted({ build })
        const controller = new AbortController()
        const failure = entry
          .run({ input: 1 }, { signal: controller.signal })
          .catch((thrown: unknown) => [thrown])
        await begun
        controller.abort(reason)
        expect(((await failure) as unknown[])[0] === reason).toBe(true)
      }
    },
  )

  it('that came before the call keeps every node from running (R71)', async () => {
    const node = vi.fn(() => 1)
    const validate = vi.fn(() => true)
    const { entry, host } = await mounted({ build: () => endingWith(node), validate })
    const reason = new Error('too late')
    await expect(entry.run({ input: 1 }, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(errorOf(await host.call('echo', { input: 1 }, { signal: AbortSignal.abort() })).code).toBe(
      'ABORTED_BEFORE_DISPATCH',
    )
    expect(validate).not.toHaveBeenCalled()
    expect(node).not.toHaveBeenCalled()
  })

  it('while validate waits ends the call with the reason and without the graph (R71)', async () => {
    const node = vi.fn(() => 1)
    const controller = new AbortController()
    const { entry } = await mounted({
      build: () => endingWith(node),
      validate: async () => {
        controller.abort(new Error('enough'))
        throw new Error('of no interest')
      },
    })
    await expect(entry.run({ input: 1 }, { signal: controller.signal })).rejects.toThrow('enough')
    expect(node).not.toHaveBeenCalled()
  })

  it('discards what a graph brings that ignored it', async () => {
    const controller = new AbortController()
    const deaf: GraphInvocable = {
      invoke: async () => {
        controller.abort(new Error('enough'))
        return { done: true }
      },
    }
    const { entry } = await mounted({ build: () => deaf })
    await expect(entry.run({ input: 1 }, { signal: controller.signal })).rejects.toThrow('enough')
  })

  it('finds no listener of ours after two hundred calls, however they ended (4.1 row 7) (R72)', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const { host, entry } = await mounted({
      build: () => endingWith((input) => (input === 1 ? Promise.reject(new Error('no')) : input)),
      validate: (input) => (input as { input: unknown }).input !== 2,
    })
    for (let i = 0; i < 200; i++) await host.call('echo', { input: i % 4 }, { signal })
    expect(getEventListeners(signal, 'abort')).toEqual([])
    for (let i = 0; i < 200; i++) await entry.run({ input: i % 4 }, { signal }).catch(() => undefined)
    expect(getEventListeners(signal, 'abort')).toEqual([])
    expect(host.log).toEqual([])
  })

  it('finds no listener of ours after it aborted a call, nor after a timeout (4.1 row 7) (R72)', async () => {
    const aborted = waiting()
    const { entry } = await mounted({ build: aborted.build })
    const controller = new AbortController()
    const call = entry.run({ input: 1 }, { signal: controller.signal })
    await aborted.begun
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1)
    controller.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    const late = await mounted({ build: waiting().build, timeoutMs: 5 })
    const { signal } = new AbortController()
    await expect(late.entry.run({ input: 1 }, { signal })).rejects.toThrow('within 5 ms')
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})

describe('timeoutMs', () => {
  it('aborts the graph’s signal and ends in an error of its own, on every path (R48)', async () => {
    const { begun, build } = waiting()
    const { entry, host } = await mounted({ build, timeoutMs: 20 })
    const error = await entry.run({ input: 1 }, {}).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(GraphTimeoutError)
    expect(error).toMatchObject({ code: 'GRAPH_TIMEOUT', graph: 'echo', timeoutMs: 20 })
    expect((await begun).reason).toBe(error)
    expect(entry.tool.timeoutMs).toBe(20)
    expect(errorOf(await host.call('echo', { input: 1 }))).toEqual({
      code: 'GRAPH_TIMEOUT',
      message: 'graph "echo" did not finish within 20 ms',
    })
    const tool = createGraphTool(waiting().build(), { name: 'made', timeoutMs: 20 })
    host.ctx.get('tools')?.register(tool)
    expect(errorOf(await host.call('made', { input: { input: 1 } })).code).toBe('GRAPH_TIMEOUT')
  })

  it('stays a timeout when the graph throws something else about it (R48)', async () => {
    const stubborn: GraphInvocable = {
      invoke: (_input, config) =>
        new Promise((_, reject) => {
          const { signal } = config as { signal: AbortSignal }
          signal.addEventListener('abort', () => reject(new Error('connection closed')))
        }),
    }
    const { entry } = await mounted({ build: () => stubborn, timeoutMs: 10 })
    const error = await entry.run({ input: 1 }, {}).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'GRAPH_TIMEOUT', cause: { message: 'connection closed' } })
  })

  it('is not blamed for the caller’s abort (R48) (R71)', async () => {
    const { begun, build } = waiting()
    const { entry } = await mounted({ build, timeoutMs: 60_000 })
    const controller = new AbortController()
    const call = entry.run({ input: 1 }, { signal: controller.signal })
    await begun
    controller.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
  })

  it('is not blamed when it runs out while an aborted graph comes to its end (R48) (R71)', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    let end = (): void => undefined
    const { entry } = await mounted({
      timeoutMs: 1000,
      build: () => ({
        invoke: () => new Promise((_, reject) => (end = () => reject(new Error('socket closed')))),
      }),
    })
    const controller = new AbortController()
    const call = entry.run({ input: 1 }, { signal: controller.signal })
    controller.abort(new Error('enough'))
    vi.advanceTimersByTime(5000)
    end()
    await expect(call).rejects.toThrow('enough')
  })

  it.each([
    [0.5e9, 1],
    [1e12, 0],
  ])('of %d ms, longer than the graph takes, leaves no timer behind', async (timeoutMs, during) => {
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
    const { entry } = await mounted({ build: () => ({ invoke: async () => timers() }), timeoutMs })
    const before = timers()
    expect(await entry.run({ input: 1 }, {})).toBe(before + during)
    expect(timers()).toBe(before)
  })
})

describe('a part of the author’s that never settles', () => {
  const never = () => new Promise<never>(() => undefined)
  const asking = { '~standard': { version: 1, vendor: 'x', validate: never } }
  const parts: [string, Partial<GraphDefinitionOptions> & Pick<GraphDefinitionOptions, 'build'>][] = [
    ['build', { build: never }],
    ['validate', { build: () => endingWith(() => 1), validate: never }],
    ['output', { build: () => endingWith(() => 1), output: never }],
    [
      'a schema',
      { build: () => new StateGraph(new StateSchema({ input: asking as never })) as unknown as GraphLike },
    ],
  ]

  it.each(parts)('(%s) ends with the caller’s abort (R71) (R72)', async (_, options) => {
    const { entry } = await mounted(options)
    const controller = new AbortController()
    const call = entry.run({ input: 1 }, { signal: controller.signal })
    await new Promise((done) => setImmediate(done))
    controller.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  it.each(parts)('(%s) ends when the time is over (R48)', async (_, options) => {
    const { host } = await mounted({ ...options, timeoutMs: 10 })
    expect(errorOf(await host.call('echo', { input: 1 })).code).toBe('GRAPH_TIMEOUT')
  })

  it.each(parts)('(%s) does not hold up an unload (R89)', async (_, options) => {
    const { entry, owner } = await mounted(options)
    const call = entry.run({ input: 1 }, {})
    call.catch(() => undefined)
    await owner.dispose()
    await expect(call).rejects.toThrow(GraphUnmountedError)
  })
})

describe('unmounting', () => {
  it('aborts running calls, waits for them, and refuses later ones', async () => {
    const { begun, build } = waiting()
    const { entry, owner } = await mounted({ build })
    const call = entry.run({ input: 1 }, {})
    const settled = vi.fn()
    call.catch(settled)
    const signal = await begun
    await owner.dispose()
    expect(signal.reason).toBeInstanceOf(GraphUnmountedError)
    expect(settled).toHaveBeenCalledTimes(1)
    await expect(call).rejects.toMatchObject({ code: 'GRAPH_UNMOUNTED', graph: 'echo' })
    await expect(entry.run({ input: 1 }, {})).rejects.toThrow('was unmounted; mount it again')
  })

  it('does not touch calls of other graphs', async () => {
    const { host, entry } = await mounted({ build: () => endingWith((input) => input) })
    const other = host.graphTools().register(
      endingWith((input) => input),
      host.ctx,
      {
        name: 'other',
        parameters: { input: { type: 'json' } },
      },
    )
    const call = other.run({ input: 5 }, {})
    await entry.dispose()
    await expect(call).resolves.toMatchObject({ out: 5 })
  })
})
