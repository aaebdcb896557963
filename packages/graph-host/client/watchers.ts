/** Who looks at a source of the page. Owns the list; tells its owner when the first comes and the last goes. */
export class Watchers {
  private readonly listeners = new Set<() => void>()
  private readonly onWatched: () => void

  constructor(onWatched: () => void) {
    this.onWatched = onWatched
  }

  /** As React subscribes: the same listener may come twice. @returns the undo. */
  readonly subscribe = (listener: () => void): (() => void) => {
    const own = () => listener()
    this.listeners.add(own)
    if (this.listeners.size === 1) this.onWatched()
    return () => {
      if (this.listeners.delete(own) && this.listeners.size === 0) this.onWatched()
    }
  }

  get isWatched(): boolean {
    return this.listeners.size > 0
  }

  tell(): void {
    for (const listener of this.listeners) listener()
  }
}
