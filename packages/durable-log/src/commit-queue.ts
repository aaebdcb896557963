/**
 * Group commit: writes that arrive together share one transaction and one sync to disk.
 *
 * Owns: the order of writes, when a transaction begins, waiting for another process's lock without
 * blocking the event loop, aborts and time limits of waiting writes. Does not own: what a write
 * does. A write that refuses fails alone; a transaction that fails is undone and its writes are
 * repeated one by one, so that each fails for its own reason only.
 *
 *     submit … submit ──► (next macrotask) begin ─ run, run, … ─ commit ──► committed, resolve
 *                              │ locked by another process
 *                              └──► wait a few ms, begin again, until a write's patience is over
 */
import { DurableLogError } from './errors.ts'
import { retryDelayMs } from './patience.ts'
import { aborted } from './refusals.ts'

/** What a transaction of the medium can do. `begin` takes the write lock or throws. */
export interface Transactions {
  begin(): void
  commit(): void
  /** Never throws. */
  rollback(): void
  isBusy(error: unknown): boolean
  /** The coded error of a failed transaction, or of a lock that was held for too long. */
  failure(error: unknown): DurableLogError
}

export interface Write<T> {
  readonly stream: string
  readonly signal: AbortSignal | undefined
  /** Runs inside the transaction, maybe again after a rollback. Refuses by a DurableLogError before its first effect. */
  readonly run: () => T
  /** Called once the transaction is on disk, before the write's promise resolves. */
  readonly committed: () => void
}

interface Waiting {
  readonly since: number
  readonly run: () => void
  readonly settle: () => void
  readonly reject: (error: DurableLogError) => void
}

/** Bounds the time one transaction holds the event loop and the lock. */
const MAX_BATCH = 256

export class CommitQueue {
  private readonly transactions: Transactions
  private readonly patienceMs: number
  private waiting: Waiting[] = []
  private scheduled = false
  private retries = 0

  /** @param patienceMs how long a write waits for the lock before it fails. */
  constructor(transactions: Transactions, patienceMs: number) {
    this.transactions = transactions
    this.patienceMs = patienceMs
  }

  /** Resolves when the write is on disk. */
  submit<T>(write: Write<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const { signal } = write
      const onAbort = () => {
        this.waiting = this.waiting.filter((other) => other !== entry)
        reject(aborted(write.stream, signal?.reason))
      }
      let result: { readonly value: T } | undefined
      const entry: Waiting = {
        since: performance.now(),
        run: () => void (result = { value: write.run() }),
        settle: () => {
          signal?.removeEventListener('abort', onAbort)
          if (result === undefined) return
          write.committed()
          resolve(result.value)
        },
        reject: (error) => {
          signal?.removeEventListener('abort', onAbort)
          reject(error)
        },
      }
      if (signal?.aborted === true) {
        onAbort()
        return
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      this.waiting.push(entry)
      this.schedule()
    })
  }

  private schedule(): void {
    if (this.scheduled) return
    this.scheduled = true
    setImmediate(() => this.flush())
  }

  private flush(): void {
    this.scheduled = false
    const batch = this.waiting.splice(0, MAX_BATCH)
    if (batch.length === 0) {
      this.retries = 0
      return
    }
    const left = this.commit(batch)
    this.waiting = [...left, ...this.waiting]
    if (left.length > 0) this.waitForLock()
    else {
      this.retries = 0
      if (this.waiting.length > 0) this.schedule()
    }
  }

  /** @returns the writes that found the medium locked. */
  private commit(batch: readonly Waiting[]): readonly Waiting[] {
    const { transactions } = this
    const refused = new Map<Waiting, DurableLogError>()
    try {
      transactions.begin()
      for (const write of batch) {
        try {
          write.run()
        } catch (error) {
          if (!(error instanceof DurableLogError)) throw error
          refused.set(write, error)
        }
      }
      transactions.commit()
    } catch (error) {
      transactions.rollback()
      if (transactions.isBusy(error)) return batch
      return this.commitOneByOne(batch, error)
    }
    for (const write of batch) {
      const refusal = refused.get(write)
      if (refusal === undefined) write.settle()
      else write.reject(refusal)
    }
    return []
  }

  private commitOneByOne(batch: readonly Waiting[], error: unknown): readonly Waiting[] {
    const [first, ...others] = batch
    if (others.length === 0) {
      first?.reject(this.transactions.failure(error))
      return []
    }
    return batch.flatMap((write) => this.commit([write]))
  }

  /** The event loop goes on meanwhile; writes whose patience is over fail. */
  private waitForLock(): void {
    const now = performance.now()
    const impatient = this.waiting.filter(({ since }) => now - since >= this.patienceMs)
    this.waiting = this.waiting.filter((write) => !impatient.includes(write))
    for (const write of impatient) {
      write.reject(this.transactions.failure(undefined))
    }
    if (this.waiting.length === 0) return
    this.scheduled = true
    setTimeout(() => this.flush(), retryDelayMs(this.retries))
    this.retries += 1
  }
}
