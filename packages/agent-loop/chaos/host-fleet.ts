/**
 * The processes of a round: hosts that each reach the database through a proxy of their own, and the
 * faults that strike them. A host that ends is started again, as a supervisor would.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type CutProxy, cutProxy } from '../../durable-log/tests/support/cut-proxy.ts'
import type { PostgresServer } from '../../durable-log/tests/support/postgres-server.ts'
import { CONNECTION_ENV, type HostOrder, type HostReport, type HostSettings } from './host-process.ts'
import type { Fault, FaultKind } from './hosts-plan.ts'
import { machineTime } from './turn-record.ts'

const PACKAGES = resolve(import.meta.dirname, '../..')
/** The packages as they are built in this checkout. */
export const BUILT = {
  log: join(PACKAGES, 'durable-log/dist/index.js'),
  sessions: join(PACKAGES, 'durable-log/dist/sessions.js'),
  loop: join(PACKAGES, 'agent-loop/dist/index.js'),
}

/** What struck a process, and until when it was not itself. */
export interface Strike {
  readonly kind: FaultKind
  readonly pid: number
  readonly at: number
  /** None for a kill. */
  endedAt: number | undefined
}

export class HostRefusal extends Error {
  readonly code: string

  constructor(code: string, text: string) {
    super(text)
    this.code = code
  }
}

type Unsent<T> = T extends unknown ? Omit<T, 'id'> : never
type Done = Extract<HostReport, { kind: 'done' }>

export interface HostOptions {
  readonly name: string
  readonly skewMs: number
  readonly settings: HostSettings
  readonly server: PostgresServer
  readonly folder: string
}

/** One host: its proxy, its name, and the process that is it at the time. */
export class Host {
  readonly options: HostOptions
  readonly proxy: CutProxy
  /** Processes that were this host, in order. */
  readonly pids: number[] = []
  /** Ends that nobody asked for, after the process had said that it is ready. */
  readonly crashes: string[] = []
  private child: ChildProcess | undefined
  private isReady = Promise.withResolvers<void>()
  private readonly pending = new Map<number, PromiseWithResolvers<Done>>()
  private orders = 0
  private isWanted = true

  private constructor(options: HostOptions, proxy: CutProxy) {
    this.options = options
    this.proxy = proxy
  }

  static async start(options: HostOptions): Promise<Host> {
    const { hostname, port } = new URL(options.server.url)
    const host = new Host(options, await cutProxy({ host: hostname, port: Number(port) }))
    host.spawn()
    return host
  }

  get pid(): number {
    return this.child?.pid ?? 0
  }

  whenReady(): Promise<void> {
    return this.isReady.promise
  }

  /** @throws HostRefusal; an error without code when the process ended before it answered. */
  async order(order: Unsent<HostOrder>): Promise<Done> {
    await this.isReady.promise
    const { child } = this
    const id = (this.orders += 1)
    const answer = Promise.withResolvers<Done>()
    this.pending.set(id, answer)
    child?.send({ ...order, id }, (error) => error !== null && answer.reject(error))
    return await answer.promise
  }

  async strike({ kind, forMs }: Fault, pause: (ms: number) => Promise<void>): Promise<Strike> {
    const { child, pid } = this
    const strike: Strike = { kind, pid, at: machineTime(), endedAt: undefined }
    switch (kind) {
      case 'kill':
        if (child?.exitCode !== null || child.signalCode !== null) return { ...strike, pid: 0 }
        this.isWanted = false
        child.kill('SIGKILL')
        await once(child, 'exit')
        await pause(forMs)
        this.isWanted = true
        this.spawn()
        return strike
      case 'stop':
        child?.kill('SIGSTOP')
        await pause(forMs)
        child?.kill('SIGCONT')
        break
      case 'cut':
      case 'freeze':
        this.proxy[kind]()
        await pause(forMs)
        this.proxy.mend()
        break
      case 'postgres':
        await this.options.server.restart()
        break
    }
    strike.endedAt = machineTime()
    return strike
  }

  /** Lets the host close, and its process end by itself. @returns what is wrong with its end. */
  async close(limitMs: number): Promise<string | undefined> {
    const { child } = this
    if (child === undefined) return 'it has no process'
    this.isWanted = false
    const exit = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
    const timer = setTimeout(() => child.kill('SIGABRT'), limitMs)
    const told = await this.order({ kind: 'close' }).catch((error: unknown) => String(error))
    const [code, signal] = await exit
    clearTimeout(timer)
    if (typeof told === 'string') return `its close failed: ${told}`
    return code === 0 ? undefined : `it ended with ${code ?? signal}: ${this.words}`
  }

  /** Ends whatever is left, at once. */
  async destroy(): Promise<void> {
    this.isWanted = false
    const { child } = this
    if (child?.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    await this.proxy.close()
  }

  /** What its processes have said, the end of it. */
  get words(): string {
    return readFileSync(this.output, 'utf8').slice(-2_000)
  }

  private get output(): string {
    return join(this.options.folder, `${this.options.name}.log`)
  }

  private spawn(): void {
    const { name, skewMs, settings, server } = this.options
    const url = new URL(server.url)
    url.port = String(this.proxy.port)
    const output = openSync(this.output, 'a')
    const here = import.meta.dirname
    const child = spawn(
      process.execPath,
      ['--import', join(here, 'elsewhere.ts'), join(here, 'host-process.ts')],
      {
        cwd: this.options.folder,
        env: {
          PATH: process.env['PATH'],
          HOME: this.options.folder,
          DSH_HOME: join(this.options.folder, name),
          DSH_TELEMETRY_DISABLED: '1',
          CHAOS_HOST: name,
          CHAOS_SKEW_MS: String(skewMs),
          CHAOS_SETTINGS: JSON.stringify(settings),
          [CONNECTION_ENV]: url.href,
        },
        stdio: ['ignore', output, output, 'ipc'],
      },
    )
    this.child = child
    this.pids.push(child.pid ?? 0)
    let wasReady = false
    child.on('message', (report: HostReport) => {
      if (report.kind === 'ready') {
        wasReady = true
        return this.isReady.resolve()
      }
      const answer = this.pending.get(report.id)
      this.pending.delete(report.id)
      if (report.kind === 'done') answer?.resolve(report)
      else answer?.reject(new HostRefusal(report.code, report.text))
    })
    child.on('error', () => undefined)
    child.once('exit', (code, signal) => {
      this.isReady.promise.catch(() => undefined)
      if (wasReady) this.isReady = Promise.withResolvers()
      for (const answer of this.pending.values()) answer.reject(new Error('the process ended'))
      this.pending.clear()
      if (!this.isWanted) return
      if (wasReady) this.crashes.push(`process ${child.pid} ended with ${code ?? signal}: ${this.words}`)
      this.spawn()
    })
  }
}
