import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Context } from '@deepseek-ai/cordis'
import * as durableLog from 'dsh-durable-log'
import { memoryKvUnit } from 'dsh-durable-log/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import * as graphControl from '../src/index.ts'
import { commit, GRAPH, graph, statuses, work } from './fixture.ts'

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

  it('keeps graphs in memory of its own, without any other row', async () => {
    const ctx = host()
    const row = await ctx.plugin(graphControl, { backend: 'memory' })
    await commit(store(ctx) as graphControl.GraphControlStore, 'c1', { addWork: [work('a')] })
    await row.dispose()
    await ctx.plugin(graphControl, { backend: 'memory' })
    expect(await store(ctx)?.readGraph(GRAPH)).toBeUndefined()
  })

  it('keeps graphs in a SQLite file of its own, and finds them again', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'graph-row-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const path = join(folder, 'deep', 'graphs.sqlite')
    const ctx = host()
    const row = await ctx.plugin(graphControl, { backend: 'sqlite', path })
    await commit(store(ctx) as graphControl.GraphControlStore, 'c1', { addWork: [work('a')] })
    await row.dispose()
    expect(existsSync(path)).toBe(true)
    await ctx.plugin(graphControl, { backend: 'sqlite', path })
    expect(await statuses(store(ctx) as graphControl.GraphControlStore)).toEqual({ a: 'ready' })
  })

  it('keeps graphs in the storage of the host once that is there', async () => {
    const unit = memoryKvUnit()
    const kv = { open: async () => unit }
    const storage = { backend: { get: () => ({ kv }) } }
    const ctx = host()
    const row = await ctx.plugin(graphControl, { backend: 'kv', storage: 'drawer' })
    expect(store(ctx)).toBeUndefined()
    await ctx.plugin({
      name: 'drawer',
      apply: (live: Context) => {
        live.provide('storage', storage)
        live.provide('storage.backend.drawer', {})
      },
    })
    await vi.waitUntil(() => store(ctx))
    await commit(store(ctx) as graphControl.GraphControlStore, 'c1', { addWork: [work('a')] })
    expect([...(unit.medium.get('entries')?.keys() ?? [])]).toHaveLength(1)
    await row.dispose()
    await expect(unit.loadAll()).rejects.toThrow('closed')
  })

  it('has a schema with a default for every field that needs one, and refuses other backends', () => {
    expect(graphControl.Config({})).toEqual({
      backend: 'log',
      storage: 'json',
      connectionEnv: 'DATABASE_URL',
      schema: 'durable_log',
    })
    expect(() => graphControl.Config({ backend: 'tape' } as object)).toThrow(/backend|tape/)
  })

  it('has no default export, which the loader would take instead', () => {
    expect(graphControl).not.toHaveProperty('default')
    expect([graphControl.name, graphControl.inject]).toEqual(['graph-control', []])
  })
})
