/** DSH as its deployment runs it: the entry of the container, outside of one. */
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ROOT } from './composition.ts'
import { DshProcess, type DshBench, type Finished } from './dsh-process.ts'

/** That of the container. */
const PORT = '8787'
const LOOK_MS = 50
const PATIENCE_MS = 60_000

export interface Ready {
  readonly status: number
  readonly body: { readonly ready: boolean; readonly reasons: readonly string[] }
}

/** The words of an instruction of the container file, which has it once with a list. */
function containerCommand(instruction: 'CMD' | 'HEALTHCHECK'): readonly string[] {
  const text = readFileSync(join(ROOT, 'deploy', 'Containerfile'), 'utf8')
  const [, list = ''] =
    (instruction === 'CMD' ? /^CMD (\[.*\])$/mu : /^HEALTHCHECK [^]*?CMD (\[.*\])$/mu).exec(text) ?? []
  return JSON.parse(list) as string[]
}

export class Service implements AsyncDisposable {
  readonly url: string
  private readonly process: DshProcess

  private constructor(process: DshProcess, url: string) {
    this.process = process
    this.url = url
  }

  /** Resolves when it takes work. */
  static async start(bench: DshBench, environment: NodeJS.ProcessEnv = {}): Promise<Service> {
    const entry = join(ROOT, 'deploy', 'entry.ts')
    const command = [entry, ...containerCommand('CMD').map((word) => (word === PORT ? '0' : word))]
    const child = spawn(process.execPath, command, {
      cwd: bench.workspace,
      env: { ...bench.shellEnvironment(), DSH_SCRIPT: bench.script, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    const running = new DshProcess(child)
    try {
      const [, port = ''] = await running.says(/dsh web: http:\/\/[\d.]+:(\d+)/u)
      const service = new Service(running, `http://127.0.0.1:${port}`)
      await service.until(({ status }) => status === 200)
      return service
    } catch (error) {
      await running.kill()
      throw error
    }
  }

  /** @throws when nothing answers. */
  async ready(): Promise<Ready> {
    const response = await fetch(`${this.url}/graph-host/ready`)
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
    const body = isJson ? ((await response.json()) as Ready['body']) : { ready: false, reasons: [] }
    return { status: response.status, body }
  }

  /** The health check of the container. @returns its exit code. */
  check(): number | null {
    const { port } = new URL(this.url)
    const [, ...words] = containerCommand('HEALTHCHECK').map((word) => word.replace(PORT, port))
    return spawnSync(process.execPath, words).status
  }

  async until(passes: (ready: Ready) => boolean): Promise<Ready> {
    const latest = Date.now() + PATIENCE_MS
    for (;;) {
      const ready = await this.ready()
      if (passes(ready)) return ready
      if (Date.now() > latest)
        throw new Error(`${JSON.stringify(ready)}\n${this.process.stdout}\n${this.process.stderr}`)
      await pause(LOOK_MS)
    }
  }

  get stderr(): string {
    return this.process.stderr
  }

  /** As a service manager does; what follows is awaited with {@link end}. */
  terminate(): void {
    this.process.signal('SIGTERM')
  }

  end(deadlineMs: number): Promise<Finished> {
    return this.process.end(deadlineMs)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.process.kill()
  }
}
