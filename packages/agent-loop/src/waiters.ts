/**
 * Callers that wait for a run to settle. A waiter is woken by the settlement, by the end of its
 * window, by its signal or by the shutdown, and whichever comes first takes the other three away.
 */
import type { Clock } from './clock.ts'
import { AgentLoopError } from './errors.ts'

interface Waiter {
  readonly settle: (isSettled: boolean) => void
  readonly fail: (error: unknown) => void
}

export class Waiters {
  private readonly clock: Clock
  private readonly byRun = new Map<string, Set<Waiter>>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  /**
   * @returns whether the run settled; false when the window passed.
   * @throws the signal's reason, or `closed`.
   */
  async wait(runId: string, timeoutMs: number, signal: AbortSignal | undefined): Promise<boolean> {
    signal?.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<boolean>()
    const waiter: Waiter = { settle: resolve, fail: reject }
    const onAbort = (): void => reject(signal?.reason)
    const disarm = this.clock.after(timeoutMs, () => resolve(false))
    signal?.addEventListener('abort', onAbort, { once: true })
    this.add(runId, waiter)
    try {
      return await promise
    } finally {
      disarm()
      signal?.removeEventListener('abort', onAbort)
      this.remove(runId, waiter)
    }
  }

  /** Wakes everyone who waits for the run. */
  settled(runId: string): void {
    for (const waiter of this.byRun.get(runId) ?? []) waiter.settle(true)
  }

  close(): void {
    const error = new AgentLoopError('closed', 'the agent-loop host is shutting down; the run goes on later')
    for (const waiters of this.byRun.values()) for (const waiter of waiters) waiter.fail(error)
  }

  private add(runId: string, waiter: Waiter): void {
    const waiters = this.byRun.get(runId)
    if (waiters === undefined) this.byRun.set(runId, new Set([waiter]))
    else waiters.add(waiter)
  }

  private remove(runId: string, waiter: Waiter): void {
    const waiters = this.byRun.get(runId)
    waiters?.delete(waiter)
    if (waiters?.size === 0) this.byRun.delete(runId)
  }
}
