/**
 * The plugin row: opens one log by configuration and provides it as `ctx.durableLog`.
 */
import { resolve } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import { dshHomePath, expandHomePath } from '@deepseek-ai/dsh-home-paths'
import z from '@deepseek-ai/schemastery'
import { mountOnce } from '@dsh-graph/plugin-mount'
import { memoryLog } from './memory-log.ts'
import { sqliteLog } from './sqlite-log.ts'
import type { DurableLog } from './types.ts'

const PACKAGE = 'dsh-durable-log'

export const name = 'durable-log'

export const inject: readonly string[] = []

export interface Config {
  readonly backend: 'sqlite' | 'memory'
  /** File of the `sqlite` backend; default `graph/log.sqlite` in the DSH home. */
  readonly path?: string
}

export const Config = z.object({
  backend: z
    .union([z.const('sqlite'), z.const('memory')])
    .default('sqlite')
    .description('Where streams are kept: a SQLite file, or memory until the process ends.'),
  path: z.string().description('The SQLite file. Default: graph/log.sqlite in the DSH home.'),
})

export async function apply(ctx: Context, config: Config): Promise<void> {
  await mountOnce(ctx, PACKAGE, [], (live) => provideLog(live, config))
}

async function provideLog(ctx: Context, config: Config): Promise<void> {
  const log = openLog(config)
  try {
    // Opens the medium: a path that does not work fails this row, not its first user.
    await log.list({ limit: 1 })
    // Undone in reverse and one after the other: the service is withdrawn, its users settle, then
    // the log finishes what is under way.
    ctx.effect(function* () {
      yield () => log.close()
      yield ctx.provide('durableLog', log)
    }, 'durable log')
  } catch (error) {
    await log.close()
    throw error
  }
}

function openLog({ backend, path }: Config): DurableLog {
  if (backend === 'memory') return memoryLog()
  return sqliteLog({
    path: path === undefined ? dshHomePath('graph', 'log.sqlite') : resolve(expandHomePath(path)),
  })
}
