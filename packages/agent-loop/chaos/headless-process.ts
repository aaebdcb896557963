/** One life of the real `dsh --profile headless` with our rows and the runner under chaos. */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Report } from './headless-runner.ts'

const PACKAGES = resolve(import.meta.dirname, '../..')
const DSH = join(
  dirname(createRequire(import.meta.url).resolve('@deepseek-ai/dsh/package.json')),
  'lib/bin.js',
)

/** What a life told before it ended. */
export interface Life {
  readonly reports: readonly Report[]
  readonly code: number | null
  readonly errors: string
}

/** Of the round: the DSH home, and the patch with our rows. */
export interface Stage {
  readonly home: string
  readonly patch: string
  readonly database: string
}

export function setStage(folder: string): Stage {
  const home = join(folder, 'home')
  mkdirSync(home, { recursive: true })
  const patch = join(folder, 'rows.yml')
  const rows = [
    ['chaos-log', join(PACKAGES, 'durable-log/dist/index.js'), ''],
    ['chaos-host', join(PACKAGES, 'agent-loop/dist/index.js'), ''],
    [
      'chaos-runner',
      join(import.meta.dirname, 'headless-runner.ts'),
      "\n      inject: [headlessStartup]\n      config: { task: !!js 'ctx.headlessStartup.task' }",
    ],
  ]
  writeFileSync(
    patch,
    [
      '- id: headless-runner\n  disabled: true',
      '- insert:',
      ...rows.map(([id, file, more]) => `    - id: ${id}\n      name: ${JSON.stringify(file)}${more}`),
      '',
    ].join('\n'),
  )
  return { home, patch, database: join(home, 'graph', 'log.sqlite') }
}

export function start({ home, patch }: Stage, task: string): ChildProcess {
  return spawn(process.execPath, [DSH, '--profile', 'headless', '--patch', patch, task], {
    cwd: home,
    env: { PATH: process.env['PATH'], HOME: home, DSH_HOME: home, DSH_TELEMETRY_DISABLED: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** Follows the process to its end. @param onLine told how many lines it has said. */
export async function follow(
  child: ChildProcess,
  onLine: (reports: readonly Report[]) => void,
): Promise<Life> {
  const reports: Report[] = []
  let errors = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text))
  const ended = new Promise<number | null>((done) => child.once('close', done))
  if (child.stdout === null) throw new Error('the process has no output')
  for await (const line of createInterface({ input: child.stdout })) {
    const parsed = parse(line)
    if (parsed === undefined) continue
    reports.push(parsed)
    onLine(reports)
  }
  return { reports, code: await ended, errors }
}

/** The last line of a killed process may be torn, and DSH has words of its own. */
function parse(line: string): Report | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && 'kind' in value ? (value as Report) : undefined
  } catch {
    return undefined
  }
}
