/**
 * One global lane: how many runs it carries at a time, who waits for it, and what it has seen. Pure
 * state; who gets a slot when is `lane-state.ts`.
 */
import { type Level, Ring } from './lane-ring.ts'

export class Slots {
  readonly name: string
  readonly width: number
  /** Lanes that exist for one target only are forgotten when nothing is in them. */
  readonly isPerTarget: boolean
  readonly rings: readonly Ring[]
  /** Runs that hold a slot. */
  active = 0
  /** Runs that wait, ready or not. */
  waiting = 0
  started = 0
  /** Milliseconds that started runs have waited, together and at most. */
  waitedMs = 0
  longestWaitMs = 0

  constructor(name: string, width: number, isPerTarget: boolean) {
    this.name = name
    this.width = width
    this.isPerTarget = isPerTarget
    const levels: readonly Level[] = [0, 1, 2]
    this.rings = levels.map((level) => new Ring(this, level))
  }

  get hasRoom(): boolean {
    return this.active < this.width
  }

  get isIdle(): boolean {
    return this.active === 0 && this.waiting === 0
  }

  ring(level: Level): Ring {
    const ring = this.rings[level]
    if (ring === undefined) throw new Error(`lane ${this.name} has no ring ${level}`)
    return ring
  }

  countStart(waitedMs: number): void {
    this.started += 1
    this.waitedMs += waitedMs
    if (waitedMs > this.longestWaitMs) this.longestWaitMs = waitedMs
  }
}
