/** A clock that stands still until the test moves it. */
import type { Clock } from '../../src/clock.ts'

interface Timer {
  readonly at: number
  readonly callback: () => void
}

export class ManualClock implements Clock {
  private time = 1_700_000_000_000
  private readonly timers = new Set<Timer>()

  now(): number {
    return this.time
  }

  monotonic(): number {
    return this.time
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.time + delayMs, callback }
    this.timers.add(timer)
    return () => void this.timers.delete(timer)
  }

  /** Moves time and fires what is due, in order. */
  advance(byMs: number): void {
    this.time += byMs
    const due = [...this.timers].filter((timer) => timer.at <= this.time).sort((a, b) => a.at - b.at)
    for (const timer of due) if (this.timers.delete(timer)) timer.callback()
  }

  /** How many timers are set. */
  get pending(): number {
    return this.timers.size
  }
}
