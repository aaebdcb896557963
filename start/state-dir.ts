/**
 * The state directory of `start`: a DSH home (sessions, the durable log) and a note of which
 * sessions run in it, so that `--resume` finds its way back. An errand that another one pushed aside
 * before it was answered stays in the note.
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
  /** When its graph was finished and answered, epoch milliseconds. */
  readonly answeredAt?: number
}

/** The newest errand, as the file always had it, and those that were left before. */
interface Note extends Errand {
  /** Not answered yet, oldest first. */
  readonly earlier?: readonly Errand[]
}

/** An errand, and how many others of its directory wait for a `--resume`. */
export interface TakenErrand {
  readonly errand: Errand
  readonly unanswered: number
}

const NOTE = 'errand.json'

function isErrand(value: unknown): value is Note {
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

export function newErrand(dir: string, task: string): TakenErrand {
  const errand: Errand = { version: 1, sessionId: `start-${randomUUID()}`, task, startedAt: Date.now() }
  const earlier = unansweredOf(readNote(dir))
  writeNote(dir, { ...errand, earlier })
  return { errand, unanswered: earlier.length }
}

/**
 * The newest errand that was not answered; where all were, the newest, which answers again.
 *
 * @throws StartError `state` when there is nothing to resume.
 */
export function readErrand(dir: string): TakenErrand {
  const note = readNote(dir)
  if (note instanceof Error)
    throw new StartError('state', `nothing to resume in ${dir}: ${note.message}`, { cause: note })
  const unanswered = unansweredOf(note)
  const errand = unanswered.at(-1) ?? note
  return { errand, unanswered: unanswered.filter((other) => other !== errand).length }
}

/** The errand's answer was told. @returns how many others wait. */
export function noteAnswer(dir: string, { sessionId }: Errand): number {
  const note = readNote(dir)
  if (note instanceof Error) return 0
  const { earlier = [], ...newest } = note
  const answered = <T extends Errand>(one: T): T =>
    one.sessionId === sessionId ? { ...one, answeredAt: one.answeredAt ?? Date.now() } : one
  const after: Note = { ...answered(newest), earlier: earlier.map(answered) }
  const left = unansweredOf(after)
  writeNote(dir, { ...after, earlier: left.filter((one) => one.sessionId !== after.sessionId) })
  return left.length
}

function unansweredOf(note: Note | Error): readonly Errand[] {
  if (note instanceof Error) return []
  const { earlier = [], ...newest } = note
  return [...earlier, newest].filter(({ answeredAt }) => answeredAt === undefined)
}

/** An error says why there is none. */
function readNote(dir: string): Note | Error {
  try {
    const value: unknown = JSON.parse(readFileSync(join(dir, NOTE), 'utf8'))
    const isNote = isErrand(value) && ((value as Note).earlier ?? []).every(isErrand)
    return isNote ? value : new Error(`${NOTE} is not of this program`)
  } catch (error) {
    return error as Error
  }
}

function writeNote(dir: string, note: Note): void {
  const file = join(dir, NOTE)
  writeFileSync(`${file}.tmp`, `${JSON.stringify(note)}\n`, { mode: 0o600 })
  renameSync(`${file}.tmp`, file)
}
