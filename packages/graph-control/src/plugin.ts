/**
 * The plugin row: one store, provided as `ctx.graphControl`. It stands on `ctx.durableLog`, or on a
 * medium of its own where the row names one.
 */
import { resolve } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import { dshHomePath, expandHomePath } from '@deepseek-ai/dsh-home-paths'
import z from '@deepseek-ai/schemastery'
import { mountOnce, warnWhenMissing } from '@dsh-graph/plugin-mount'
import {
  CONNECTION_ENV_PATTERN,
  DEFAULT_CONNECTION_ENV,
  DEFAULT_SCHEMA,
  type DurableLog,
  memoryLog,
  openPostgresLog,
  openStorageLog,
  sqliteLog,
  storageServices,
} from 'dsh-durable-log'
import { GraphControlStore } from './store.ts'

const PACKAGE = 'dsh-graph-control'
const DEFAULT_STORAGE = 'json'

export const name = 'graph-control'

export const inject: readonly string[] = []

export interface Config {
  readonly backend?: 'log' | 'sqlite' | 'postgres' | 'kv' | 'memory'
  /** File of the `sqlite` backend; default `graph/control.sqlite` in the DSH home. */
  readonly path?: string
  /** Name of the DSH storage backend that `kv` uses; default `json`. */
  readonly storage?: string
  /** Name of the environment variable with the connection string of `postgres`; default `DATABASE_URL`. */
  readonly connectionEnv?: string
  /** Schema of the tables of `postgres`; default `durable_log`. */
  readonly schema?: string
}

export const Config = z.object({
  backend: z
    .union([z.const('log'), z.const('sqlite'), z.const('postgres'), z.const('kv'), z.const('memory')])
    .default('log')
    .description(
      'Where graphs are kept: in the log of the dsh-durable-log row, or in a SQLite file, a PostgreSQL database (several hosts), the storage of DSH, or memory of their own.',
    ),
  path: z.string().description('The SQLite file of `sqlite`. Default: graph/control.sqlite in the DSH home.'),
  storage: z
    .string()
    .default(DEFAULT_STORAGE)
    .description('The storage backend of `kv`, by the name it is registered under.'),
  connectionEnv: z
    .string()
    .pattern(CONNECTION_ENV_PATTERN)
    .default(DEFAULT_CONNECTION_ENV)
    .description(
      'The environment variable that holds the connection string of `postgres`. The string itself never goes into a configuration.',
    ),
  schema: z.string().default(DEFAULT_SCHEMA).description('The schema of the tables of `postgres`.'),
})

export async function apply(ctx: Context, config: Config = {}): Promise<void> {
  const { backend = 'log', storage = DEFAULT_STORAGE } = config
  if (backend === 'log') {
    warnWhenMissing(ctx, PACKAGE, ['durableLog'], 'agent graphs are not kept; add the row dsh-durable-log')
    await mountOnce(ctx, PACKAGE, ['durableLog'], (live) => provideStore(live, live.durableLog))
  } else if (backend === 'kv') {
    const services = storageServices(storage)
    const cure = `agent graphs are not kept; load the storage rows of DSH, or choose another backend`
    warnWhenMissing(ctx, PACKAGE, [...services], cure)
    await mountOnce(ctx, PACKAGE, [...services], (live) => provideOnStorage(live, storage))
  } else {
    await mountOnce(ctx, PACKAGE, [], (live) => {
      const log = ownLog(config)
      return provideStore(live, log, () => log.close())
    })
  }
}

function ownLog(config: Config): DurableLog {
  if (config.backend === 'memory') return memoryLog()
  if (config.backend === 'postgres') return openPostgresLog(config)
  return sqliteLog({ path: fileOf(config) })
}

function fileOf({ path }: Config): string {
  return path === undefined ? dshHomePath('graph', 'control.sqlite') : resolve(expandHomePath(path))
}

async function* provideOnStorage(ctx: Context, storage: string): AsyncGenerator<() => unknown> {
  const { log, close } = await openStorageLog(ctx, storage)
  yield* provideStore(ctx, log, close)
}

/** Undone in reverse: the service is withdrawn, the store finishes what is under way, its log closes. */
async function* provideStore(
  ctx: Context,
  log: DurableLog,
  close?: () => Promise<void>,
): AsyncGenerator<() => unknown> {
  if (close !== undefined) yield close
  const logger = ctx.logger(PACKAGE)
  const store = await GraphControlStore.open(log, {
    report: (error) => logger.warn(error instanceof Error ? error.message : String(error)),
  })
  yield () => store.close()
  yield ctx.provide('graphControl', store)
}
