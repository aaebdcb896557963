/**
 * Turns an abort into a drain: LangGraph is asked to stop after the nodes that run, instead of leaving
 * them behind. It reads this object as its `RunControl`, which is known by shape, and nodes find it as
 * `config.control`.
 */
export class DrainControl {
  private readonly signal: AbortSignal
  private readonly onAbort = (): void => this.requestDrain('aborted')
  private reason: string | undefined

  /** Drains when the signal aborts; `release` must run when the graph has ended. */
  constructor(signal: AbortSignal) {
    this.signal = signal
    if (signal.aborted) this.onAbort()
    else signal.addEventListener('abort', this.onAbort, { once: true })
  }

  requestDrain(reason = 'shutdown'): void {
    this.reason = reason
  }

  get drainRequested(): boolean {
    return this.reason !== undefined
  }

  get drainReason(): string | undefined {
    return this.reason
  }

  release(): void {
    this.signal.removeEventListener('abort', this.onAbort)
  }
}
