/**
 * One global lane as this host sees it: how many of its runs wait and run, and for how long they have
 * waited. Who gets a slot when is the lane engine's to say.
 */

export class Slots {
  readonly name: string
  readonly width: number
  /** Lanes that exist for one target only are forgotten when nothing is in them. */
  readonly isPerTarget: boolean
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
  }

  get isIdle(): boolean {
    return this.active === 0 && this.waiting === 0
  }

  countStart(waitedMs: number): void {
    this.started += 1
    this.waitedMs += waitedMs
    if (waitedMs > this.longestWaitMs) this.longestWaitMs = waitedMs
  }
}
