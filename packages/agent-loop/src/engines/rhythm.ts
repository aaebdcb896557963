/**
 * What is done again and again, or a little later, until it is stopped. Owns the timers, and the work under
 * way; a failure is told and does not end the rhythm.
 */
import type { Clock } from '../clock.ts'

export class Rhythm {
  private readonly clock: Clock
  private readonly onError: (error: unknown) => void
  private readonly disarms = new Set<() => void>()
  private readonly working = new Set<Promise<void>>()
  private isStopped = false

  constructor(clock: Clock, onError: (error: unknown) => void) {
    this.clock = clock
    this.onError = onError
  }

  /** Does something now. */
  run(act: () => Promise<void>): void {
    const work = act()
      .catch((error: unknown) => this.onError(error))
      .finally(() => this.working.delete(work))
    this.working.add(work)
  }

  /** Does something once, milliseconds from now. */
  after(ms: number, act: () => Promise<void>): void {
    if (this.isStopped) return
    const disarm = this.clock.after(ms, () => {
      this.disarms.delete(disarm)
      this.run(act)
    })
    this.disarms.add(disarm)
  }

  /** Does something again and again, with so many milliseconds between its end and its next beginning. */
  every(ms: number, act: () => Promise<void>): void {
    this.after(ms, async () => {
      try {
        await act()
      } finally {
        this.every(ms, act)
      }
    })
  }

  /** Resolves when nothing is under way any more. Idempotent. */
  async stop(): Promise<void> {
    this.isStopped = true
    for (const disarm of this.disarms) disarm()
    this.disarms.clear()
    while (this.working.size > 0) await Promise.all(this.working)
  }
}
