/**
 * Listeners of one log, told after a commit.
 *
 * Owns: who listens to which prefix, and that a listener hears in its own macrotask, after the
 * appender went on, of the newest head of a stream only, and before it of the stream's removal.
 * Does not own: where news come from.
 */
import type { StreamHead } from './types.ts'

interface Subscription {
  readonly prefix: string
  readonly listener: (head: StreamHead) => void
}

/** What happened to one stream since the last delivery. */
interface News {
  wasRemoved: boolean
  /** The newest head, 0 when there was no append since the removal. */
  seq: number
}

export class Subscriptions {
  private readonly subscriptions = new Set<Subscription>()
  private readonly news = new Map<string, News>()
  private delivery: NodeJS.Immediate | undefined

  /** Whether anybody listens. */
  get isEmpty(): boolean {
    return this.subscriptions.size === 0
  }

  /** @returns the undo; after it the listener is not called again. */
  add(prefix: string, listener: (head: StreamHead) => void): () => void {
    const subscription = { prefix, listener }
    this.subscriptions.add(subscription)
    return () => void this.subscriptions.delete(subscription)
  }

  /** Notes a new head, or a removal by seq 0; delivery follows in a later macrotask. */
  announce(stream: string, seq: number): void {
    if (this.isEmpty) return
    const known = this.news.get(stream)
    if (seq === 0) this.news.set(stream, { wasRemoved: true, seq })
    else if (known === undefined) this.news.set(stream, { wasRemoved: false, seq })
    else known.seq = Math.max(known.seq, seq)
    this.delivery ??= setImmediate(() => this.deliver())
  }

  /** Delivers what was noted and forgets the listeners. */
  close(): void {
    this.deliver()
    this.subscriptions.clear()
  }

  private deliver(): void {
    clearImmediate(this.delivery)
    this.delivery = undefined
    const heads = [...this.news].flatMap(([stream, { wasRemoved, seq }]): StreamHead[] => [
      ...(wasRemoved ? [Object.freeze({ stream, seq: 0 })] : []),
      ...(seq > 0 ? [Object.freeze({ stream, seq })] : []),
    ])
    this.news.clear()
    // Who begins to listen meanwhile hears of later news.
    const listening = [...this.subscriptions]
    for (const head of heads) {
      for (const subscription of listening) {
        if (head.stream.startsWith(subscription.prefix)) this.tell(subscription, head)
      }
    }
  }

  /** A listener's failure is its own: it becomes a process warning and stops nobody else. */
  private tell(subscription: Subscription, head: StreamHead): void {
    if (!this.subscriptions.has(subscription)) return
    const warn = (reason: unknown) =>
      process.emitWarning(`a listener of "${subscription.prefix}" failed: ${String(reason)}`, {
        type: 'DurableLogWarning',
      })
    try {
      const outcome: unknown = subscription.listener(head)
      if (outcome instanceof Promise) outcome.catch(warn)
    } catch (reason) {
      warn(reason)
    }
  }
}
