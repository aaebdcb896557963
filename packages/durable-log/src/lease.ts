/**
 * The handle of one acquisition.
 *
 * Owns: what the holder may believe, by two clocks of its own and by what its appends met, and the
 * order of its renewals and its release. Does not own: the decision to take a lease (lease-store).
 *
 * Believing is safe in one direction only: the deadline that counts here is never later than the one
 * in the log, so this holder stops before anybody else begins.
 */
import { DurableLogError } from './errors.ts'
import { type LeaseState, releasedEntry, renewedEntry } from './lease-entries.ts'
import type { LeaseStream } from './lease-stream.ts'
import type { Lease, LeaseClock, LeaseFence, LeaseHolder } from './lease-types.ts'
import type { Entry } from './types.ts'

export interface HeldLeaseOptions {
  readonly stream: LeaseStream
  readonly holder: LeaseHolder
  /** After the acquisition. */
  readonly state: LeaseState
  readonly ttlMs: number
  readonly clock: LeaseClock
  /** `clock.monotonic()` before the acquisition was appended. */
  readonly since: number
  /** Called once nothing is left to give back. */
  readonly onReturned: () => void
}

export class HeldLease implements Lease {
  readonly rootSessionId: string
  readonly epoch: number
  readonly holderId: string
  private readonly stream: LeaseStream
  private readonly ttlMs: number
  private readonly clock: LeaseClock
  private readonly onReturned: () => void
  private state: LeaseState
  /** The deadline by the monotonic clock. */
  private runsOutAt: number
  /** Why it is over, once it is. */
  private end: DurableLogError | undefined
  /** Nothing is left to give back. */
  private isReturned = false
  /** Renewals and the release follow each other. */
  private tail: Promise<void> = Promise.resolve()

  constructor({ stream, holder, state, ttlMs, clock, since, onReturned }: HeldLeaseOptions) {
    this.onReturned = onReturned
    this.stream = stream
    this.rootSessionId = stream.rootSessionId
    this.epoch = state.epoch
    this.holderId = holder.holderId
    this.state = state
    this.ttlMs = ttlMs
    this.clock = clock
    this.runsOutAt = since + ttlMs
  }

  get deadlineAt(): number {
    return this.state.deadlineAt
  }

  isHeld(): boolean {
    return this.end === undefined && !this.hasRunOut()
  }

  assertHeld(): LeaseFence {
    if (this.end !== undefined) throw this.end
    if (this.hasRunOut()) throw this.lost('ran out; renew it, or acquire it again')
    const { rootSessionId, epoch, holderId } = this
    return { rootSessionId, epoch, holderId }
  }

  renew(): Promise<void> {
    return this.inTurn(async () => {
      if (this.end !== undefined) throw this.end
      const since = this.clock.monotonic()
      const deadlineAt = this.clock.now() + this.ttlMs
      await this.append(renewedEntry(this.epoch, deadlineAt))
      this.runsOutAt = since + this.ttlMs
    })
  }

  release(): Promise<void> {
    // From here on nobody acts on it, however long the append takes.
    this.end ??= this.lost('was released')
    return this.inTurn(async () => {
      if (this.isReturned) return
      await this.append(releasedEntry(this.epoch)).catch((error: unknown) => {
        // Somebody else's by now: there is nothing to give back.
        if (!this.isReturned) throw error
      })
      this.markReturned()
    })
  }

  /** The log has a newer acquisition, or this one's release. */
  supersede(by: LeaseHolder | undefined): void {
    this.markReturned()
    if (by === undefined) this.end ??= this.lost('is over: a release follows it in the log')
    else this.end = this.lost(`was taken over by holder ${by.holderId} (process ${by.process.pid})`, by)
  }

  /**
   * Appends on top of the newest entry while this acquisition is the newest one.
   *
   * @throws `lease-lost` when it is not.
   */
  private async append(entry: Entry): Promise<void> {
    for (;;) {
      try {
        this.state = await this.stream.append(this.state, entry)
        return
      } catch (error) {
        if (!(error instanceof DurableLogError) || error.code !== 'conflict') throw error
      }
      // Somebody else's entry, or an own one whose answer was lost.
      const state = await this.stream.read()
      const isOurs = state.epoch === this.epoch && state.holder !== undefined
      if (!isOurs) {
        this.supersede(state.holder)
        throw this.end ?? this.lost('is gone')
      }
      this.state = state
    }
  }

  private markReturned(): void {
    if (this.isReturned) return
    this.isReturned = true
    this.onReturned()
  }

  private inTurn(act: () => Promise<void>): Promise<void> {
    const outcome = this.tail.then(act)
    this.tail = outcome.catch(() => undefined)
    return outcome
  }

  private hasRunOut(): boolean {
    return this.clock.now() >= this.state.deadlineAt || this.clock.monotonic() >= this.runsOutAt
  }

  private lost(what: string, holder?: LeaseHolder): DurableLogError {
    return new DurableLogError(
      'lease-lost',
      `the lease of root session "${this.rootSessionId}" in epoch ${this.epoch} ${what}`,
      { stream: this.stream.name, ...(holder === undefined ? {} : { holder }) },
    )
  }
}
