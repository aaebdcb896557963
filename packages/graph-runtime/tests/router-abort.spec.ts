import { getEventListeners } from 'node:events'
import type { Context } from '@deepseek-ai/cordis'
import { describe, expect, it, vi } from 'vitest'
import { GraphRoutingAgent } from '../src/index.ts'
import { endingWith } from './graphs.ts'
import { bootRouting, bootTwo, calls, failureOf, type RoutingHost } from './routing-host.ts'

/** Resolves when the signal aborts, after telling that somebody waits. */
function aborted(signal: AbortSignal | undefined, waiting: () => void): Promise<void> {
  return new Promise((resolve) => {
    signal?.addEventListener('abort', () => resolve(), { once: true })
    waiting()
  })
}

/** A host whose graph `waiting` waits for its signal. */
async function bootWaiting() {
  const { promise: running, resolve: run } = Promise.withResolvers<void>()
  const host = await bootRouting([calls('waiting')])
  host.graph({
    name: 'waiting',
    parameters: {},
    build: () => endingWith((_input, signal) => aborted(signal, run)),
  })
  return { host, running }
}

describe('the caller’s signal', () => {
  it('aborts the model call with its reason, and the model is not asked again (R115)', async () => {
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    const host = await bootTwo(async ({ signal }) => {
      await aborted(signal, ask)
      return calls('nope')
    })
    const controller = new AbortController()
    const routed = host.router().route({ input: 'x', signal: controller.signal })
    await asked
    const reason = new Error('enough')
    controller.abort(reason)
    expect(await failureOf(routed)).toBe(reason)
    expect(host.requests).toHaveLength(1)
  })

  it('aborts the graph with its reason (R115)', async () => {
    const { host, running } = await bootWaiting()
    const controller = new AbortController()
    const routed = host.router().route({ input: 'x', signal: controller.signal })
    await running
    controller.abort('enough')
    expect(await failureOf(routed)).toBe('enough')
    expect(host.requests).toHaveLength(1)
  })

  it('that is aborted already leads to no model call (R115)', async () => {
    const host = await bootTwo([])
    const reason = new Error('too late')
    expect(await failureOf(host.router().route({ input: 'x', signal: AbortSignal.abort(reason) }))).toBe(
      reason,
    )
    expect(host.requests).toEqual([])
  })

  it('that aborts while a listener decides wins over the decision (R115)', async () => {
    for (const event of ['graphTools/pre-execute', 'graphTools/post-execute'] as const) {
      const host = await bootTwo([calls('search_graph')])
      const controller = new AbortController()
      const decide = () => {
        controller.abort('enough')
        return { kind: event === 'graphTools/pre-execute' ? 'deny' : 'block', reason: 'no' }
      }
      host.ctx.on(event, decide as never)
      expect(await failureOf(host.router().route({ input: 'x', signal: controller.signal }))).toBe('enough')
      expect(host.requests).toHaveLength(1)
    }
  })

  it('has no listener left after a thousand routings, whatever came of them', async () => {
    const warned = vi.fn()
    process.on('warning', warned)
    const host = await bootTwo(
      (_request, index) => [calls('search_graph'), { text: 'no' }, calls('nope')][index % 3] ?? {},
    )
    const { signal } = new AbortController()
    const router = host.router({ maxRetries: 0 })
    for (let i = 0; i < 1000; i++) await router.route({ input: 'x', signal }).catch(() => undefined)
    expect(getEventListeners(signal, 'abort')).toEqual([])
    expect(warned).not.toHaveBeenCalled()
    process.off('warning', warned)
  })

  it('is not needed: without one there is one all the same', async () => {
    const host = await bootTwo([calls('search_graph')])
    await host.router().route({ input: 'x' })
    expect(host.requests[0]?.signal).toBeInstanceOf(AbortSignal)
    expect(host.requests[0]?.signal?.aborted).toBe(false)
  })
})

describe('the owner of a router', () => {
  async function owned(host: RoutingHost) {
    const { promise, resolve } = Promise.withResolvers<Context>()
    const fiber = host.ctx.plugin({ name: 'owner', apply: resolve })
    await fiber
    const router = new GraphRoutingAgent(await promise, { provider: 'test', model: 'm' })
    return { fiber, router }
  }

  it('ends what is being routed when it is disposed, and waits for the end', async () => {
    const { host, running } = await bootWaiting()
    const { fiber, router } = await owned(host)
    let over = false
    const failed = failureOf(router.route({ input: 'x' })).finally(() => (over = true))
    await running
    await fiber.dispose()
    await Promise.resolve()
    expect(over).toBe(true)
    expect(await failed).toMatchObject({ code: 'GRAPH_UNMOUNTED' })
    expect(await failureOf(router.route({ input: 'x' }))).toMatchObject({
      code: 'GRAPH_UNMOUNTED',
      message: expect.stringContaining('disposed') as string,
    })
  })

  it('keeps nothing of a routing that ended', async () => {
    const host = await bootTwo(() => calls('search_graph'))
    const { fiber, router } = await owned(host)
    for (let i = 0; i < 50; i++) await router.route({ input: 'x' })
    expect(fiber.getEffects().length).toBeLessThan(5)
    const signals = host.requests.map(({ signal }) => signal)
    await fiber.dispose()
    expect(signals.some((signal) => signal?.aborted)).toBe(false)
  })
})
