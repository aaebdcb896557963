/**
 * The cancellation of one call: an own controller that the caller's signal, the time budget and the
 * unmounting of the graph all abort. The graph gets this controller's signal and never the caller's,
 * because LangGraph leaves a listener on every signal it is given; ours goes away with the call.
 */
import { GraphTimeoutError, GraphUnmountedError } from './errors.ts'

/** Longest delay a Node timer can wait; a longer budget is as good as none. */
const LONGEST_DELAY_MS = 2 ** 31 - 1

/** How long what heeds the signal may take to end after an abort; what takes longer is left behind. */
export const GRACE_MS = 5_000

export interface CallScopeOptions {
  readonly graph: string
  /** The caller's cancellation; its reason is passed on. */
  readonly signal?: AbortSignal | undefined
  /** Time budget in milliseconds. */
  readonly timeoutMs?: number | undefined
}

/** Lives from the start of a call to `release`, which must run however the call ends. */
export class CallScope {
  private readonly graph: string
  private readonly controller = new AbortController()
  private readonly caller: AbortSignal | undefined
  private readonly forward = (): void => this.controller.abort(this.caller?.reason)
  private readonly timer: ReturnType<typeof setTimeout> | undefined
  private expired: GraphTimeoutError | undefined

  constructor(options: CallScopeOptions) {
    this.graph = options.graph
    this.caller = options.signal
    if (this.caller?.aborted === true) this.forward()
    else this.caller?.addEventListener('abort', this.forward, { once: true })
    const budget = options.timeoutMs
    if (budget !== undefined && budget <= LONGEST_DELAY_MS) {
      this.timer = setTimeout(() => this.expire(budget), budget)
    }
  }

  /** The signal for the graph. */
  get signal(): AbortSignal {
    return this.controller.signal
  }

  abort(reason: unknown): void {
    this.controller.abort(reason)
  }

  /**
   * Waits for something that need not heed the signal. Nothing of ours stays on the signal.
   *
   * @throws the reason of the abort, as soon as there is one; what becomes of the promise is then of no interest.
   */
  async race<T>(promise: Promise<T>): Promise<T> {
    const { promise: aborted, reject } = Promise.withResolvers<never>()
    const onAbort = (): void => reject(this.signal.reason)
    if (this.signal.aborted) onAbort()
    else this.signal.addEventListener('abort', onAbort, { once: true })
    try {
      return await Promise.race([promise, aborted])
    } finally {
      this.signal.removeEventListener('abort', onAbort)
    }
  }

  /**
   * Waits for something that was given the signal and should end by itself, after an abort for
   * {@link GRACE_MS} at most. Nothing of ours stays on the signal.
   *
   * @param left told when it is left behind.
   * @throws the reason of the abort, when it is.
   */
  async outlast<T>(waited: T | PromiseLike<T>, left?: () => void): Promise<T> {
    const { promise: over, reject } = Promise.withResolvers<never>()
    let grace: ReturnType<typeof setTimeout> | undefined
    const leave = (): void => {
      left?.()
      reject(this.signal.reason)
    }
    const onAbort = (): void => void (grace = setTimeout(leave, GRACE_MS))
    if (this.signal.aborted) onAbort()
    else this.signal.addEventListener('abort', onAbort, { once: true })
    try {
      return await Promise.race([waited, over])
    } finally {
      clearTimeout(grace)
      this.signal.removeEventListener('abort', onAbort)
    }
  }

  /** Throws the reason of the abort, if there was one. */
  check(): void {
    if (this.signal.aborted) throw this.signal.reason
  }

  /**
   * What the call fails with after its graph threw `error`. Once aborted, that is the reason, whatever the
   * graph made of it: LangGraph wraps one that is no Error.
   */
  failure(error: unknown): unknown {
    if (!this.signal.aborted || error === this.signal.reason) return error
    if (this.expired === undefined) return this.signal.reason
    return new GraphTimeoutError(this.graph, this.expired.timeoutMs, { cause: error })
  }

  private expire(budgetMs: number): void {
    if (this.signal.aborted) return
    this.expired = new GraphTimeoutError(this.graph, budgetMs)
    this.abort(this.expired)
  }

  release(): void {
    clearTimeout(this.timer)
    this.caller?.removeEventListener('abort', this.forward)
  }
}

/** The running calls of one mount, so that its end can end them and wait for them. */
export class RunningCalls {
  private readonly graph: string
  private readonly running = new Map<CallScope, Promise<unknown>>()
  private closed = false

  constructor(graph: string) {
    this.graph = graph
  }

  /**
   * Runs a call until it settles.
   *
   * @throws {GraphUnmountedError} once closed.
   */
  async track<T>(scope: CallScope, call: () => Promise<T>): Promise<T> {
    if (this.closed) throw new GraphUnmountedError(this.graph)
    const settled = call()
    this.running.set(scope, settled)
    try {
      return await settled
    } finally {
      this.running.delete(scope)
    }
  }

  /** Aborts what runs and resolves when all of it has settled. Later calls are refused. */
  async close(): Promise<void> {
    this.closed = true
    for (const scope of this.running.keys()) scope.abort(new GraphUnmountedError(this.graph))
    await Promise.allSettled(this.running.values())
  }
}
