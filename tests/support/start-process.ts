/** Runs `start` as a process of its own, as `pnpm start` does after the build. */
import { spawn, type ChildProcess } from 'node:child_process'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const MAIN = resolve(import.meta.dirname, '..', '..', 'start', 'main.ts')

export interface StartEnd {
  readonly code: number | null
  readonly lines: readonly Record<string, unknown>[]
  readonly stdout: string
  readonly stderr: string
}

export interface StartRun {
  readonly process: ChildProcess
  readonly end: Promise<StartEnd>
  /** Resolves when a line of JSON fulfils the condition; rejects when the process ended before. */
  line(condition: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>
}

function parsed(stdout: string): Record<string, unknown>[] {
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

/** `env` values of `undefined` are taken out of the environment. */
export function runStart(
  args: readonly string[],
  env: Record<string, string | undefined> = {},
  cwd?: string,
): StartRun {
  const environment = { ...process.env, DEEPSEEK_API_KEY: undefined, DSH_GRAPH_SCRIPT: undefined, ...env }
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: environment,
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  const watchers = new Set<() => void>()
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    for (const watcher of watchers) watcher()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const end = new Promise<StartEnd>((done) => {
    child.on('close', (code) => done({ code, lines: parsed(stdout), stdout, stderr }))
  })
  return {
    process: child,
    end,
    line: (condition) =>
      new Promise((found, failed) => {
        const look = () => {
          const complete = stdout.slice(0, stdout.lastIndexOf('\n') + 1)
          const line = parsed(complete).find(condition)
          if (line === undefined) return
          watchers.delete(look)
          found(line)
        }
        watchers.add(look)
        look()
        void end.then(({ code }) =>
          failed(new Error(`start ended with ${code} before that line: ${stdout}${stderr}`)),
        )
      }),
  }
}

export interface LogEntry {
  readonly stream: string
  readonly seq: number
  readonly type: string
  readonly data: Record<string, unknown>
}

/** Every entry of the durable log under a state directory, read from the file itself. */
export function readLogFile(file: string): LogEntry[] {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    const rows = db.prepare('SELECT * FROM entries ORDER BY stream, seq').all() as Record<string, unknown>[]
    return rows.map((row) => ({
      stream: String(row['stream']),
      seq: Number(row['seq']),
      type: String(row['type']),
      data: JSON.parse(String(row['data'])) as Record<string, unknown>,
    }))
  } finally {
    db.close()
  }
}
