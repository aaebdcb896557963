/** The host's only source of time, so that deadlines can be tested without waiting for them. */

/** The longest delay a timer of the platform takes; a longer one fires at once. */
export const MAX_DELAY_MS = 2_147_483_647

export interface Clock {
  /** Epoch milliseconds. */
  now(): number
  /** Milliseconds that no change of the system time moves. */
  monotonic(): number
  /** Calls `callback` once after `delayMs`; the returned function cancels it and may be called late. */
  after(delayMs: number, callback: () => void): () => void
}

/** As the system clock; its timers do not keep a process alive. */
export const backgroundClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(delayMs, MAX_DELAY_MS)).unref()
    return () => clearTimeout(timer)
  },
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(delayMs, MAX_DELAY_MS))
    return () => clearTimeout(timer)
  },
}
