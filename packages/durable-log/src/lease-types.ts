/**
 * The vocabulary of leases: who holds a root session, and until when.
 *
 * A *lease* is the right to act for one root session. It has a *holder*, a *deadline*, and an *epoch*
 * that grows with every acquisition; what an older epoch writes is void.
 */

/** One run of one process. Strings are opaque and empty where the platform does not say. */
export interface ProcessIdentity {
  readonly pid: number
  /** When the process started; tells it from a later one with the same pid. */
  readonly startedAt: string
  /** Changes with every start of the machine. */
  readonly bootId: string
  readonly machineId: string
  /** The name space that gives the pid its meaning; containers have their own. */
  readonly pidSpace: string
}

/** `unknown`: on another machine or in another pid name space, where nobody can look. */
export type ProcessState = 'alive' | 'dead' | 'unknown'

/** Who this process is, and what became of others. */
export interface Processes {
  readonly self: ProcessIdentity
  stateOf(process: ProcessIdentity): ProcessState
}

export interface LeaseHolder {
  readonly holderId: string
  readonly process: ProcessIdentity
}

/** What an append carries, so that the fold of its stream can ignore what a lost holder still writes. */
export interface LeaseFence {
  readonly rootSessionId: string
  readonly epoch: number
  readonly holderId: string
}

/** A lease that somebody holds. */
export interface LeaseView extends LeaseFence {
  readonly process: ProcessIdentity
  /** Epoch milliseconds. */
  readonly acquiredAt: number
  /** Epoch milliseconds; after it anybody may take the lease. */
  readonly deadlineAt: number
}

/** The holder's handle. */
export interface Lease extends LeaseFence {
  /** When it runs out unless it is renewed, epoch milliseconds. */
  readonly deadlineAt: number
  /** Whether it holds by the holder's own clock and by all it has heard. Asks nobody. */
  isHeld(): boolean
  /**
   * The fence for an append that is about to be made.
   *
   * @throws DurableLogError `lease-lost`.
   */
  assertHeld(): LeaseFence
  /**
   * Moves the deadline; to be called every third of the time to live. Succeeds also after the
   * deadline while nobody else took the lease.
   *
   * @throws DurableLogError `lease-lost` when somebody did, or what the log throws: then the old
   *   deadline stays.
   */
  renew(): Promise<void>
  /** Gives the lease back, at once for this holder. Idempotent; nothing happens to a lost one. */
  release(): Promise<void>
}

export interface LeaseStore {
  /**
   * Takes the lease of a root session when nobody holds it: never taken, released, the holder's
   * process gone, its deadline passed, or the same holder again, whose older handle is then lost.
   *
   * @param rootSessionId a name of at most 500 characters.
   * @throws DurableLogError `lease-held` with the `holder`; what the log throws.
   */
  acquire(rootSessionId: string): Promise<Lease>
  /** Who holds it now; undefined when it could be acquired. */
  read(rootSessionId: string): Promise<LeaseView | undefined>
}

/** Time, injectable. */
export interface LeaseClock {
  /** Epoch milliseconds. */
  now(): number
  /** Milliseconds that no change of the system time moves. */
  monotonic(): number
}
