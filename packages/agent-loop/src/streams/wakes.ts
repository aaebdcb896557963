/** Readers that wait for something new under a name. A wake tells all of them, once. */
export class Wakes {
  private readonly waiting = new Map<string, Set<() => void>>()

  /** @returns takes the callback back; idempotent. */
  on(name: string, callback: () => void): () => void {
    const callbacks = this.waiting.get(name) ?? new Set()
    this.waiting.set(name, callbacks)
    callbacks.add(callback)
    return () => {
      callbacks.delete(callback)
      if (callbacks.size === 0 && this.waiting.get(name) === callbacks) this.waiting.delete(name)
    }
  }

  wake(name: string): void {
    const callbacks = this.waiting.get(name)
    if (callbacks === undefined) return
    this.waiting.delete(name)
    for (const callback of callbacks) callback()
  }

  wakeAll(): void {
    for (const name of this.waiting.keys()) this.wake(name)
  }

  get size(): number {
    return this.waiting.size
  }
}
