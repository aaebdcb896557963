/**
 * The reins of one run under way: an abort or the deadline stops it, the host's shutdown lets go of
 * it. The first stop wins. Nothing here outlives the run, so no listener piles up on the host.
 */
import type { Stop } from './settlement.ts'

export class RunControl {
  /** Why the run was stopped; set at once, also while nobody waits. */
  stopped: Stop | undefined
  /** Whether the host let go of the run, which then stays open in the log. */
  released = false
  /** Whether that was because another process has the session now. */
  lost = false
  /** Resolves at the stop or the release, whichever is first. */
  readonly ended: Promise<void>
  /** Resolves at the release only. */
  readonly whenReleased: Promise<void>
  private readonly abort = new AbortController()
  private readonly end: () => void
  private readonly letGo: () => void

  constructor() {
    const ended = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    this.ended = ended.promise
    this.end = ended.resolve
    this.whenReleased = released.promise
    this.letGo = released.resolve
  }

  /** Fires together with {@link ended}: what is being opened for the run is not needed any more. */
  get signal(): AbortSignal {
    return this.abort.signal
  }

  stop(stop: Stop): void {
    if (this.stopped !== undefined || this.released) return
    this.stopped = stop
    this.finish()
  }

  release(): void {
    this.released = true
    this.letGo()
    this.finish()
  }

  /** Lets go of the run because another process has its session. */
  lose(): void {
    this.lost = true
    this.release()
  }

  private finish(): void {
    this.end()
    this.abort.abort()
  }
}
