/** What a running host says about itself. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import type { GraphControl } from 'dsh-graph-control'
import type { Config } from '../config.ts'
import { graphHome } from '../graph-home.ts'
import type { RecentErrors } from './recent-errors.ts'
import type { DoctorReport } from './report.ts'
import { versionsFound } from './versions.ts'

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
  const problems = missing.map((name) => `service ${name} is missing: the row that provides it is not loaded`)
  if (ctx.get('sessionPersistence') === undefined)
    problems.push(
      'sessions are not kept (no sessionPersistence): operators cannot be resumed after a restart',
    )
  return {
    sections: {
      versions: versionsFound(),
      services: Object.fromEntries(
        [...NEEDED, ...WELCOME].map((name) => [name, found.includes(name) ? 'found' : 'not there']),
      ),
      storage: {
        folder: graphHome(),
        log: fileText(join(graphHome(), 'log.sqlite')),
        'open graphs': String(open.length),
      },
      caps: capsOf(config),
      process: { pid: String(process.pid), uptime: `${Math.round(process.uptime())}s` },
    },
    lastErrors: errors.list(),
    problems,
  }
}

/** The numbers and choices of the row; catalogs are told by their names only. */
function capsOf(config: Config): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [
      name,
      typeof value === 'object' && value !== null ? Object.keys(value).join(', ') || 'none' : String(value),
    ]),
  )
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
