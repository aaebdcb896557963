/**
 * The writer's side of an aim: tells phases, and asks to be killed at the given occurrence of one.
 *
 * Where a phase is too short to be hit the writer waits there for the kill, most of the time; of three
 * commits, snapshots or removals aimed at, one is killed wherever it is when the signal comes.
 */
import { randomFrom } from 'dsh-durable-log/testing'
import { type Phase, PhaseTeller } from './phases.ts'
import { watchSqlite } from './watch-sqlite.ts'

/** Longer than the killer takes. It is woken by nobody but the kill. */
const LINGER_MS = 200
const UNHELD = 3

export class AimedWriter {
  private readonly teller: PhaseTeller
  private readonly aim: string
  private readonly isHeld: boolean
  private left: number

  /** @param aim a phase, or `anywhere` for any of them. */
  constructor(phasesPath: string, aim: string, options: { occurrence: number; seed: number }) {
    this.teller = new PhaseTeller(phasesPath)
    this.aim = aim
    this.left = options.occurrence
    const isSometimes = aim === 'commit' || aim === 'snapshot' || aim === 'remove'
    this.isHeld =
      ['append', 'acknowledge', 'read'].includes(aim) ||
      (isSometimes && randomFrom(options.seed).below(UNHELD) > 0)
    watchSqlite(this.teller, () => this.pause())
  }

  enter(phase: Phase): void {
    this.teller.tell(phase)
    this.pause()
  }

  /** To be called right after a phase was told. */
  private pause(): void {
    if (this.left === 0 || (this.aim !== 'anywhere' && this.aim !== this.teller.current)) return
    this.left -= 1
    if (this.left > 0) return
    this.teller.tellAim()
    if (this.isHeld) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LINGER_MS)
  }
}
