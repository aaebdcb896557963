/**
 * The limits of one run: how long it may take, and how long it may take without doing anything. Only
 * what the agent does counts as progress, so that arrivals in its queue or a heartbeat never put a
 * limit off.
 */
import type { Clock } from './clock.ts'

export interface Limits {
  readonly timeoutMs: number
  readonly idleTimeoutMs: number | undefined
}

export type PassedLimit =
  | { readonly kind: 'deadline'; readonly timeoutMs: number }
  | { readonly kind: 'idle'; readonly idleTimeoutMs: number }

export class Deadline {
  private readonly clock: Clock
  private readonly onPassed: (limit: PassedLimit) => void
  private readonly disarmDeadline: () => void
  private disarmIdle: () => void = () => undefined
  private lastProgressAt: number

  /** Counts from now; `onPassed` is called once, for the limit that passes first. */
  constructor(clock: Clock, limits: Limits, onPassed: (limit: PassedLimit) => void) {
    const { timeoutMs, idleTimeoutMs } = limits
    this.clock = clock
    this.onPassed = onPassed
    this.lastProgressAt = clock.now()
    this.disarmDeadline = clock.after(timeoutMs, () => this.pass({ kind: 'deadline', timeoutMs }))
    if (idleTimeoutMs !== undefined) this.armIdle(idleTimeoutMs, idleTimeoutMs)
  }

  progress(): void {
    this.lastProgressAt = this.clock.now()
  }

  close(): void {
    this.disarmDeadline()
    this.disarmIdle()
  }

  /** One timer at a time: when it fires too early because of progress, it is set for what is left. */
  private armIdle(idleTimeoutMs: number, delayMs: number): void {
    this.disarmIdle = this.clock.after(delayMs, () => {
      const left = this.lastProgressAt + idleTimeoutMs - this.clock.now()
      if (left > 0) this.armIdle(idleTimeoutMs, left)
      else this.pass({ kind: 'idle', idleTimeoutMs })
    })
  }

  private pass(limit: PassedLimit): void {
    this.close()
    this.onPassed(limit)
  }
}
