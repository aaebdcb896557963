/**
 * What the model of the hosts saw, in a file that no code under test touches: a line when a call begins
 * and one when it ends. Lines of all hosts stand in one order, and their times are those of one clock.
 */
import { openSync, readFileSync, writeSync } from 'node:fs'

export interface RecordLine {
  /** Milliseconds of the machine's monotonic clock, which all its processes share. */
  readonly at: number
  readonly kind: 'begin' | 'end' | 'cut'
  readonly pid: number
  readonly sessionId: string
  /** Counts the calls of a process. */
  readonly call: number
  /** Texts of the messages that the call answers. */
  readonly texts: readonly string[]
}

/** One call of the model. */
export interface ModelCall {
  readonly pid: number
  readonly sessionId: string
  readonly texts: readonly string[]
  readonly beganAt: number
  /** None when its process ended first. */
  endedAt: number | undefined
  /** Whether the answer was complete. */
  isAnswered: boolean
}

/** Milliseconds of the machine's monotonic clock. */
export function machineTime(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000
}

export class TurnRecorder {
  private readonly file: number
  private calls = 0

  constructor(path: string) {
    this.file = openSync(path, 'a')
  }

  /** @returns to be called at the end of the call. */
  begin(sessionId: string, texts: readonly string[]): (kind: 'end' | 'cut') => void {
    const call = (this.calls += 1)
    const write = (kind: RecordLine['kind']): void => {
      const line: RecordLine = { at: machineTime(), kind, pid: process.pid, sessionId, call, texts }
      writeSync(this.file, `${JSON.stringify(line)}\n`)
    }
    write('begin')
    return write
  }
}

/** The calls in the order of their beginnings. */
export function readRecord(path: string): readonly ModelCall[] {
  const calls = new Map<string, ModelCall>()
  for (const text of readFileSync(path, 'utf8').split('\n')) {
    if (text === '') continue
    const { at, kind, pid, sessionId, call, texts } = JSON.parse(text) as RecordLine
    const key = `${pid} ${call}`
    const known = calls.get(key)
    if (kind === 'begin') {
      calls.set(key, { pid, sessionId, texts, beganAt: at, endedAt: undefined, isAnswered: false })
    } else if (known !== undefined) {
      known.endedAt = at
      known.isAnswered = kind === 'end'
    }
  }
  return [...calls.values()]
}
