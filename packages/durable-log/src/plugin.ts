/**
 * The plugin row: opens one log by configuration and provides it as `ctx.durableLog`.
 */
import { resolve } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import { dshHomePath, expandHomePath } from '@deepseek-ai/dsh-home-paths'
import z from '@deepseek-ai/schemastery'
import { mountOnce } from '@dsh-graph/plugin-mount'
import { memoryLog } from './memory-log.ts'
import {
  CONNECTION_ENV_PATTERN,
  DEFAULT_CONNECTION_ENV,
  DEFAULT_SCHEMA,
  openPostgresLog,
} from './postgres-backend.ts'
import { sqliteLog } from './sqlite-log.ts'
import { type OpenedLog, openStorageLog, storageServices } from './storage-backend.ts'
import type { DurableLog } from './types.ts'

const PACKAGE = 'dsh-durable-log'
const DEFAULT_STORAGE = 'json'

export const name = 'durable-log'

export const inject: readonly string[] = []

export interface Config {
  readonly backend: 'sqlite' | 'postgres' | 'kv' | 'memory'
  /** File of the `sqlite` backend; default `graph/log.sqlite` in the DSH home. */
  readonly path?: string
  /** Name of the DSH storage backend that `kv` uses; default `json`. */
  readonly storage?: string
  /** Name of the environment variable with the connection string of `postgres`; default `DATABASE_URL`. */
  readonly connectionEnv?: string
  /** Schema of the `postgres` backend's tables; default `durable_log`. */
  readonly schema?: string
}

export const Config = z.object({
  backend: z
    .union([z.const('sqlite'), z.const('postgres'), z.const('kv'), z.const('memory')])
    .default('sqlite')
    .description(
      'Where streams are kept: a SQLite file, a PostgreSQL database (several hosts), the storage of DSH (one process only), or memory until the process ends.',
    ),
  path: z.string().description('The SQLite file of `sqlite`. Default: graph/log.sqlite in the DSH home.'),
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

export async function apply(ctx: Context, config: Config): Promise<void> {
  const { backend, storage = DEFAULT_STORAGE } = config
  if (backend !== 'kv') {
    await mountOnce(ctx, PACKAGE, [], (live) => provideLog(live, openLog(config)))
    return
  }
  const services = storageServices(storage)
  reportMissing(ctx, services)
  await mountOnce(ctx, PACKAGE, [...services], async (live) =>
    provideLog(live, await openStorageLog(live, storage)),
  )
}

async function provideLog(ctx: Context, { log, close }: OpenedLog): Promise<void> {
  try {
    // Opens the medium: one that does not work fails this row, not its first user.
    await log.list({ limit: 1 })
    // Undone in reverse and one after the other: the service is withdrawn, its users settle, then
    // the log finishes what is under way.
    ctx.effect(function* () {
      yield () => close()
      yield ctx.provide('durableLog', log)
    }, 'durable log')
  } catch (error) {
    await close()
    throw error
  }
}

function openLog(config: Config): OpenedLog {
  const log = logOf(config)
  return { log, close: () => log.close() }
}

function logOf({ backend, path, connectionEnv, schema }: Config): DurableLog {
  if (backend === 'memory') return memoryLog()
  if (backend === 'postgres') return openPostgresLog({ connectionEnv, schema })
  return sqliteLog({
    path: path === undefined ? dshHomePath('graph', 'log.sqlite') : resolve(expandHomePath(path)),
  })
}

/**
 * One error once the boot has settled, when the storage that was asked for is not there. The row
 * stays active and goes on when it comes: rows load concurrently, so nobody is late before that.
 */
function reportMissing(ctx: Context, services: readonly string[]): void {
  let isDisposed = false
  ctx.effect(() => () => void (isDisposed = true), 'missing storage')
  const loader = ctx.get('loader') as { await(): Promise<unknown> } | undefined
  void Promise.resolve(loader?.await()).then(
    () => {
      const missing = services.filter((service) => ctx.get(service) === undefined)
      if (isDisposed || missing.length === 0) return
      ctx
        .logger(PACKAGE)
        .error(
          `backend "kv" keeps nothing without ${missing.join(' and ')}: load the storage rows of DSH in this profile, or choose backend "sqlite"`,
        )
    },
    // A boot that failed reports itself.
    () => undefined,
  )
}
