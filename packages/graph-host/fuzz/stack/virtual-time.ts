/**
 * The clock of a simulation: global timers and dates that move only when it says so. Everything else of
 * the event loop is real, so that it knows when nothing but a timer can go on.
 */
import { install, type Clock } from '@sinonjs/fake-timers'

/** Captured before anything is replaced. */
const turnOfEventLoop = setImmediate
const BEGIN = Date.UTC(2030, 0, 1)
const BEAT_MS = 1_000
/** More turns without a timer than any work of a moment takes. */
const MAX_TURNS = 20_000

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
    let calm = 0
    for (let turn = 0; calm < 2; turn += 1) {
      if (turn > MAX_TURNS) throw new Error(`busy for ${MAX_TURNS} turns of the event loop at one moment`)
      await new Promise<void>((resolve) => turnOfEventLoop(resolve))
      calm = process.getActiveResourcesInfo().includes('Immediate') ? 0 : calm + 1
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
