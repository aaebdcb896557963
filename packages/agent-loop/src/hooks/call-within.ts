/** One call of one handler: its deadline, its signal, and the end of the waiting for it. */
import type { Clock } from '../clock.ts'
import type { Registration } from './registry.ts'

/**
 * @param signals whichever fires ends the call.
 * @returns what the handler answers.
 * @throws what the handler throws, the deadline's error, or the reason of a signal. The handler may go
 *   on after that; nothing of it is used.
 */
export async function callWithin(
  registration: Registration,
  event: unknown,
  clock: Clock,
  signals: readonly AbortSignal[],
): Promise<unknown> {
  const { name: hook, plugin, timeoutMs, handler } = registration
  const end = new AbortController()
  const ended = Promise.withResolvers<never>()
  const stop = (reason: unknown): void => {
    end.abort(reason)
    ended.reject(reason)
  }
  const listeners = signals.map((signal) => ({ signal, onAbort: () => stop(signal.reason) }))
  const disarm = clock.after(timeoutMs, () => stop(new Error(`it did not answer within ${timeoutMs} ms`)))
  for (const { signal, onAbort } of listeners) signal.addEventListener('abort', onAbort, { once: true })
  try {
    for (const signal of signals) signal.throwIfAborted()
    const answer = (async () => await handler(event, { hook, plugin, signal: end.signal }))()
    return await Promise.race([answer, ended.promise])
  } finally {
    disarm()
    for (const { signal, onAbort } of listeners) signal.removeEventListener('abort', onAbort)
    ended.promise.catch(() => undefined)
  }
}
