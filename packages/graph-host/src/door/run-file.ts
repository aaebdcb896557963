/**
 * How a shell finds the hosts that run on a home: each writes `run/<pid>.json` in the graph folder,
 * for its user only, and takes it away when it goes. What a dead process left behind is ignored and
 * removed by whoever looks.
 *
 * Owns: these files. Does not own: the port they name (door-server).
 */
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { systemProcesses, type ProcessIdentity, type Processes } from 'dsh-durable-log'

export interface RunningHost {
  readonly process: ProcessIdentity
  /** Of the door, on 127.0.0.1. */
  readonly port: number
  /** Whoever has it may act as the person whose file it is. */
  readonly token: string
  /** Epoch milliseconds. */
  readonly startedAt: number
  /** Of dsh-graph-host. */
  readonly version: string
}

const RUN_FILE = /^\d+(?:-\d+)?\.json$/u
const LARGEST_FILE = 4_096
/** Hosts of one process on one home, at most. */
const MOST_OF_ONE_PROCESS = 64

export function runFolder(graphHome: string): string {
  return join(graphHome, 'run')
}

/**
 * Writes the file, whole or not at all.
 *
 * @returns takes it away. Idempotent, and nothing happens when somebody else did.
 */
export function writeRunFile(folder: string, host: RunningHost): () => void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  chmodSync(folder, 0o700)
  const draft = join(folder, `.${randomBytes(8).toString('hex')}.tmp`)
  writeFileSync(draft, JSON.stringify({ v: 1, ...host }), { mode: 0o600, flag: 'wx' })
  try {
    const path = placeOf(folder, draft, host.process.pid)
    return () => {
      if (readRunFile(path)?.token === host.token) rmSync(path, { force: true })
    }
  } finally {
    rmSync(draft, { force: true })
  }
}

/** A link fails where a file is, so two hosts of one process never share a place. */
function placeOf(folder: string, draft: string, pid: number): string {
  for (let at = 0; ; at += 1) {
    const path = join(folder, at === 0 ? `${pid}.json` : `${pid}-${at}.json`)
    try {
      linkSync(draft, path)
      return path
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || at >= MOST_OF_ONE_PROCESS) throw error
      // Left by an earlier process of that number.
      const found = readRunFile(path)
      if (found === undefined || systemProcesses().stateOf(found.process) === 'dead') {
        rmSync(path, { force: true })
        at -= 1
      }
    }
  }
}

/** The hosts that run now, the newest first. Files of dead processes are removed on the way. */
export function runningHosts(
  folder: string,
  processes: Processes = systemProcesses(),
): readonly RunningHost[] {
  const hosts: RunningHost[] = []
  for (const name of namesIn(folder)) {
    const path = join(folder, name)
    const host = readRunFile(path)
    if (host === undefined) continue
    const state = processes.stateOf(host.process)
    if (state === 'dead') rmSync(path, { force: true })
    // On another machine its loopback port means nothing here.
    else if (state === 'alive') hosts.push(host)
  }
  return hosts.sort((a, b) => b.startedAt - a.startedAt)
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => RUN_FILE.test(name))
  } catch {
    // No host ran here yet.
    return []
  }
}

/** `undefined` for what is not a run file of this user's, readable for nobody else. */
function readRunFile(path: string): RunningHost | undefined {
  try {
    const stat = lstatSync(path)
    if (!stat.isFile() || stat.size > LARGEST_FILE) return undefined
    if (process.getuid !== undefined && (stat.uid !== process.getuid() || (stat.mode & 0o077) !== 0))
      return undefined
    return hostIn(JSON.parse(readFileSync(path, 'utf8')))
  } catch {
    // Gone meanwhile, or no JSON.
    return undefined
  }
}

function hostIn(value: unknown): RunningHost | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { port, process: identity, startedAt, token, v, version } = value as Record<string, unknown>
  if (v !== 1 || typeof token !== 'string' || !/^[0-9a-f]{64}$/u.test(token)) return undefined
  if (typeof port !== 'number' || !Number.isInteger(port) || port < 1 || port > 65_535) return undefined
  if (typeof startedAt !== 'number' || typeof version !== 'string' || !isIdentity(identity)) return undefined
  return { process: identity, port, token, startedAt, version }
}

function isIdentity(value: unknown): value is ProcessIdentity {
  if (typeof value !== 'object' || value === null) return false
  const { bootId, machineId, pid, pidSpace, startedAt } = value as Record<string, unknown>
  return (
    typeof pid === 'number' &&
    Number.isSafeInteger(pid) &&
    pid > 0 &&
    [bootId, machineId, pidSpace, startedAt].every((text) => typeof text === 'string')
  )
}
