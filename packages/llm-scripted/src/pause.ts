/** Waits that an abort ends. Owns its timer and its listeners, and leaves neither behind. */

/**
 * Waits for a time, or for ever.
 *
 * @param ms milliseconds, `Infinity` for a wait that only an abort ends.
 * @param signals any of them ends the wait at once.
 * @returns whether the time passed; `false` when a signal ended it.
 */
export function pause(ms: number, signals: readonly AbortSignal[]): Promise<boolean> {
  if (signals.some((signal) => signal.aborted)) return Promise.resolve(false)
  return new Promise((resolve) => {
    const timer = ms === Infinity ? undefined : setTimeout(() => settle(true), ms)
    const abort = () => settle(false)
    const settle = (passed: boolean) => {
      clearTimeout(timer)
      for (const signal of signals) signal.removeEventListener('abort', abort)
      resolve(passed)
    }
    for (const signal of signals) signal.addEventListener('abort', abort)
  })
}
