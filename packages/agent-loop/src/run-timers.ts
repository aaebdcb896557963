/** One timer for each name: setting it again replaces it. Owns the timers until they are cleared. */
import { MAX_DELAY_MS, type Clock } from './clock.ts'

export class NamedTimers {
  private readonly clock: Clock
  private readonly armed = new Map<string, () => void>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Calls back once at that moment, epoch milliseconds; at once, but not synchronously, when it is past. */
  at(name: string, moment: number, callback: () => void): void {
    this.clear(name)
    const delayMs = Math.max(0, moment - this.clock.now())
    const disarm = this.clock.after(Math.min(delayMs, MAX_DELAY_MS), () => {
      this.armed.delete(name)
      // A moment that is further away than a timer reaches is waited for in several steps.
      if (this.clock.now() < moment) this.at(name, moment, callback)
      else callback()
    })
    this.armed.set(name, disarm)
  }

  has(name: string): boolean {
    return this.armed.has(name)
  }

  clear(name: string): void {
    this.armed.get(name)?.()
    this.armed.delete(name)
  }

  clearAll(): void {
    for (const disarm of this.armed.values()) disarm()
    this.armed.clear()
  }
}
