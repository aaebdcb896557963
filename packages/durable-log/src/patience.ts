/**
 * Waiting for another process's lock while the event loop goes on.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { isBusy } from './node-sqlite.ts'

const FIRST_RETRY_MS = 2
const LONGEST_RETRY_MS = 20

/** The delay before the n-th retry, counted from 0. */
export function retryDelayMs(retry: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** retry, LONGEST_RETRY_MS)
}

/**
 * Repeats an attempt while it finds the medium locked.
 *
 * @param patienceMs how long to go on; then the last error is thrown.
 * @throws whatever the attempt throws apart from a lock.
 */
export async function patiently<T>(patienceMs: number, attempt: () => T): Promise<T> {
  const since = performance.now()
  for (let retry = 0; ; retry += 1) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error) || performance.now() - since >= patienceMs) throw error
    }
    await delay(retryDelayMs(retry))
  }
}
