/**
 * Which process this is, and whether another one still runs.
 *
 * A pid alone says little: it is reused, it starts anew with the machine, and it means something else
 * in another container. Linux answers all of it from `/proc`. Elsewhere a pid that exists counts as
 * alive, so a reused one delays a takeover until the deadline.
 */
import { createHash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Processes, ProcessIdentity, ProcessState } from './lease-types.ts'

/** What the system says of a pid: when it started (empty: not known), or that nobody has it. */
export type ProbePid = (pid: number) => { readonly startedAt: string } | 'gone'

let known: ProcessIdentity | undefined

/** The processes of this system. */
export function systemProcesses(): Processes {
  const self = (known ??= identify())
  return { self, stateOf: (process) => judgeProcess(process, self, probePid) }
}

/** Pure but for the probe. */
export function judgeProcess(other: ProcessIdentity, self: ProcessIdentity, probe: ProbePid): ProcessState {
  if (other.machineId !== self.machineId) return 'unknown'
  if (other.bootId !== self.bootId) return 'dead'
  if (other.pidSpace !== self.pidSpace) return 'unknown'
  const found = probe(other.pid)
  if (found === 'gone') return 'dead'
  const isComparable = found.startedAt !== '' && other.startedAt !== ''
  return isComparable && found.startedAt !== other.startedAt ? 'dead' : 'alive'
}

/** Checks what a medium holds in the place of an identity. */
export function parseProcess(value: unknown): ProcessIdentity | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { pid, startedAt, bootId, machineId, pidSpace } = value as Record<string, unknown>
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid <= 0) return undefined
  if (typeof startedAt !== 'string' || typeof bootId !== 'string') return undefined
  if (typeof machineId !== 'string' || typeof pidSpace !== 'string') return undefined
  return { pid, startedAt, bootId, machineId, pidSpace }
}

/** Whether both are the same run of the same process. */
export function isSameProcess(left: ProcessIdentity, right: ProcessIdentity): boolean {
  return (
    left.pid === right.pid &&
    left.startedAt === right.startedAt &&
    left.bootId === right.bootId &&
    left.machineId === right.machineId &&
    left.pidSpace === right.pidSpace
  )
}

function identify(): ProcessIdentity {
  const { pid } = process
  const found = probePid(pid)
  return Object.freeze({
    pid,
    startedAt: found === 'gone' ? '' : found.startedAt,
    bootId: textOf('/proc/sys/kernel/random/boot_id'),
    machineId: digestOf(`${textOf('/etc/machine-id')}\n${hostname()}`),
    pidSpace: linkOf('/proc/self/ns/pid'),
  })
}

function probePid(pid: number): { readonly startedAt: string } | 'gone' {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return 'gone'
    // It exists and belongs to somebody else.
  }
  const stat = textOf(`/proc/${pid}/stat`)
  // The second field is the program's name in parentheses, which may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state] = fields
  if (state === 'Z' || state === 'X') return 'gone'
  return { startedAt: fields[START_TIME_FIELD] ?? '' }
}

/** Field 22 of proc_pid_stat(5), counted from the third. */
const START_TIME_FIELD = 19

/** A machine id is not to be shown to others as it is, see machine-id(5). */
function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** Empty where there is no such file. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return ''
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
