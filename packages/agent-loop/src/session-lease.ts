/**
 * The right of this process to write to a session: one lease each, taken before its first run and kept
 * while it has any. Owns the renewal and the release. What a lost lease means for a run under way is
 * the lanes'.
 *
 * The runs' leases have streams of their own (`lease/run/<session>`), apart from those of graphs.
 */
import { createHash } from 'node:crypto'
import { DurableLogError, type Lease, type LeaseStore } from 'dsh-durable-log'
import type { Clock } from './clock.ts'

/** A lease stream takes 500 characters of a name. */
const MAX_NAME = 500

export interface SessionLeasesOptions {
  readonly store: LeaseStore
  readonly clock: Clock
  /** How long a lease holds without renewal. */
  readonly ttlMs: number
  /** How often somebody else's lease is looked at again. */
  readonly retryMs: number
  /** Whether the session's lease is still needed; it is given back when not. */
  readonly isBusy: (sessionId: string) => boolean
  /** Another process has taken the session over. */
  readonly onLost: (sessionId: string) => void
  /** The lease of the session may be free now. */
  readonly onMaybeFree: (sessionId: string) => void
  readonly warn: (text: string) => void
}

interface Held {
  readonly lease: Lease
  disarm: () => void
}

export class SessionLeases {
  private readonly options: SessionLeasesOptions
  private readonly held = new Map<string, Held>()
  private readonly taking = new Map<string, Promise<number | undefined>>()
  private readonly retries = new Map<string, () => void>()
  private readonly working = new Set<Promise<unknown>>()
  private closed = false

  constructor(options: SessionLeasesOptions) {
    this.options = options
  }

  /**
   * @returns the epoch of the lease, or nothing while another process holds it; then `onMaybeFree` is
   *   called some time later.
   * @throws what the log throws.
   */
  take(sessionId: string): Promise<number | undefined> {
    const known = this.held.get(sessionId)
    if (known?.lease.isHeld() === true) return Promise.resolve(known.lease.epoch)
    let taking = this.taking.get(sessionId)
    if (taking === undefined) {
      taking = this.acquire(sessionId).finally(() => this.taking.delete(sessionId))
      this.taking.set(sessionId, taking)
    }
    return taking
  }

  private async acquire(sessionId: string): Promise<number | undefined> {
    try {
      const lease = await this.track(this.options.store.acquire(leaseNameOf(sessionId)))
      if (this.closed) {
        await lease.release()
        return undefined
      }
      this.drop(sessionId)
      this.keep(sessionId, lease)
      return lease.epoch
    } catch (error) {
      if (!(error instanceof DurableLogError) || error.code !== 'lease-held') throw error
      this.options.warn(`session ${JSON.stringify(sessionId)} waits: ${error.message}`)
      this.retryLater(sessionId)
      return undefined
    }
  }

  /** The epoch of a lease that is held, as far as this process knows. */
  epoch(sessionId: string): number | undefined {
    return this.held.get(sessionId)?.lease.epoch
  }

  /** Another process has written under a newer lease. */
  lost(sessionId: string): void {
    if (!this.drop(sessionId)) return
    this.options.onLost(sessionId)
    this.retryLater(sessionId)
  }

  /** Somebody else has the session, or may have it; `onMaybeFree` is called some time later. */
  retryLater(sessionId: string): void {
    if (this.closed || this.retries.has(sessionId)) return
    const disarm = this.options.clock.after(this.options.retryMs, () => {
      this.retries.delete(sessionId)
      this.options.onMaybeFree(sessionId)
    })
    this.retries.set(sessionId, disarm)
  }

  /** Gives every lease back and resolves when that is done. */
  async close(): Promise<void> {
    this.closed = true
    for (const disarm of this.retries.values()) disarm()
    this.retries.clear()
    const leases = [...this.held.values()].map(({ lease }) => lease)
    for (const sessionId of this.held.keys()) this.drop(sessionId)
    for (const lease of leases) void this.track(lease.release().catch(() => undefined))
    while (this.working.size > 0) await Promise.allSettled(this.working)
  }

  private keep(sessionId: string, lease: Lease): void {
    const held: Held = { lease, disarm: () => undefined }
    this.held.set(sessionId, held)
    this.armRenewal(sessionId, held)
  }

  private armRenewal(sessionId: string, held: Held): void {
    held.disarm = this.options.clock.after(Math.ceil(this.options.ttlMs / 3), () => {
      void this.track(this.renewOrRelease(sessionId, held))
    })
  }

  private async renewOrRelease(sessionId: string, held: Held): Promise<void> {
    try {
      if (!this.options.isBusy(sessionId)) {
        this.drop(sessionId)
        await held.lease.release()
        return
      }
      await held.lease.renew()
      if (this.held.get(sessionId) === held) this.armRenewal(sessionId, held)
    } catch (error) {
      if (this.held.get(sessionId) !== held) return
      if (error instanceof DurableLogError && error.code === 'lease-lost') return this.lost(sessionId)
      this.options.warn(`the lease of session ${JSON.stringify(sessionId)} was not renewed: ${String(error)}`)
      if (held.lease.isHeld()) this.armRenewal(sessionId, held)
      else this.lost(sessionId)
    }
  }

  private drop(sessionId: string): boolean {
    const held = this.held.get(sessionId)
    held?.disarm()
    return this.held.delete(sessionId)
  }

  private track<T>(work: Promise<T>): Promise<T> {
    const settled = work.then(
      () => undefined,
      () => undefined,
    )
    this.working.add(settled)
    void settled.then(() => this.working.delete(settled))
    return work
  }
}

export function leaseNameOf(sessionId: string): string {
  const name = `run/${sessionId}`
  if (name.length <= MAX_NAME) return name
  return `run/${createHash('sha256').update(sessionId).digest('hex')}`
}
