/** The part of the port that is about the root: what it has seen, that it waits, its wakes. */
import type { Wait, Wake, WakeAttempt } from './types.ts'

export interface WakeControl {
  registerWait(request: {
    graphId: string
    waitId: string
    until: 'any' | 'all'
    reason?: string
  }): Promise<Wait>
  /** The root has been shown everything up to this change sequence. */
  acknowledgeChanges(graphId: string, changeSeq: number): Promise<void>
  /**
   * Asks for one turn of the root. Refused with `wake-conflict` while another wake is open, and for
   * a change that has not happened. A wake that nobody has begun to deliver is superseded when the
   * root acknowledges all it reports, or finishes the graph.
   */
  claimSupervisorWake(request: {
    graphId: string
    wakeId: string
    snapshotVersion: number
    rootSessionId: string
  }): Promise<{ wake: Wake; created: boolean }>
  /**
   * Asks for a turn at a time, and with `recurMs` again and again until the graph is finished. It is
   * beside the one open wake until its delivery begins; at most 64 are to come.
   */
  scheduleSupervisorWake(request: {
    graphId: string
    wakeId: string
    snapshotVersion: number
    rootSessionId: string
    /** Epoch milliseconds. */
    dueAt: number
    recurMs?: number
  }): Promise<{ wake: Wake; created: boolean }>
  /**
   * Only the caller that gets `acquired: true` delivers; the root's wait is over with it. A wake that
   * has had `maxAttempts` becomes `exhausted` here. A scheduled one is not acquired before its time. A
   * parked attempt is acquired again under its own id, and is `running`.
   */
  beginSupervisorWakeAttempt(request: {
    graphId: string
    wakeId: string
    attemptId: string
    turnId?: string
    maxAttempts?: number
  }): Promise<{ wake: Wake; attempt?: WakeAttempt; acquired: boolean }>
  /**
   * Ends the current attempt, or parks it (`waiting_permission`); `delivered` also acknowledges what
   * the wake reports.
   */
  completeSupervisorWakeAttempt(request: {
    graphId: string
    wakeId: string
    attemptId: string
    status: 'waiting_permission' | 'delivered' | 'superseded' | 'retryable_failed' | 'exhausted'
    failureReason?: string
    /** When the next attempt should be made, epoch milliseconds. */
    retryAt?: number
  }): Promise<Wake>
  /** Gives up a wake whose delivery failed. */
  exhaustSupervisorWake(graphId: string, wakeId: string, reason: string): Promise<Wake>
  /** Ends every wake that is open or scheduled, with its attempt. @returns how many. */
  supersedeSupervisorWakes(graphId: string, reason: string): Promise<number>
  /** A delivery that was under way in a process that is gone becomes `retryable_failed`. @returns how many. */
  recoverSupervisorWakes(graphId: string): Promise<number>
  readSupervisorWake(graphId: string, wakeId: string): Promise<Wake | undefined>
  listSupervisorWakeAttempts(graphId: string, wakeId: string): Promise<readonly WakeAttempt[]>
  listUnsettledSupervisorWakes(graphId: string): Promise<readonly Wake[]>
  listRetryableSupervisorWakes(graphId: string): Promise<readonly Wake[]>
}
