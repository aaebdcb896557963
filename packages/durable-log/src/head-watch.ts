/**
 * News about heads of one SQLite file, own commits and those of other processes.
 *
 * Own commits are told at once. Others are found by `PRAGMA data_version`, polled while somebody
 * watches, or earlier when an own commit lands behind theirs. Owns the timer and the position up to
 * which everything was told. Does not own the listeners.
 */

/** What the watch reads from the file. Each may throw while the file is locked. */
export interface HeadSource {
  /** Changes when another connection commits. */
  version(): number
  /** Position of the newest entry of all streams. */
  position(): number
  /** Newest head of each stream that has entries after `position`. */
  headsSince(
    position: number,
  ): readonly { readonly stream: string; readonly seq: number; readonly position: number }[]
}

/** Where the entries of one own append lie. */
export interface Placed {
  readonly stream: string
  readonly seq: number
  readonly firstPosition: number
  readonly lastPosition: number
}

export type Announce = (stream: string, seq: number) => void

export class HeadWatch {
  private readonly source: HeadSource
  private readonly intervalMs: number
  private readonly watchers = new Set<Announce>()
  private timer: NodeJS.Timeout | undefined
  private version: number | undefined
  private toldPosition: number

  constructor(source: HeadSource, intervalMs: number) {
    this.source = source
    this.intervalMs = intervalMs
    this.toldPosition = source.position()
  }

  /** @returns the undo. The timer runs while somebody watches and never keeps the process alive. */
  watch(announce: Announce): () => void {
    if (this.timer === undefined) {
      this.skipToPresent()
      this.timer = setInterval(() => this.poll(), this.intervalMs)
      this.timer.unref()
    }
    this.watchers.add(announce)
    return () => {
      this.watchers.delete(announce)
      if (this.watchers.size === 0) this.stop()
    }
  }

  /** To be called for each own append once it is on disk. */
  placed(append: Placed): void {
    const followsForeign = append.firstPosition !== this.toldPosition + 1
    if (this.watchers.size > 0 && followsForeign) this.catchUp()
    else this.toldPosition = append.lastPosition
    this.tell(append.stream, append.seq)
  }

  stop(): void {
    clearInterval(this.timer)
    this.timer = undefined
    this.watchers.clear()
  }

  private poll(): void {
    try {
      const version = this.source.version()
      if (version === this.version) return
      if (this.catchUp()) this.version = version
    } catch {
      // Locked for a moment: the next poll tells the same news.
    }
  }

  /** @returns whether everything up to now was told. */
  private catchUp(): boolean {
    try {
      for (const { stream, seq, position } of this.source.headsSince(this.toldPosition)) {
        this.tell(stream, seq)
        this.toldPosition = Math.max(this.toldPosition, position)
      }
      return true
    } catch {
      return false
    }
  }

  /** What happened before anybody watched is no news; telling some of it would do no harm. */
  private skipToPresent(): void {
    this.version = undefined
    try {
      this.toldPosition = this.source.position()
    } catch {
      // Locked for a moment: the watch starts a little earlier.
    }
  }

  private tell(stream: string, seq: number): void {
    for (const announce of this.watchers) announce(stream, seq)
  }
}
