/**
 * Somebody who follows a document in a shell: files that it shows are written, commands are run one
 * block after the other with one working directory and one environment, and what it says they print is
 * compared. `<graph>`, `<session>`, `<work>`, `<run>` and `<id>` stand for what is there.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { DshBench } from './dsh-process.ts'
import { placeOf, type Snippet } from './snippets.ts'

const LOOK_MS = 100
const PATIENCE_MS = 60_000

interface ListedGraph {
  readonly graphId: string
  readonly rootSessionId: string
}

export class DocumentWalk implements AsyncDisposable {
  private readonly bench: DshBench
  private readonly staying: ChildProcess[] = []
  private environment: NodeJS.ProcessEnv
  private folder: string
  private printed = ''
  private runId = ''

  constructor(bench: DshBench) {
    this.bench = bench
    this.folder = bench.workspace
    const commands = join(bench.home, '..', 'commands')
    mkdirSync(commands, { recursive: true })
    // No browser, and a port that is free: the only liberty that is taken with a document.
    const web = `if [ "$1" = web ]; then shift; set -- web --no-open --port 0 "$@"; fi`
    const dsh = join(commands, 'dsh')
    writeFileSync(dsh, `#!/bin/sh\n${web}\nexec "${process.execPath}" "${bench.script}" "$@"\n`)
    chmodSync(dsh, 0o755)
    const environment = bench.shellEnvironment()
    this.environment = { ...environment, PATH: [commands, environment['PATH']].join(delimiter) }
  }

  /** Does what the block says. @throws Error with all that was printed when a command fails. */
  async follow(snippet: Snippet): Promise<void> {
    if (snippet.marker === 'not run' || snippet.marker === 'patch') return
    if (snippet.marker === 'save') return writeFileSync(join(this.folder, snippet.value), `${snippet.text}\n`)
    if (snippet.marker === 'output') return this.compare(snippet)
    if (snippet.language !== 'sh') return
    const script = this.filledIn(snippet.text)
    await (snippet.marker === 'stays' ? this.leaveRunning(script) : this.run(script, placeOf(snippet)))
  }

  /** Waits until a command succeeds and prints what the pattern finds. */
  async until(command: string, pattern: RegExp): Promise<void> {
    const latest = Date.now() + PATIENCE_MS
    for (;;) {
      const stdout = this.lookWith(command)
      if (pattern.test(stdout)) return
      if (Date.now() > latest) throw new Error(`${command} never printed ${pattern}, but: ${stdout}`)
      await pause(LOOK_MS)
    }
  }

  /** Nothing, too, where what the command names is not there yet. */
  private lookWith(command: string): string {
    const graphs = /<(?:graph|session|id|work)>/u.test(command) ? this.graphs() : undefined
    if (graphs?.length === 0) return ''
    return spawnSync('bash', ['--norc', '-c', this.filledIn(command)], {
      cwd: this.folder,
      env: this.environment,
      encoding: 'utf8',
    }).stdout
  }

  /** What the last block printed. */
  get output(): string {
    return this.printed
  }

  private async run(script: string, place: string): Promise<void> {
    const after = join(this.bench.home, '..', 'after')
    const kept = `env -0 > '${after}.env'\npwd > '${after}.pwd'\n`
    const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', `${script}\n${kept}`], {
      cwd: this.folder,
      env: this.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    const [code] = (await once(child, 'close')) as [number | null]
    if (code !== 0)
      throw new Error(`${place} ended ${code}:\n${script}\n--- stdout\n${stdout}\n--- stderr\n${stderr}`)
    this.printed = stdout
    this.runId = /^run_\S+$/mu.exec(stdout)?.[0] ?? this.runId
    this.environment = environmentIn(readFileSync(`${after}.env`, 'utf8'))
    this.folder = readFileSync(`${after}.pwd`, 'utf8').trimEnd()
  }

  /** Started in a group of its own; resolves once a host tells of itself in the home. */
  private async leaveRunning(script: string): Promise<void> {
    const child = spawn('bash', ['--norc', '-c', script], {
      cwd: this.folder,
      env: this.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    this.staying.push(child)
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (said += text))
    const folder = join(this.bench.home, 'graph', 'run')
    const latest = Date.now() + PATIENCE_MS
    while (!existsSync(folder) || readdirSync(folder).length === 0) {
      if (child.exitCode !== null || Date.now() > latest)
        throw new Error(`no host came up: ${script}\n${said}`)
      await pause(LOOK_MS)
    }
  }

  private graphs(): readonly ListedGraph[] {
    return this.json<{ graphs?: readonly ListedGraph[] }>('list').graphs ?? []
  }

  private filledIn(text: string): string {
    if (!/<(?:graph|session|id|work)>/u.test(text)) return text.replaceAll('<run>', this.runId)
    const [graph] = this.graphs()
    if (graph === undefined) throw new Error(`there is no graph for: ${text}`)
    const { works } = this.json<{ works: readonly { workId: string; status: string }[] }>(
      'show',
      graph.graphId,
    )
    const work = works.find(({ status }) => status === 'running') ?? works.at(-1)
    return text
      .replaceAll('<graph>', graph.graphId)
      .replaceAll(/<(?:session|id)>/gu, graph.rootSessionId)
      .replaceAll('<work>', work?.workId ?? '')
      .replaceAll('<run>', this.runId)
  }

  private json<T>(...args: string[]): T {
    const { stdout, stderr } = spawnSync('dsh-graph', [...args, '--json'], {
      env: this.environment,
      encoding: 'utf8',
    })
    try {
      return JSON.parse(stdout) as T
    } catch {
      throw new Error(`dsh-graph ${args.join(' ')}: ${stdout}${stderr}`)
    }
  }

  /** Each line of the block stands in what was printed; works that end together come in any order. */
  private compare(snippet: Snippet): void {
    const printed = this.printed.split('\n').map(levelled)
    const lost = snippet.text.split('\n').filter((line) => !printed.includes(levelled(line)))
    if (lost.length > 0)
      throw new Error(`${placeOf(snippet)} shows\n${lost.join('\n')}\nwhich is not in\n${printed.join('\n')}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.staying.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
        const gone = once(child, 'close')
        process.kill(-child.pid, 'SIGTERM')
        await gone
      }),
    )
  }
}

/** Without what differs from run to run: ids, digests, numbers with their units, and runs of spaces. */
function levelled(line: string): string {
  return line
    .replaceAll(/\b(?:agent_)?graph_[0-9a-f]+…?/gu, 'ID')
    .replaceAll(/\b[0-9a-f]{4,}…?/gu, 'ID')
    .replaceAll(/\d+(?:\.\d+)?(?:ms|s|m|h)?\b/gu, 'N')
    .replaceAll(/\s+/gu, ' ')
    .trim()
}

function environmentIn(text: string): NodeJS.ProcessEnv {
  return Object.fromEntries(
    text
      .split('\0')
      .filter((entry) => entry.includes('='))
      .map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
  )
}
