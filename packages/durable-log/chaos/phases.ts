/**
 * What the writing process is doing, told through a file of two bytes that outlives it.
 *
 * The writer sets the first byte at each change of phase, and the second one when it has come to the
 * point it was told to be killed at. The killer polls the second byte, kills, and reads from the
 * first one where the writer really died. A write of a byte costs the writer about a microsecond.
 */
import { closeSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs'

/**
 * - `opening`: until the log has answered for the first time, recovery included.
 * - `append`: before an append, from its call until its transaction begins.
 * - `commit`: inside the transaction of appends, until the commit has returned.
 * - `acknowledge`: after the commit, until the caller has noted the acknowledgement.
 * - `read`: while entries are read.
 * - `snapshot`: inside a transaction that writes a snapshot.
 * - `remove`: inside a transaction that removes a stream.
 * - `between`: anywhere else.
 */
export const PHASES = [
  'opening',
  'append',
  'commit',
  'acknowledge',
  'read',
  'snapshot',
  'remove',
  'between',
] as const
export type Phase = (typeof PHASES)[number]

const BEFORE_AIM = 0
const AT_AIM = 1

export function createPhaseFile(path: string): void {
  writeFileSync(path, Buffer.from([PHASES.indexOf('opening'), BEFORE_AIM]))
}

/** The writer's side. */
export class PhaseTeller {
  private readonly file: number
  private readonly bytes = Buffer.from(PHASES.map((_, index) => index))
  private phase: Phase = 'opening'

  constructor(path: string) {
    this.file = openSync(path, 'r+')
  }

  get current(): Phase {
    return this.phase
  }

  tell(phase: Phase): void {
    this.phase = phase
    writeSync(this.file, this.bytes, PHASES.indexOf(phase), 1, 0)
  }

  /** Asks to be killed. */
  tellAim(): void {
    writeSync(this.file, Buffer.from([AT_AIM]), 0, 1, 1)
  }
}

/** The killer's side. */
export class PhaseReader {
  private readonly file: number
  private readonly bytes = Buffer.alloc(2)

  constructor(path: string) {
    this.file = openSync(path, 'r')
  }

  get isAtAim(): boolean {
    this.read()
    return this.bytes[1] === AT_AIM
  }

  get phase(): Phase {
    this.read()
    return PHASES[this.bytes[0] ?? PHASES.length] ?? 'between'
  }

  close(): void {
    closeSync(this.file)
  }

  private read(): void {
    readSync(this.file, this.bytes, 0, 2, 0)
  }
}
