/**
 * The leases of root sessions: of several processes on one home, one drives a root's graphs.
 *
 * Owns: taking a lease, renewing it while it is used, telling when it is lost, waiting for one that
 * another process holds. Does not own: what is done under it.
 */
import { DurableLogError, leaseStore, type DurableLog, type Lease, type LeaseStore } from 'dsh-durable-log'
import type { LeaseSource, RootLease } from 'dsh-tool-graph'
import { textOfError } from './errors.ts'

export const LEASE_PREFIX = 'lease/'
/** A holder that died says nothing in the log; its process is looked for this often. */
const LOOK_MS = 2_000

export interface RootLeasesDeps {
  readonly log: DurableLog
  /** How long a lease holds without renewal, milliseconds. */
  readonly ttlMs: number
  readonly warn: (text: string) => void
}

export class RootLeases {
  private readonly deps: RootLeasesDeps
  private readonly store: LeaseStore
  private readonly held = new Map<string, HeldRootLease>()
  /** Taken before there was anybody to work under them. */
  private readonly reserved = new Map<string, HeldRootLease>()

  constructor(deps: RootLeasesDeps) {
    this.deps = deps
    this.store = leaseStore({ log: deps.log, ttlMs: deps.ttlMs })
  }

  /** Whether this process drives the root's graphs now. */
  holds(rootSessionId: string): boolean {
    return this.held.get(rootSessionId)?.isHeld() === true
  }

  /** Resolves when every lease that was held is given back or lost. */
  async settled(): Promise<void> {
    await Promise.all([...this.held.values()].map((lease) => lease.release()))
  }

  of(rootSessionId: string): LeaseSource {
    return {
      acquire: () => this.acquire(rootSessionId),
      whenFree: (signal) => this.whenFree(rootSessionId, signal),
    }
  }

  /**
   * Takes the lease for a root that is about to become live here; its controller gets this one.
   *
   * @returns the undo, or `undefined` while another process holds the lease.
   */
  async reserve(rootSessionId: string): Promise<(() => Promise<void>) | undefined> {
    const lease = await this.take(rootSessionId)
    if (lease === undefined) return undefined
    this.reserved.set(rootSessionId, lease)
    return async () => {
      if (this.reserved.get(rootSessionId) !== lease) return
      this.reserved.delete(rootSessionId)
      await lease.release()
    }
  }

  private async acquire(rootSessionId: string): Promise<RootLease | undefined> {
    const lease = this.reserved.get(rootSessionId)
    this.reserved.delete(rootSessionId)
    return lease?.isHeld() === true ? lease : this.take(rootSessionId)
  }

  private async take(rootSessionId: string): Promise<HeldRootLease | undefined> {
    try {
      const lease = await this.store.acquire(rootSessionId)
      const held = new HeldRootLease(lease, this.deps, () => {
        if (this.held.get(rootSessionId) === held) this.held.delete(rootSessionId)
      })
      this.held.set(rootSessionId, held)
      return held
    } catch (error) {
      if (error instanceof DurableLogError && error.code === 'lease-held') return undefined
      throw error
    }
  }

  /** Looks when the lease's stream moves, and again and again for a holder that died. */
  private whenFree(rootSessionId: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearInterval(timer)
        unsubscribe()
        signal.removeEventListener('abort', end)
        resolve()
      }
      const look = async () => {
        try {
          if ((await this.store.read(rootSessionId)) === undefined) end()
        } catch (error) {
          this.deps.warn(`the lease of ${rootSessionId} cannot be read: ${textOfError(error)}`)
        }
      }
      const timer = setInterval(() => void look(), LOOK_MS)
      const unsubscribe = this.deps.log.subscribe(LEASE_PREFIX + rootSessionId, () => void look())
      signal.addEventListener('abort', end, { once: true })
      if (signal.aborted) end()
    })
  }
}

/** One acquisition, renewed until it is given back or lost. */
class HeldRootLease implements RootLease {
  readonly rootSessionId: string
  readonly epoch: number
  readonly holderId: string
  private readonly lease: Lease
  private readonly deps: RootLeasesDeps
  private readonly onOver: () => void
  private readonly over = Promise.withResolvers<void>()
  private readonly timer: ReturnType<typeof setInterval>

  constructor(lease: Lease, deps: RootLeasesDeps, onOver: () => void) {
    this.lease = lease
    this.deps = deps
    this.onOver = onOver
    this.rootSessionId = lease.rootSessionId
    this.epoch = lease.epoch
    this.holderId = lease.holderId
    this.timer = setInterval(() => void this.renew(), Math.max(1, Math.floor(deps.ttlMs / 3)))
    // The process may end; the next one takes over from a dead holder at once.
    this.timer.unref()
  }

  isHeld(): boolean {
    return this.lease.isHeld()
  }

  assertHeld(): unknown {
    try {
      return this.lease.assertHeld()
    } catch (error) {
      this.end()
      throw error
    }
  }

  markLost(): void {
    this.end()
  }

  async whenLost(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    const aborted = Promise.withResolvers<void>()
    const onAbort = () => aborted.resolve()
    signal.addEventListener('abort', onAbort, { once: true })
    await Promise.race([this.over.promise, aborted.promise])
    signal.removeEventListener('abort', onAbort)
  }

  async release(): Promise<void> {
    this.end()
    try {
      await this.lease.release()
    } catch (error) {
      // It runs out by itself.
      this.deps.warn(`the lease of ${this.rootSessionId} was not given back: ${textOfError(error)}`)
    }
  }

  private async renew(): Promise<void> {
    try {
      await this.lease.renew()
    } catch (error) {
      if (!this.lease.isHeld()) this.end()
      this.deps.warn(`the lease of ${this.rootSessionId} was not renewed: ${textOfError(error)}`)
    }
  }

  private end(): void {
    clearInterval(this.timer)
    this.onOver()
    this.over.resolve()
  }
}
