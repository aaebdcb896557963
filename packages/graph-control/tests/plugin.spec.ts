import { Context } from '@deepseek-ai/cordis'
import * as durableLog from 'dsh-durable-log'
import { describe, expect, it, onTestFinished } from 'vitest'
import * as graphControl from '../src/index.ts'
import { commit, graph, work } from './fixture.ts'

/** A context whose log lines are kept. */
function host() {
  const ctx = new Context()
  onTestFinished(() => ctx.fiber.dispose())
  return ctx
}

const store = (ctx: Context) => ctx.get('graphControl') as graphControl.GraphControlStore | undefined

describe('the plugin row', () => {
  it('provides the store on the durable log, with no configuration', async () => {
    const ctx = host()
    await ctx.plugin(durableLog, { backend: 'memory' })
    await ctx.plugin(graphControl, {})
    const service = store(ctx) as graphControl.GraphControlStore
    await commit(service, 'c1', { addWork: [work('a')] })
    expect((await graph(service)).works.get('a')?.status).toBe('ready')
    const log = ctx.get('durableLog') as durableLog.DurableLog
    expect((await log.list({ prefix: 'graph/' })).streams).toHaveLength(1)
  })

  it('is active without a durable log, and provides the store once there is one', async () => {
    const ctx = host()
    await ctx.plugin(graphControl, {})
    expect(store(ctx)).toBeUndefined()
    const provided = new Promise<void>((resolve) => {
      void ctx.inject(['graphControl'], () => resolve())
    })
    await ctx.plugin(durableLog, { backend: 'memory' })
    await provided
    expect(store(ctx)).toBeDefined()
  })

  it('withdraws the store and closes it, and leaves the log to its owner', async () => {
    const ctx = host()
    await ctx.plugin(durableLog, { backend: 'memory' })
    const row = await ctx.plugin(graphControl, {})
    const service = store(ctx)
    await row.dispose()
    expect(store(ctx)).toBeUndefined()
    await expect(service?.readGraph('g')).rejects.toMatchObject({ code: 'closed' })
    expect((await ctx.get('durableLog')?.list())?.streams).toEqual([])
  })

  it('loads once when two bundles carry it, and the second takes over', async () => {
    const ctx = host()
    await ctx.plugin(durableLog, { backend: 'memory' })
    const first = await ctx.plugin(graphControl, {})
    await ctx.plugin({ ...graphControl, apply: (live: Context) => graphControl.apply(live) }, {})
    const service = store(ctx)
    await first.dispose()
    expect(store(ctx)).toBeDefined()
    expect(store(ctx)).not.toBe(service)
  })

  it('has no default export, which the loader would take instead', () => {
    expect(graphControl).not.toHaveProperty('default')
    expect([graphControl.name, graphControl.inject]).toEqual(['graph-control', []])
  })
})
