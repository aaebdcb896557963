/**
 * One lease stream: reading its state, appending on top of a known state, and snapshots that bound
 * the cost of reading. Knows no clock and judges nobody.
 */
import { checkStream } from './checks.ts'
import { DurableLogError } from './errors.ts'
import {
  foldLease,
  leaseSnapshot,
  type LeaseState,
  NEVER_LEASED,
  parseLeaseSnapshot,
} from './lease-entries.ts'
import type { DurableLog, Entry, Snapshot } from './types.ts'

const PREFIX = 'lease/'
const MAX_ID_LENGTH = 500
/** A reader folds fewer entries than this behind the newest snapshot. */
const SNAPSHOT_EVERY = 32

export class LeaseStream {
  readonly rootSessionId: string
  readonly name: string
  private readonly log: DurableLog

  /** @throws DurableLogError `invalid` for an id that cannot be part of a stream name. */
  constructor(log: DurableLog, rootSessionId: string) {
    if (typeof rootSessionId !== 'string' || rootSessionId === '' || rootSessionId.length > MAX_ID_LENGTH) {
      throw new DurableLogError(
        'invalid',
        `a root session id must be a string of 1 to ${MAX_ID_LENGTH} characters`,
      )
    }
    this.log = log
    this.rootSessionId = rootSessionId
    this.name = checkStream(`${PREFIX}${rootSessionId}`)
  }

  /** @throws what the log throws; `corrupt` also for entries that no holder can have written. */
  async read(): Promise<LeaseState> {
    const saved = await this.loadSnapshot()
    let state =
      saved === undefined ? NEVER_LEASED : (parseLeaseSnapshot(saved.seq, saved.snapshot) ?? NEVER_LEASED)
    for (const entry of await this.log.read(this.name, { afterSeq: state.seq })) {
      state = foldLease(this.name, state, entry)
    }
    return state
  }

  /**
   * @returns the state after the entry.
   * @throws `conflict` when the stream is no longer in the given state.
   */
  async append(state: LeaseState, entry: Entry): Promise<LeaseState> {
    const seq = await this.log.append(this.name, state.seq, [entry])
    const next = foldLease(this.name, state, { ...entry, seq, appendedAt: 0 })
    if (seq % SNAPSHOT_EVERY === 0) await this.saveSnapshot(next)
    return next
  }

  private async loadSnapshot(): Promise<Snapshot | undefined> {
    try {
      return await this.log.loadSnapshot(this.name)
    } catch (error) {
      if (error instanceof DurableLogError && error.code === 'corrupt') return undefined
      throw error
    }
  }

  /** The entry is durable already, so a snapshot that cannot be saved costs later readers only. */
  private async saveSnapshot(state: LeaseState): Promise<void> {
    try {
      await this.log.saveSnapshot(this.name, state.seq, leaseSnapshot(state))
    } catch (error) {
      if (!(error instanceof DurableLogError)) throw error
    }
  }
}
