/**
 * The clock of a simulation: global timers and dates that move only when it says so. Everything else of
 * the event loop is real, so that it knows when nothing but a timer can go on.
 */
import { install, type Clock } from '@sinonjs/fake-timers'

/** Captured before anything is replaced. */
const turnOfEventLoop = setImmediate
const BEGIN = Date.UTC(2030, 0, 1)
const BEAT_MS = 1_000
/** No work of a moment takes as long, nanoseconds of real time. */
const STUCK_NS = 20_000_000_000n
/** What the event loop has under way that is not a timer: its own turns, and the few files that a boot reads. */
const UNDER_WAY = /^(?:Immediate|FS|FileHandle)/u

export class VirtualTime {
  private readonly clock: Clock

  private constructor(clock: Clock) {
    this.clock = clock
  }

  /** Replaces the timers of this process until {@link end}. */
  static begin(): VirtualTime {
    return new VirtualTime(
      install({
        now: BEGIN,
        toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
        loopLimit: Number.MAX_SAFE_INTEGER,
      }),
    )
  }

  /** Milliseconds since the beginning. */
  get elapsedMs(): number {
    return this.clock.now - BEGIN
  }

  /** Timers that are set. */
  get timers(): number {
    return this.clock.countTimers()
  }

  /** Resolves when all is done that can be done without time passing. */
  async settle(): Promise<void> {
    const since = process.hrtime.bigint()
    for (let calm = 0; calm < 2;) {
      await new Promise<void>((resolve) => turnOfEventLoop(resolve))
      const isBusy = process.getActiveResourcesInfo().some((kind) => UNDER_WAY.test(kind))
      calm = isBusy ? 0 : calm + 1
      if (process.hrtime.bigint() - since > STUCK_NS) throw new Error('one moment does not come to an end')
    }
  }

  /** Lets time pass until the next timer fires, and a second at the most. */
  next(): void {
    const beat = setTimeout(() => undefined, BEAT_MS)
    this.clock.next()
    clearTimeout(beat)
  }

  /** Drops all timers: those of a process that is gone. */
  drop(): void {
    const { now } = this.clock
    this.clock.reset()
    this.clock.setSystemTime(now)
  }

  end(): void {
    this.clock.uninstall()
  }
}
