import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Context } from '@deepseek-ai/cordis'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import * as plugin from '../src/index.ts'
import { startChild } from './fixtures/children.ts'
import { hostPackage } from './fixtures/json-storage.ts'
import { tempFolder } from './fixtures/temp-folder.ts'

const newPath = tempFolder()
const one = { type: 'test/entry', data: 1 }

type Plugin = Parameters<Context['plugin']>[0]
const { default: Storage } = await hostPackage<{ default: Plugin }>('@deepseek-ai/dsh-storage')
const storageJson = await hostPackage<Plugin>('@deepseek-ai/dsh-storage-json')

/** A host with a log that records its errors. */
function newHost() {
  const ctx = new Context()
  const errors: string[] = []
  ctx.logger.exporter({
    levels: { default: 3 },
    export: ({ type, args }) => {
      if (type === 'error') errors.push(args.map(String).join(' '))
    },
  })
  onTestFinished(() => ctx.fiber.dispose())
  return { ctx, errors }
}

async function loadStorage(ctx: Context, root: string) {
  await ctx.plugin(Storage)
  return ctx.plugin(storageJson, { root })
}

describe('durable-log plugin on the storage of DSH', () => {
  it('keeps the log in a unit of the backend, and finds it again', async () => {
    const root = dirname(newPath())
    const first = newHost()
    await loadStorage(first.ctx, root)
    const row = await first.ctx.plugin(plugin, { backend: 'kv' })
    await vi.waitUntil(() => first.ctx.get('durableLog'))
    expect(await first.ctx.get('durableLog')?.append('s', 0, [one])).toBe(1)
    await row.dispose()
    expect(first.ctx.get('durableLog')).toBeUndefined()
    expect(existsSync(join(root, `${plugin.KV_UNIT_DESCRIPTOR.name}.json`))).toBe(true)

    const again = await first.ctx.plugin(plugin, { backend: 'kv', storage: 'json' })
    expect(await first.ctx.get('durableLog')?.read('s')).toHaveLength(1)
    await again.dispose()
    expect(first.errors).toEqual([])
  })

  it('waits for storage that loads later, and for storage that comes back', async () => {
    const { ctx } = newHost()
    await ctx.plugin(plugin, { backend: 'kv' })
    expect(ctx.get('durableLog')).toBeUndefined()
    const root = dirname(newPath())
    const storage = await loadStorage(ctx, root)
    await vi.waitUntil(() => ctx.get('durableLog'))
    await ctx.get('durableLog')?.append('s', 0, [one])
    await storage.dispose()
    await vi.waitUntil(() => ctx.get('durableLog') === undefined)
    await ctx.plugin(storageJson, { root })
    await vi.waitUntil(() => ctx.get('durableLog'))
    expect(await ctx.get('durableLog')?.read('s')).toHaveLength(1)
  })

  it('says once, clearly, that the storage it was told to use is not there', async () => {
    const { ctx, errors } = newHost()
    await ctx.plugin(Storage)
    await ctx.plugin(plugin, { backend: 'kv', storage: 'tape' })
    await vi.waitUntil(() => errors.length > 0)
    expect(errors).toEqual([expect.stringMatching(/backend "kv".*storage\.backend\.tape.*sqlite/)])
    expect(ctx.get('durableLog')).toBeUndefined()
  })

  it('fails with one clear error when another live process uses the unit', async () => {
    const root = dirname(newPath())
    const child = startChild('kv-user.ts', [root])
    expect(await child.nextLine()).toBe('appended')
    const { ctx } = newHost()
    await loadStorage(ctx, root)
    await expect(ctx.plugin(plugin, { backend: 'kv' })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining(`process ${child.pid}`) as string,
    })
    expect(ctx.get('durableLog')).toBeUndefined()
    child.kill()
    await child.exited()
    await ctx.plugin(plugin, { backend: 'kv' })
    expect(await ctx.get('durableLog')?.read('s')).toHaveLength(1)
  })

  it('needs no storage for its other backends', async () => {
    const { ctx, errors } = newHost()
    await ctx.plugin(plugin, { backend: 'memory' })
    expect(await ctx.get('durableLog')?.append('s', 0, [one])).toBe(1)
    expect(errors).toEqual([])
  })
})
