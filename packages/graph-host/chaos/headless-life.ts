/** One life of the real `dsh --profile headless` with the rows of the bundle and the runner under chaos. */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import type { Report } from './chaos-runner.ts'
import type { Aim } from './kill-point.ts'

const PACKAGES = resolve(import.meta.dirname, '../..')
const DSH = join(
  dirname(createRequire(import.meta.url).resolve('@deepseek-ai/dsh/package.json')),
  'lib/bin.js',
)
/** The bundle's, in the order of its patch. */
const ROWS = ['durable-log', 'graph-control', 'agent-loop', 'tool-graph', 'graph-host', 'graph-runtime']
/** A life that takes longer hangs. */
const HANGS_AFTER_MS = 60_000

/** What is kept from one life to the next. */
export interface Home {
  readonly folder: string
  readonly patch: string
  readonly log: string
}

export interface Life {
  readonly reports: readonly Report[]
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly errors: string
  readonly isHung: boolean
}

export interface LifeOptions {
  /** Where it kills itself; none: it lives to its end, or until the clock's kill. */
  readonly aim?: Aim | undefined
  /** Killed from outside, so long after its first line. */
  readonly killAfterMs?: number | undefined
}

export function settle(folder: string): Home {
  const home = join(folder, 'home')
  mkdirSync(home, { recursive: true })
  const patch = join(folder, 'rows.yml')
  const runner = JSON.stringify(join(import.meta.dirname, 'chaos-runner.ts'))
  writeFileSync(
    patch,
    [
      '- id: headless-runner\n  disabled: true',
      '- insert:',
      ...ROWS.map((row) => `    - id: chaos-${row}\n      name: ${JSON.stringify(entryOf(row))}`),
      `    - id: chaos-runner\n      name: ${runner}\n      inject: [headlessStartup]`,
      "      config: { task: !!js 'ctx.headlessStartup.task' }",
      '',
    ].join('\n'),
  )
  return { folder: home, patch, log: join(home, 'graph', 'log.sqlite') }
}

function entryOf(directory: string): string {
  return join(PACKAGES, directory, 'dist/index.js')
}

export async function live(home: Home, { aim, killAfterMs }: LifeOptions): Promise<Life> {
  const task = aim === undefined ? 'none' : `${aim.point} ${aim.occurrence}`
  const child = spawn(process.execPath, [DSH, '--profile', 'headless', '--patch', home.patch, task], {
    cwd: home.folder,
    env: {
      PATH: process.env['PATH'],
      HOME: home.folder,
      DSH_HOME: home.folder,
      DSH_TELEMETRY_DISABLED: '1',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let isHung = false
  const watchdog = setTimeout(() => (isHung = child.kill('SIGKILL')), HANGS_AFTER_MS)
  let clock: NodeJS.Timeout | undefined
  const life = await follow(child, () => {
    if (killAfterMs !== undefined) clock ??= setTimeout(() => child.kill('SIGKILL'), killAfterMs)
  })
  clearTimeout(watchdog)
  clearTimeout(clock)
  return { ...life, isHung }
}

/** @param onLine told of each line as it comes. */
async function follow(child: ChildProcess, onLine: () => void): Promise<Omit<Life, 'isHung'>> {
  const reports: Report[] = []
  let errors = ''
  let rest = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text))
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    const lines = `${rest}${text}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const report = parse(line)
      if (report === undefined) continue
      reports.push(report)
      onLine()
    }
  })
  return new Promise((done) => child.once('close', (code, signal) => done({ reports, code, signal, errors })))
}

/** DSH has words of its own. */
function parse(line: string): Report | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && 'kind' in value ? (value as Report) : undefined
  } catch {
    return undefined
  }
}
