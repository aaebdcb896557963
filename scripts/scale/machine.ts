/** What the machine itself tells: times of its cores and processes (`/proc`, Linux only), and of its disk. */
import {
  closeSync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'

/** Milliseconds to write and sync a page of a write-ahead log, the median. */
export function syncCost(): number {
  const folder = mkdtempSync(join(tmpdir(), 'scale-sync-'))
  const file = openSync(join(folder, 'page'), 'w')
  const page = Buffer.alloc(8192, 1)
  try {
    const taken = Array.from({ length: 300 }, () => {
      const began = performance.now()
      writeSync(file, page, 0, page.length, 0)
      fdatasyncSync(file)
      return performance.now() - began
    })
    return taken.toSorted((left, right) => left - right)[150] ?? Number.NaN
  } finally {
    closeSync(file)
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The process that began this one. */
export function parentOf(pid: number): number {
  return Number(fieldsOf(pid)[1])
}

/** Of `/proc/<pid>/stat`, from the state on. */
function fieldsOf(pid: number): readonly string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}

/** Milliseconds of CPU that the processes of a server have used, those that ended among them. */
export function serverMs(postmaster: number): number {
  const TICK_MS = 10
  let sum = 0
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    if (!Number.isSafeInteger(pid)) continue
    try {
      const fields = fieldsOf(pid)
      if (pid !== postmaster && Number(fields[1]) !== postmaster) continue
      // Nanoseconds on a core, where the kernel tells them.
      sum += Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
      if (pid === postmaster) sum += (Number(fields[13]) + Number(fields[14])) * TICK_MS
    } catch {
      // It ended meanwhile, and its parent has its time.
    }
  }
  return sum
}

/** Milliseconds that all cores were busy since the start of the machine. */
export function busyMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0)
}
