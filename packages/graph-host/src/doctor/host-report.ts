/** What a running host says about itself. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import type { AgentLoopHost } from 'dsh-agent-loop-host'
import type { GraphControl } from 'dsh-graph-control'
import type { Config } from '../config.ts'
import { graphHome } from '../graph-home.ts'
import type { RecentErrors } from './recent-errors.ts'
import type { DoctorReport } from './report.ts'
import { versionProblems, versionsFound } from './versions.ts'

/** Without these no graph runs. */
const NEEDED = [
  'durableLog',
  'graphControl',
  'agentLoopHost',
  'agentGraphController',
  'agents',
  'sessions',
  'tools',
]
/** With these more is possible. */
const WELCOME = [
  'sessionPersistence',
  'graphTools',
  'commands',
  'agentPresets',
  'webServer',
  'subagents',
  'approval',
]

export interface HostReportDeps {
  readonly ctx: Context
  readonly config: Config
  readonly store: GraphControl
  readonly errors: RecentErrors
}

export async function hostReport({ config, ctx, errors, store }: HostReportDeps): Promise<DoctorReport> {
  const found = [...NEEDED, ...WELCOME].filter((name) => ctx.get(name) !== undefined)
  const missing = NEEDED.filter((name) => !found.includes(name))
  const open = await store.listOpenGraphs()
  const versions = versionsFound()
  const problems = missing.map((name) => `service ${name} is missing: the row that provides it is not loaded`)
  problems.push(...versionProblems(versions))
  if (ctx.get('sessionPersistence') === undefined)
    problems.push(
      'sessions are not kept (no sessionPersistence): operators cannot be resumed after a restart',
    )
  return {
    sections: {
      versions,
      services: Object.fromEntries(
        [...NEEDED, ...WELCOME].map((name) => [name, found.includes(name) ? 'found' : 'not there']),
      ),
      storage: {
        folder: graphHome(),
        ...mediumOf(ctx),
        'open graphs': String(open.length),
      },
      caps: capsOf(config),
      lanes: lanesOf(ctx),
      process: { pid: String(process.pid), uptime: `${Math.round(process.uptime())}s` },
    },
    lastErrors: errors.list(),
    problems,
  }
}

/** The numbers and choices of the row; catalogs are told by their names only. */
function capsOf({ limits, ...config }: Config): Readonly<Record<string, string>> {
  return Object.fromEntries([
    ...Object.entries(config).map(([name, value]) => [
      name,
      typeof value === 'object' && value !== null ? Object.keys(value).join(', ') || 'none' : String(value),
    ]),
    ...Object.entries(limits).flatMap(([name, value]) =>
      value === undefined ? [] : [[`limits.${name}`, String(value)]],
    ),
  ])
}

/** How wide each global lane is, and what it has seen. */
function lanesOf(ctx: Context): Readonly<Record<string, string>> {
  const host = ctx.get('agentLoopHost') as AgentLoopHost | undefined
  return Object.fromEntries(
    (host?.metrics() ?? []).map(({ active, depth, drops, forcedReleases, lane, started, width }) => [
      lane,
      `${active} of ${width} active, ${depth} waiting, ${started} started, ${drops} dropped, ${forcedReleases} released by force`,
    ]),
  )
}

/** The part of the Cordis loader that tells how a row is configured. */
interface Rows {
  entries(): Iterable<{
    readonly options: { readonly name: string; readonly config?: unknown }
    readonly disabled?: boolean
  }>
}

interface LogRow {
  readonly backend?: unknown
  readonly path?: unknown
  readonly connectionEnv?: unknown
  readonly schema?: unknown
}

/** Where streams are kept, as the row of the log says; settings that are expressions are not told. */
function mediumOf(ctx: Context): Readonly<Record<string, string>> {
  const rows = (ctx.get('loader') as unknown as Rows | undefined)?.entries() ?? []
  const row = [...rows].find(
    ({ disabled, options }) => disabled !== true && options.name === 'dsh-durable-log',
  )
  const { backend, connectionEnv, path, schema } = (row?.options.config ?? {}) as LogRow
  const kind = typeof backend === 'string' ? backend : 'sqlite'
  if (kind === 'postgres') {
    const variable = typeof connectionEnv === 'string' ? connectionEnv : 'DATABASE_URL'
    return {
      backend: kind,
      log: `$${variable}, schema ${typeof schema === 'string' ? schema : 'durable_log'}`,
    }
  }
  if (kind !== 'sqlite') return { backend: kind }
  return { backend: kind, log: fileText(typeof path === 'string' ? path : join(graphHome(), 'log.sqlite')) }
}

/** Size and mode of a file, or that it is not there. */
export function fileText(path: string): string {
  try {
    const { mode, size } = statSync(path)
    return `${path}, ${size} bytes, mode ${(mode & 0o777).toString(8)}`
  } catch {
    return `${path}: not there (another backend or path is configured, or nothing was written yet)`
  }
}
