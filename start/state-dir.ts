/**
 * The state directory of `start`: a DSH home (sessions, the durable log) and a note of which
 * session runs in it, so that `--resume` finds its way back.
 */
import { randomUUID } from 'node:crypto'
import { accessSync, constants, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartError } from './start-error.ts'

export interface Errand {
  readonly version: 1
  readonly sessionId: string
  readonly task: string
  readonly startedAt: number
}

const NOTE = 'errand.json'

function isErrand(value: unknown): value is Errand {
  if (typeof value !== 'object' || value === null) return false
  const note = value as Record<string, unknown>
  return (
    note['version'] === 1 &&
    typeof note['sessionId'] === 'string' &&
    /^start-[0-9a-f-]{36}$/u.test(note['sessionId']) &&
    typeof note['task'] === 'string' &&
    typeof note['startedAt'] === 'number'
  )
}

/** @throws StartError `state` when the directory cannot be made or written. */
export function prepareStateDir(dir: string): void {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK)
    const probe = join(dir, `.probe-${process.pid}`)
    writeFileSync(probe, '')
    renameSync(probe, join(dir, '.writable'))
  } catch (error) {
    throw new StartError(
      'state',
      `the state directory ${dir} cannot be written: ${(error as Error).message}`,
      {
        cause: error,
      },
    )
  }
}

export function newErrand(dir: string, task: string): Errand {
  const errand: Errand = { version: 1, sessionId: `start-${randomUUID()}`, task, startedAt: Date.now() }
  const file = join(dir, NOTE)
  writeFileSync(`${file}.tmp`, `${JSON.stringify(errand)}\n`, { mode: 0o600 })
  renameSync(`${file}.tmp`, file)
  return errand
}

/** @throws StartError `state` when there is nothing to resume. */
export function readErrand(dir: string): Errand {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(join(dir, NOTE), 'utf8'))
  } catch (error) {
    throw new StartError('state', `nothing to resume in ${dir}: ${(error as Error).message}`, {
      cause: error,
    })
  }
  if (!isErrand(value))
    throw new StartError('state', `nothing to resume in ${dir}: ${NOTE} is not of this program`)
  return value
}
