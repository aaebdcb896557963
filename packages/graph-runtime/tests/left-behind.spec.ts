/** What ignores an abort holds up neither its call nor an unload: after a while it is left behind. */
import { getEventListeners } from 'node:events'
import { MemorySaver } from '@langchain/langgraph'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { GraphRoutingAgent, GraphTimeoutError, type GraphDefinitionOptions } from '../src/index.ts'
import { GRACE_MS } from '../src/call-scope.ts'
import { endingWith } from './graphs.ts'
import { bootGraphs, define, type Host } from './host.ts'
import { bootTwo, calls, failureOf } from './routing-host.ts'

const never = (): Promise<never> => new Promise(() => undefined)

/** Counts settlements, so that a test can see that a promise has not settled yet. */
function watched<T>(promise: Promise<T>) {
  let settled = false
  const done = promise.finally(() => (settled = true))
  done.catch(() => undefined)
  return { done, isSettled: () => settled }
}

/** Lets everything that needs no timer happen. */
async function turnsOfTheLoop(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

async function deaf(options: Partial<GraphDefinitionOptions> = {}) {
  const host = await bootGraphs()
  const invoke = vi.fn(never)
  define({
    name: 'deaf',
    description: 'd',
    parameters: {},
    asTool: true,
    build: () => ({ invoke }),
    ...options,
  })
  const entry = host.graphTools().get('deaf')
  if (entry === undefined) throw new Error('the graph is not there')
  return { host, entry, invoke }
}

const leftBehind = (host: Host) => host.warnings().filter((text) => text.includes('is left behind'))

describe('an invoke that ignores its signal', () => {
  it('is left behind a while after the abort, with the caller’s reason and a warning (R71) (R72)', async () => {
    const { host, entry } = await deaf()
    const controller = new AbortController()
    const call = watched(entry.run({}, { signal: controller.signal }))
    await turnsOfTheLoop()
    const reason = new Error('enough')
    controller.abort(reason)
    await vi.advanceTimersByTimeAsync(GRACE_MS - 1)
    expect(call.isSettled()).toBe(false)
    expect(leftBehind(host)).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    await expect(call.done).rejects.toBe(reason)
    expect(leftBehind(host)).toEqual(['graph "deaf": its run ignores the abort and is left behind'])
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is left behind a while after its time ran out, which is a timeout (R48)', async () => {
    const { entry } = await deaf({ timeoutMs: 50 })
    const call = watched(entry.run({}, {}))
    await turnsOfTheLoop()
    await vi.advanceTimersByTimeAsync(50 + GRACE_MS)
    await expect(call.done).rejects.toBeInstanceOf(GraphTimeoutError)
  })

  it('is not blamed for its time when that runs out after the caller’s abort (R48) (R71)', async () => {
    const { promise: ended, reject: end } = Promise.withResolvers<object>()
    const { entry } = await deaf({ timeoutMs: 1_000, build: () => ({ invoke: () => ended }) })
    const controller = new AbortController()
    const call = watched(entry.run({}, { signal: controller.signal }))
    await turnsOfTheLoop()
    const reason = new Error('enough')
    controller.abort(reason)
    await vi.advanceTimersByTimeAsync(2_000)
    end(new Error('socket closed'))
    await expect(call.done).rejects.toBe(reason)
  })

  it('does not hold up an unload for longer (R89)', async () => {
    const host = await bootGraphs()
    define({ name: 'deaf', description: 'd', parameters: {}, build: () => ({ invoke: never }) })
    const call = watched(host.graphTools().get('deaf')?.run({}, {}) ?? never())
    await turnsOfTheLoop()
    const unloaded = watched(host.ctx.fiber.dispose())
    await turnsOfTheLoop()
    expect(unloaded.isSettled()).toBe(false)
    await vi.advanceTimersByTimeAsync(GRACE_MS)
    await unloaded.done
    await expect(call.done).rejects.toMatchObject({ code: 'GRAPH_UNMOUNTED' })
  })

  it('that ends in time after the abort is waited for', async () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<object>()
    const { host, entry } = await deaf({ build: () => ({ invoke: () => ended }) })
    const controller = new AbortController()
    const call = watched(entry.run({}, { signal: controller.signal }))
    await turnsOfTheLoop()
    controller.abort(new Error('enough'))
    await turnsOfTheLoop()
    expect(call.isSettled()).toBe(false)
    end({})
    await expect(call.done).rejects.toThrow('enough')
    expect(leftBehind(host)).toEqual([])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is waited for as long as it takes with drain', async () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<object>()
    const { entry } = await deaf({ drain: true, build: () => ({ invoke: () => ended }) })
    const controller = new AbortController()
    const call = watched(entry.run({}, { signal: controller.signal }))
    await turnsOfTheLoop()
    controller.abort(new Error('enough'))
    await vi.advanceTimersByTimeAsync(10 * GRACE_MS)
    expect(call.isSettled()).toBe(false)
    end({})
    await expect(call.done).rejects.toThrow('enough')
  })
})

it('a memory that never deletes a thread is left behind after the abort', async () => {
  const host = await bootGraphs()
  const memory = Object.assign(new MemorySaver(), { deleteThread: never })
  const build = () => endingWith((input) => input).compile({ checkpointer: memory })
  define({ name: 'kept', description: 'd', parameters: 'input', asTool: true, ephemeralThread: true, build })
  const controller = new AbortController()
  const entry = host.graphTools().get('kept')
  const call = watched(entry?.run({ input: { input: 1 } }, { signal: controller.signal }) ?? never())
  await turnsOfTheLoop()
  expect(call.isSettled()).toBe(false)
  controller.abort(new Error('enough'))
  await vi.advanceTimersByTimeAsync(GRACE_MS)
  expect(await call.done).toMatchObject({ out: 1 })
  expect(leftBehind(host)).toEqual(['graph "kept": deleting its thread ignores the abort and is left behind'])
})

describe('a routing is left behind a while after its abort', () => {
  /** What a routing that is aborted rejects with, and when. */
  async function aborted(host: Awaited<ReturnType<typeof bootTwo>>, router = host.router()) {
    const controller = new AbortController()
    const routed = watched(failureOf(router.route({ input: 'x', signal: controller.signal })))
    await turnsOfTheLoop()
    const reason = new Error('enough')
    controller.abort(reason)
    await vi.advanceTimersByTimeAsync(GRACE_MS - 1)
    const early = routed.isSettled()
    await vi.advanceTimersByTimeAsync(1)
    const isReason = (await routed.done) === reason
    return { early, isReason, listeners: getEventListeners(controller.signal, 'abort').length }
  }

  const LEFT = { early: false, isReason: true, listeners: 0 }

  it('when the model never answers (R115)', async () => {
    const host = await bootTwo(never)
    expect(await aborted(host)).toEqual(LEFT)
  })

  it.each(['graphTools/pre-execute', 'graphTools/post-execute'] as const)(
    'when a listener of %s never answers (R115)',
    async (event) => {
      const host = await bootTwo([calls('search_graph')])
      host.ctx.on(event, never)
      expect(await aborted(host)).toEqual(LEFT)
    },
  )

  it('when the fallback never ends (R115)', async () => {
    const host = await bootTwo([{ text: 'none of them' }])
    const fallback = {
      name: 'endless',
      description: 'd',
      parameters: { type: 'object' as const, properties: {} },
      output: { schema: {}, render: () => [] },
      execute: never,
    }
    expect(
      await aborted(host, new GraphRoutingAgent(host.ctx, { provider: 'test', model: 'm', fallback })),
    ).toEqual(LEFT)
  })
})
