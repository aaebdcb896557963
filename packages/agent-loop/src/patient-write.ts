/**
 * Writing what must not be lost while the medium is away: the run has happened, only its entry is
 * missing, so the lane stands still and tries again instead of going on without it.
 */
import { DurableLogError } from 'dsh-durable-log'
import type { Clock } from './clock.ts'

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000

export interface Patience {
  readonly clock: Clock
  /** Resolves when the writer is no longer needed. */
  readonly whenReleased: Promise<void>
  readonly isReleased: () => boolean
  /** Told before each pause. */
  readonly onPause: (error: DurableLogError, pauseMs: number) => void
}

/**
 * Repeats `write` while the log is `unavailable`, with growing pauses of 0.1 to 5 seconds.
 *
 * @returns its result, or nothing when released meanwhile.
 * @throws any other failure at once.
 */
export async function writePatiently<T>(write: () => Promise<T>, patience: Patience): Promise<T | undefined> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    if (patience.isReleased()) return undefined
    try {
      return await write()
    } catch (error) {
      if (!(error instanceof DurableLogError) || error.code !== 'unavailable') throw error
      patience.onPause(error, pauseMs)
      await pause(pauseMs, patience)
    }
  }
}

async function pause(pauseMs: number, { clock, whenReleased }: Patience): Promise<void> {
  const passed = Promise.withResolvers<void>()
  const disarm = clock.after(pauseMs, passed.resolve)
  try {
    await Promise.race([passed.promise, whenReleased])
  } finally {
    disarm()
  }
}
