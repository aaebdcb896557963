/**
 * Who wants to know when lanes or queues of this host have moved. Told after the fact and once for all that
 * happens in one go: whoever is told looks for itself. Costs nothing while nobody listens.
 */
export class LaneMoves {
  private readonly listeners = new Set<() => void>()
  private readonly warn: (text: string) => void
  private isDue = false

  constructor(warn: (text: string) => void) {
    this.warn = warn
  }

  /** What a listener throws is contained. @returns the undo. */
  watch(listener: () => void): () => void {
    const own = (): void => listener()
    this.listeners.add(own)
    return () => void this.listeners.delete(own)
  }

  readonly moved = (): void => {
    if (this.isDue || this.listeners.size === 0) return
    this.isDue = true
    queueMicrotask(() => {
      this.isDue = false
      for (const listener of this.listeners) this.tell(listener)
    })
  }

  private tell(listener: () => void): void {
    try {
      listener()
    } catch (error) {
      this.warn(`a watcher of lanes failed: ${String(error)}`)
    }
  }
}
