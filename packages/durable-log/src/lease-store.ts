/**
 * Leases of root sessions on the streams `lease/<rootSessionId>` of one log.
 *
 * Owns: the decision who may take a lease. An acquisition is one append that is conditional on the
 * state it was decided on, so of two takers one meets `conflict`, looks again, and is refused.
 * Does not own: renewal timers, which belong to whoever works under the lease.
 */
import { randomUUID } from 'node:crypto'
import { DurableLogError } from './errors.ts'
import { HeldLease } from './lease.ts'
import { acquiredEntry, type LeaseState } from './lease-entries.ts'
import { LeaseStream } from './lease-stream.ts'
import type { Lease, LeaseClock, LeaseHolder, LeaseStore, LeaseView, Processes } from './lease-types.ts'
import { isSameProcess, systemProcesses } from './process-identity.ts'
import type { DurableLog } from './types.ts'

export interface LeaseStoreOptions {
  readonly log: DurableLog
  /**
   * Names the holder in entries and refusals; default a new id for each store. A holder that comes
   * back under the same id in the same process takes its own leases again at once.
   */
  readonly holderId?: string
  /** How long a lease holds without renewal; default 120,000 ms. */
  readonly ttlMs?: number
  readonly clock?: LeaseClock
  readonly processes?: Processes
}

const DEFAULT_TTL_MS = 120_000
const MAX_HOLDER_LENGTH = 200
/** How far the clocks of two machines may be apart. */
const CLOCK_SKEW_MS = 5_000

const systemClock: LeaseClock = { now: () => Date.now(), monotonic: () => performance.now() }

/**
 * Leases on a log, which stays the caller's.
 *
 * @throws DurableLogError `invalid` for malformed options.
 */
export function leaseStore(options: LeaseStoreOptions): LeaseStore {
  const { log, holderId = randomUUID(), ttlMs = DEFAULT_TTL_MS } = options
  if (typeof holderId !== 'string' || holderId === '' || holderId.length > MAX_HOLDER_LENGTH) {
    throw new DurableLogError('invalid', `holderId must be a string of 1 to ${MAX_HOLDER_LENGTH} characters`)
  }
  if (!Number.isSafeInteger(ttlMs) || ttlMs < 1) {
    throw new DurableLogError('invalid', 'ttlMs must be a whole number of milliseconds from 1')
  }
  const { clock = systemClock, processes = systemProcesses() } = options
  return new Leases(log, { holderId, process: processes.self }, ttlMs, clock, processes)
}

class Leases implements LeaseStore {
  private readonly log: DurableLog
  private readonly holder: LeaseHolder
  private readonly ttlMs: number
  private readonly clock: LeaseClock
  private readonly processes: Processes
  /** The newest handle of each root session, while there is something to give back. */
  private readonly leases = new Map<string, HeldLease>()

  constructor(log: DurableLog, holder: LeaseHolder, ttlMs: number, clock: LeaseClock, processes: Processes) {
    this.log = log
    this.holder = holder
    this.ttlMs = ttlMs
    this.clock = clock
    this.processes = processes
  }

  async acquire(rootSessionId: string): Promise<Lease> {
    const stream = new LeaseStream(this.log, rootSessionId)
    for (;;) {
      const since = this.clock.monotonic()
      const acquiredAt = this.clock.now()
      const current = await stream.read()
      const inTheWay = this.holderInTheWay(current, acquiredAt)
      if (inTheWay !== undefined) throw leaseHeld(stream, inTheWay, current.deadlineAt)
      const deadlineAt = acquiredAt + this.ttlMs
      const entry = acquiredEntry(current.epoch + 1, this.holder, acquiredAt, deadlineAt)
      try {
        const state = await stream.append(current, entry)
        return this.handOut(stream, state, since)
      } catch (error) {
        if (!(error instanceof DurableLogError) || error.code !== 'conflict') throw error
        // Somebody moved the lease since it was read.
      }
    }
  }

  async read(rootSessionId: string): Promise<LeaseView | undefined> {
    const now = this.clock.now()
    const { epoch, holder, acquiredAt, deadlineAt } = await new LeaseStream(this.log, rootSessionId).read()
    if (holder === undefined || this.isOver(holder, deadlineAt, now)) return undefined
    return { rootSessionId, epoch, ...holder, acquiredAt, deadlineAt }
  }

  private handOut(stream: LeaseStream, state: LeaseState, since: number): Lease {
    const { holder, ttlMs, clock, leases } = this
    const { rootSessionId } = stream
    const onReturned = () => {
      if (leases.get(rootSessionId) === lease) leases.delete(rootSessionId)
    }
    const lease = new HeldLease({ stream, holder, state, ttlMs, clock, since, onReturned })
    leases.get(rootSessionId)?.supersede(holder)
    leases.set(rootSessionId, lease)
    return lease
  }

  private holderInTheWay({ holder, deadlineAt }: LeaseState, now: number): LeaseHolder | undefined {
    if (holder === undefined || this.isOwn(holder) || this.isOver(holder, deadlineAt, now)) return undefined
    return holder
  }

  private isOwn({ holderId, process }: LeaseHolder): boolean {
    return holderId === this.holder.holderId && isSameProcess(process, this.holder.process)
  }

  /** A dead holder's lease is over at once; that of one who may live, when its deadline passed. */
  private isOver({ process }: LeaseHolder, deadlineAt: number, now: number): boolean {
    const state = this.processes.stateOf(process)
    if (state === 'dead') return true
    return now >= (state === 'alive' ? deadlineAt : deadlineAt + CLOCK_SKEW_MS)
  }
}

function leaseHeld(stream: LeaseStream, holder: LeaseHolder, deadlineAt: number): DurableLogError {
  return new DurableLogError(
    'lease-held',
    `root session "${stream.rootSessionId}" is held by ${holder.holderId} (process ${holder.process.pid}) ` +
      `until ${new Date(deadlineAt).toISOString()}; end that process, or wait until it gives the lease back`,
    { stream: stream.name, holder },
  )
}
