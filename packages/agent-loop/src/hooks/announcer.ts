/**
 * Tells observers later, in order. DSH publishes events in the middle of its own work: a session takes no
 * entry then, and an agent whose turn just closed lets a message lie that comes before it is at rest. So
 * what is told waits until that work is through, and keeps the order it happened in.
 */
export class Announcer {
  private readonly waiting: (() => Promise<unknown>)[] = []
  private readonly running = new Set<Promise<unknown>>()

  /** Calls `task` once the event loop has had its turn. The task never rejects. */
  push(task: () => Promise<unknown>): void {
    if (this.waiting.push(task) === 1) setImmediate(() => this.flush())
  }

  /** Calls everything that waits, at once: before a hook that the turn waits for, so that none overtakes. */
  flush(): void {
    for (const task of this.waiting.splice(0)) {
      const run = task().finally(() => this.running.delete(run))
      this.running.add(run)
    }
  }

  /** As {@link flush}; resolves when all that was ever told is done. */
  async drain(): Promise<void> {
    this.flush()
    await Promise.all(this.running)
  }
}
