import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Context } from '@deepseek-ai/cordis'
import { afterEach, describe, expect, it, vi } from 'vitest'
import * as plugin from '../src/index.ts'
import { startChild } from './fixtures/children.ts'
import { tempFolder } from './fixtures/temp-folder.ts'
import { databaseUrl, dropSchemas, newSchema } from './support/postgres.ts'

const newPath = tempFolder()
const one = { type: 'test/entry', data: 1 }

afterEach(() => vi.unstubAllEnvs())

function logOf(ctx: Context): plugin.DurableLog {
  const log = ctx.get('durableLog')
  if (log === undefined) throw new Error('the service is missing')
  return log
}

describe('durable-log plugin', () => {
  it('keeps a SQLite file in the DSH home without any configuration', async () => {
    const home = dirname(newPath())
    vi.stubEnv('DSH_HOME', home)
    const ctx = new Context()
    const fiber = await ctx.plugin(plugin)
    expect(await logOf(ctx).append('s', 0, [one])).toBe(1)
    expect(existsSync(join(home, 'graph', 'log.sqlite'))).toBe(true)
    await fiber.dispose()
  })

  it('finishes what is under way before it closes on disposal', async () => {
    const ctx = new Context()
    const path = newPath()
    const fiber = await ctx.plugin(plugin, { path })
    const log = logOf(ctx)
    const append = log.append('s', 0, [one])
    await fiber.dispose()
    expect(await append).toBe(1)
    expect(ctx.get('durableLog')).toBeUndefined()
    await expect(log.read('s')).rejects.toMatchObject({ code: 'closed' })
    expect(existsSync(`${path}-wal`)).toBe(false)
  })

  it('lets users of the service write in their own disposal', async () => {
    const ctx = new Context()
    const path = newPath()
    const fiber = await ctx.plugin(plugin, { path })
    let appended: Promise<number> | undefined
    await ctx.plugin({
      name: 'user',
      inject: ['durableLog'],
      apply: (own: Context) => {
        const log = own.durableLog
        own.effect(() => async () => void (await (appended = log.append('last', 0, [one]))), 'last words')
      },
    })
    await fiber.dispose()
    expect(await appended).toBe(1)
  })

  it('keeps everything in memory when told so', async () => {
    const home = dirname(newPath())
    vi.stubEnv('DSH_HOME', home)
    const ctx = new Context()
    const fiber = await ctx.plugin(plugin, { backend: 'memory' })
    expect(await logOf(ctx).append('s', 0, [one])).toBe(1)
    expect(existsSync(home)).toBe(false)
    await fiber.dispose()
  })

  it('fails with one clear error when the path cannot be opened', async () => {
    const file = newPath('file')
    mkdirSync(dirname(file))
    writeFileSync(file, '')
    const path = join(file, 'log.sqlite')
    const ctx = new Context()
    await expect(ctx.plugin(plugin, { path })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining(path) as string,
    })
    expect(ctx.get('durableLog')).toBeUndefined()
  })

  it('keeps everything in the PostgreSQL database that an environment variable names', async () => {
    const connectionString = await databaseUrl()
    const schema = newSchema()
    vi.stubEnv('GRAPH_DATABASE', connectionString)
    const config: plugin.Config = { backend: 'postgres', connectionEnv: 'GRAPH_DATABASE', schema }
    for (const seq of [0, 1]) {
      const ctx = new Context()
      const fiber = await ctx.plugin(plugin, config)
      expect(await logOf(ctx).append('s', seq, [one])).toBe(seq + 1)
      await fiber.dispose()
      expect(ctx.get('durableLog')).toBeUndefined()
    }
    await dropSchemas(connectionString, [schema])
  })

  it('names the environment variable when it is missing, and tells nothing of a wrong one', async () => {
    vi.stubEnv('GRAPH_DATABASE', '')
    const config: plugin.Config = { backend: 'postgres', connectionEnv: 'GRAPH_DATABASE' }
    await expect(new Context().plugin(plugin, config)).rejects.toThrow(/GRAPH_DATABASE/)
    vi.stubEnv('GRAPH_DATABASE', 'hunter2')
    await expect(new Context().plugin(plugin, config)).rejects.toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('hunter2') as string }),
    )
  })

  it('refuses a connection string in the configuration', async () => {
    const config: plugin.Config = { backend: 'postgres', connectionEnv: 'postgres://me:secret@host/db' }
    await expect(new Context().plugin(plugin, config)).rejects.toThrow(/connectionEnv/)
  })

  it('loads no PostgreSQL client until a log of that kind is used', async () => {
    const child = startChild('pg-loader.ts', [])
    expect([await child.nextLine(), await child.nextLine()]).toEqual(['unloaded', 'loaded'])
  })

  it('refuses an unknown backend', async () => {
    const config = { backend: 'tape' } as unknown as plugin.Config
    await expect(new Context().plugin(plugin, config)).rejects.toThrow(/backend/)
  })

  it('provides the service once when two rows load it', async () => {
    const ctx = new Context()
    const path = newPath()
    const [first, second] = await Promise.all([ctx.plugin(plugin, { path }), ctx.plugin(plugin, { path })])
    await logOf(ctx).append('s', 0, [one])
    await first.dispose()
    expect(await logOf(ctx).append('s', 1, [one])).toBe(2)
    await second.dispose()
  })

  it('has the same texts in both languages', () => {
    const keysOf = (language: string) => {
      const file = join(import.meta.dirname, '..', 'locale', `${language}.json`)
      const { meta } = JSON.parse(readFileSync(file, 'utf8')) as { meta: Record<string, string> }
      return Object.keys(meta)
    }
    expect(keysOf('zh')).toEqual(keysOf('en'))
  })
})
