/**
 * Tells observers later, in order. DSH publishes events in the middle of its own work: a session takes no
 * entry then, and an agent whose turn just closed lets a message lie that comes before it is at rest. So
 * what is told waits until that work is through, and keeps the order it happened in.
 */
export class Announcer {
  private readonly waiting: (() => void)[] = []

  /** Calls `task` once the event loop has had its turn. */
  push(task: () => void): void {
    if (this.waiting.push(task) === 1) setImmediate(() => this.drain())
  }

  /** Calls everything that waits, at once. */
  drain(): void {
    for (const task of this.waiting.splice(0)) task()
  }
}
