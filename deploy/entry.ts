/**
 * Runs DSH as a service: `node entry.ts web --no-open --port 8787`.
 *
 * On SIGTERM or SIGINT the host is asked to drain through its own door (nothing new is taken, what runs
 * may finish), then DSH gets SIGTERM, and SIGKILL when it does not end. What was left is open in the log,
 * and the next process goes on with it. A second signal ends the wait. The exit code is that of DSH; of a
 * DSH that had to be killed it is 137.
 *
 *   DSH_GRAPH_DRAIN_MS   how long what runs may go on, default 25000; 0: not at all
 *
 * Needs `@deepseek-ai/dsh` where it is started, or its script in DSH_SCRIPT. Owns that one process.
 */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

const { env } = process
const DRAIN_MS = drainOf(env['DSH_GRAPH_DRAIN_MS'] ?? '25000')
/** DSH ends itself five seconds after a signal. */
const DISPOSE_MS = 8_000
/** What an answer may take beyond the drain. */
const ANSWER_MS = 2_000

const startedHere = Date.now()
const child = spawn(process.execPath, [scriptOf(), ...process.argv.slice(2)], { stdio: 'inherit' })
const hurried = new AbortController()
let isEnding = false

child.once('error', (error) => {
  console.error(`entry: DSH could not be started: ${error.message}`)
  process.exit(1)
})
child.once('exit', (code, signal) => process.exit(signal === 'SIGKILL' ? 137 : (code ?? 1)))
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void end(signal))

async function end(signal: NodeJS.Signals): Promise<void> {
  if (isEnding) return hurried.abort()
  isEnding = true
  console.error(`entry: ${signal}: draining for ${DRAIN_MS} ms at most`)
  console.error(`entry: ${await drained()}`)
  setTimeout(() => child.kill('SIGKILL'), DISPOSE_MS).unref()
  child.kill('SIGTERM')
}

/** Asks the host to drain and waits for the answer. @returns what came of it, for people. */
async function drained(): Promise<string> {
  try {
    const { port, token } = runFile()
    const response = await fetch(`http://127.0.0.1:${port}/v1/drain`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ limitMs: DRAIN_MS }),
      signal: AbortSignal.any([hurried.signal, AbortSignal.timeout(DRAIN_MS + ANSWER_MS)]),
    })
    const answer = (await response.json()) as { ok: boolean; value?: { left: readonly string[] } }
    if (!answer.ok) return 'the host refused to drain'
    const { length } = answer.value?.left ?? []
    if (length === 0) return 'drained'
    return `${length === 1 ? '1 run is' : `${length} runs are`} left to the next process`
  } catch (error) {
    // It may not have come up, or be beyond answering: then it ends as it is.
    return `not drained: ${error instanceof Error ? error.message : String(error)}`
  }
}

interface RunFile {
  readonly port: number
  readonly token: string
  readonly startedAt: number
}

/**
 * Where the host of our process listens, as it wrote down itself. A container that was killed leaves the
 * file of a process with the same number behind, so the newest one is it, and it is not older than we are.
 */
function runFile(): RunFile {
  const folder = join(env['DSH_HOME'] ?? join(homedir(), '.dsh'), 'graph', 'run')
  const ours = new RegExp(`^${child.pid}(?:-\\d+)?\\.json$`, 'u')
  const files = readdirSync(folder)
    .filter((name) => ours.test(name))
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as RunFile)
    .filter(({ startedAt }) => startedAt >= startedHere)
    .sort((left, right) => right.startedAt - left.startedAt)
  const [newest] = files
  if (newest === undefined) throw new Error('the host has not opened its door')
  return newest
}

function scriptOf(): string {
  const given = env['DSH_SCRIPT']
  if (given !== undefined && given !== '') return given
  const from = createRequire(join(process.cwd(), 'package.json'))
  return join(dirname(from.resolve('@deepseek-ai/dsh/package.json')), 'lib', 'bin.js')
}

function drainOf(text: string): number {
  const limit = Number(text)
  if (Number.isSafeInteger(limit) && limit >= 0 && limit <= 3_600_000) return limit
  console.error('entry: DSH_GRAPH_DRAIN_MS must be a whole number of milliseconds, at most 3600000')
  process.exit(2)
}
