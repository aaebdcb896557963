/**
 * The real `dsh` command, as a person would run it: a home of its own, no credentials but the mock's,
 * pnpm on the PATH, packages from the loopback registry only. Every process that was started is gone
 * when its bench is disposed.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { DshInstallation } from './dsh-installation.ts'
import { pathWithPnpm } from './pnpm-command.ts'
import { tempFolder } from './temp-folder.ts'

/** No command of ours takes longer on a slow machine with other work. */
const DEADLINE_MS = 120_000
/** DSH itself forces its exit five seconds after a signal. */
const EXIT_MS = 10_000

export interface Finished {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface BenchOptions {
  readonly installation: DshInstallation
  /** What the installs may ask. */
  readonly registryUrl: string
  /** What the DeepSeek route talks to. */
  readonly llmBaseUrl: string
}

/** Variables that a test run carries and a person's shell does not. */
const OF_THE_TEST_RUN =
  /^(?:npm_|pnpm_|DSH_|DEEPSEEK_|VITEST|XDG_|NODE_OPTIONS$|NODE_ENV$|INIT_CWD$|TEST$|PROD$|DEV$|MODE$)/iu

function environmentOf(folder: string, options: BenchOptions): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !OF_THE_TEST_RUN.test(name))
  return {
    ...Object.fromEntries(inherited),
    PATH: pathWithPnpm(join(folder, 'bin')),
    HOME: join(folder, 'user'),
    DSH_HOME: join(folder, 'home'),
    DSH_TELEMETRY_DISABLED: '1',
    DEEPSEEK_BASE_URL: options.llmBaseUrl,
    DEEPSEEK_API_KEY: 'mock',
    // pnpm: the loopback registry, no store or cache of this machine, no look at newer pnpm versions.
    pnpm_config_registry: options.registryUrl,
    pnpm_config_store_dir: join(folder, 'store'),
    pnpm_config_cache_dir: join(folder, 'cache'),
    pnpm_config_state_dir: join(folder, 'state'),
    pnpm_config_update_notifier: 'false',
  }
}

/** One running process and what it has said so far. */
export class DshProcess {
  stdout = ''
  stderr = ''
  private readonly child: ChildProcess
  private readonly finished: Promise<Finished>
  private readonly looks = new Set<() => void>()

  constructor(child: ChildProcess) {
    this.child = child
    child.stdout?.setEncoding('utf8').on('data', (text: string) => this.heard('stdout', text))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => this.heard('stderr', text))
    this.finished = once(child, 'close').then(([code, signal]) => {
      for (const look of this.looks) look()
      return {
        code: code as number | null,
        signal: signal as NodeJS.Signals | null,
        stdout: this.stdout,
        stderr: this.stderr,
      }
    })
  }

  /** How it ended. @throws Error with all it said when it does not end in time. */
  async end(deadlineMs = DEADLINE_MS): Promise<Finished> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`still running after ${deadlineMs} ms${this.said()}`)),
        deadlineMs,
      )
    })
    try {
      return await Promise.race([this.finished, late])
    } finally {
      clearTimeout(timer)
    }
  }

  /** Resolves with the match once the pattern is in the output. @throws Error when it ends before. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.stdout) ?? pattern.exec(this.stderr)
      if (match !== null) return match
      if (this.hasEnded) throw new Error(`ended before it said ${pattern}${this.said()}`)
      await new Promise<void>((resolve) => {
        const look = () => {
          this.looks.delete(look)
          resolve()
        }
        this.looks.add(look)
      })
    }
  }

  /** Sends a signal to the process alone. */
  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal)
  }

  /** Sends a signal to the process alone and waits for its end. */
  async stop(signal: NodeJS.Signals): Promise<Finished> {
    this.signal(signal)
    return this.end(EXIT_MS)
  }

  /** Ends the process and all it started. */
  async kill(): Promise<void> {
    const { pid } = this.child
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL')
    } catch {
      // The group is gone already.
    }
    if (pid !== undefined) await this.finished
  }

  private get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null
  }

  private said(): string {
    return `\n--- stdout\n${this.stdout}\n--- stderr\n${this.stderr}`
  }

  private heard(channel: 'stdout' | 'stderr', text: string): void {
    this[channel] += text
    for (const look of this.looks) look()
  }
}

/** A home of DSH and the command that works in it. */
export class DshBench implements AsyncDisposable {
  /** `$DSH_HOME`. */
  readonly home: string
  /** The working directory of every command. */
  readonly workspace: string
  private readonly folder = tempFolder('bench')
  private readonly options: BenchOptions
  private readonly environment: NodeJS.ProcessEnv
  private readonly running = new Set<DshProcess>()

  constructor(options: BenchOptions) {
    this.options = options
    this.home = join(this.folder.path, 'home')
    this.workspace = join(this.folder.path, 'workspace')
    this.environment = environmentOf(this.folder.path, options)
    for (const folder of [this.workspace, join(this.folder.path, 'user')])
      mkdirSync(folder, { recursive: true })
  }

  /** For a command of a person's own: a copy. The commands of DSH are not on its PATH. */
  shellEnvironment(): NodeJS.ProcessEnv {
    return { ...this.environment }
  }

  /** The script of the `dsh` command, for Node. */
  get script(): string {
    return this.options.installation.bin
  }

  profileDir(profile: string): string {
    return join(this.home, 'profiles', profile)
  }

  start(...args: string[]): DshProcess {
    const child = spawn(process.execPath, [this.options.installation.bin, ...args], {
      cwd: this.workspace,
      env: this.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own, so that all of it can be ended.
      detached: true,
    })
    const running = new DshProcess(child)
    this.running.add(running)
    child.once('close', () => this.running.delete(running))
    return running
  }

  run(...args: string[]): Promise<Finished> {
    return this.start(...args).end()
  }

  /** @throws Error with all it said unless the exit code is 0. */
  async succeed(...args: string[]): Promise<Finished> {
    const finished = await this.run(...args)
    if (finished.code !== 0)
      throw new Error(
        `dsh ${args.join(' ')} ended ${finished.code ?? finished.signal}\n${finished.stdout}\n${finished.stderr}`,
      )
    return finished
  }

  /** `dsh plugin --profile <profile> <pnpm arguments>`. */
  plugin(profile: string, ...args: string[]): Promise<Finished> {
    return this.succeed('plugin', '--profile', profile, ...args)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.running].map((running) => running.kill()))
    this.folder[Symbol.dispose]()
  }
}
