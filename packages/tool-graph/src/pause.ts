/** Time that passes, and can be cut short. */

/** Resolves after the delay, or at once when the signal fires. */
export function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, delayMs)
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
  })
}
