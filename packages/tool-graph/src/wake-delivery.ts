/**
 * The wakes of one graph. Changes gather for a moment, then at most one wake is open: claimed,
 * delivered as one root turn, settled. A failed delivery is tried again with back-off until the
 * attempts are used up; then the wake is exhausted and stays visible in the graph.
 */
import {
  GraphControlError,
  graphWakeAttemptId,
  graphWakeId,
  type GraphControl,
  type GraphState,
  type Wake,
} from 'dsh-graph-control'
import { pause } from './pause.ts'
import type { WakeSender } from './types.ts'
import { wakeMessage } from './wake-message.ts'

/** The longest pause is this many times the first. */
const MAX_BACKOFF_FACTOR = 32

/** The wake that is on its way, if any. */
export function openWake(state: GraphState): Wake | undefined {
  const { openWakeId } = state.live
  return openWakeId === undefined ? undefined : state.wakes.get(openWakeId)
}

/** A scheduled wake whose time has come. */
function dueWake(state: GraphState): Wake | undefined {
  for (const wakeId of state.live.scheduledWakes.keys()) {
    const wake = state.wakes.get(wakeId)
    if (wake !== undefined && (wake.dueAt ?? 0) <= Date.now()) return wake
  }
  return undefined
}

/**
 * Whether a turn is still to be made of a wake. What the root has seen meanwhile needs none, and a
 * root that waits for all is not disturbed by a part. After a failed attempt seeing is not enough:
 * the turn in which the root looked was cut off before it could act.
 */
function isWanted(state: GraphState | undefined, wake: Wake, attempts: number): boolean {
  if (state === undefined || state.closed) return false
  // A person, a time or a question to the model does not wait for the rest.
  if (wake.dueAt !== undefined) return true
  if (state.wait?.until === 'all' && state.counts.pending > 0 && !isHeld(state)) return false
  return attempts > 1 || state.seenChangeSeq < wake.snapshotVersion
}

function isHeld(state: GraphState): boolean {
  for (const claimId of state.live.claims.keys())
    if (state.claims.get(claimId)?.hold !== undefined) return true
  return false
}

export interface WakeDeliveryDeps {
  readonly store: GraphControl
  readonly graphId: string
  readonly rootSessionId: string
  readonly sender: WakeSender
  readonly delayMs: number
  /** First pause after a failed delivery, milliseconds; it doubles. */
  readonly backoffMs: number
  readonly maxAttempts: number
  readonly onError: (error: unknown, doing: string) => void
  /** Called when a delivery is over, whatever came of it. */
  readonly onSettled: () => void
  /** Called when a commit was refused because another holder of the lease commits now. */
  readonly onLeaseLost: () => void
}

function isUnderWay({ status }: Wake): boolean {
  return status === 'running' || status === 'waiting_permission'
}

interface ClaimedWake {
  readonly wake: Wake
  /** Its attempt was begun before this delivery, by whomever. */
  readonly isResumed: boolean
}

export class WakeDelivery {
  private readonly deps: WakeDeliveryDeps
  private readonly abort = new AbortController()
  /** From a request until its delivery is over. */
  private pending: Promise<void> | undefined
  /** No delivery begins before this time: the pause after a failed one. Epoch milliseconds. */
  private earliestAt = 0

  constructor(deps: WakeDeliveryDeps) {
    this.deps = deps
  }

  /** A delivery is waiting for its moment or under way. */
  get busy(): boolean {
    return this.pending !== undefined
  }

  /** Sees to it that a delivery happens soon; does nothing when one is on its way. */
  request(): void {
    if (this.abort.signal.aborted) return
    this.pending ??= this.run(Math.max(this.deps.delayMs, this.earliestAt - Date.now()))
  }

  /** Resolves when no delivery is waiting or under way. */
  async whenQuiet(): Promise<void> {
    await this.pending
  }

  async dispose(): Promise<void> {
    this.abort.abort()
    await this.pending
  }

  private async run(delayMs: number): Promise<void> {
    const { signal } = this.abort
    try {
      if (delayMs > 0) await pause(delayMs, signal)
      if (!signal.aborted) await this.deliver()
    } catch (error) {
      if (!signal.aborted) this.failed(error, `delivering a wake of ${this.deps.graphId}`)
    } finally {
      this.pending = undefined
      if (!signal.aborted) this.deps.onSettled()
    }
  }

  private failed(error: unknown, doing: string): void {
    if (error instanceof GraphControlError && error.code === 'lease-lost') this.deps.onLeaseLost()
    else this.deps.onError(error, doing)
  }

  /** The open wake, or a new one for what the root has not seen, its first attempt begun. */
  private async claim(state: GraphState): Promise<ClaimedWake | undefined> {
    const open = openWake(state)
    if (open !== undefined) return { wake: open, isResumed: isUnderWay(open) }
    const due = state.closed ? undefined : dueWake(state)
    if (due !== undefined) return { wake: due, isResumed: false }
    if (state.closed || state.changeSeq <= state.seenChangeSeq) return undefined
    const { graphId, maxAttempts, rootSessionId, store } = this.deps
    const { changeSeq: snapshotVersion } = state
    const wakeId = graphWakeId(graphId, snapshotVersion)
    const attemptId = graphWakeAttemptId(wakeId, 1)
    // Asked for together, they are written together.
    const [, begun] = await Promise.all([
      store.claimSupervisorWake({ graphId, wakeId, snapshotVersion, rootSessionId }),
      store.beginSupervisorWakeAttempt({ graphId, wakeId, attemptId, maxAttempts }),
    ])
    return begun.acquired ? { wake: begun.wake, isResumed: false } : undefined
  }

  /**
   * Begins the next attempt. One that was cut off while it was parked goes on under its own id, as one
   * that runs does: its turn may have been made already.
   */
  private async begin({ attempts, currentAttemptId, wakeId }: Wake): Promise<Wake | undefined> {
    const { graphId, maxAttempts, store } = this.deps
    const attemptId = currentAttemptId ?? graphWakeAttemptId(wakeId, attempts + 1)
    const begun = await store.beginSupervisorWakeAttempt({ graphId, wakeId, attemptId, maxAttempts })
    return begun.acquired ? begun.wake : undefined
  }

  /** Parking and going on are for those who look; the delivery does not depend on them. */
  private async move(commit: Promise<unknown>): Promise<void> {
    try {
      await commit
    } catch (error) {
      if (!this.abort.signal.aborted) this.failed(error, `parking a wake of ${this.deps.graphId}`)
    }
  }

  private async deliver(): Promise<void> {
    const { graphId, maxAttempts, sender, store } = this.deps
    const state = await store.readGraph(graphId)
    if (state === undefined) return
    const claimed = await this.claim(state)
    if (claimed === undefined) return
    const { isResumed, wake } = claimed
    const running = wake.status === 'running' ? wake : await this.begin(wake)
    if (running?.currentAttemptId === undefined) return
    const { attempts, currentAttemptId: attemptId } = running
    // What a scheduled wake reports is decided as its attempt begins.
    const told = (await store.readGraph(graphId)) ?? state
    const settle = { graphId, wakeId: wake.wakeId, attemptId }
    try {
      const status = await sender.deliver(
        {
          ...settle,
          isResumed,
          message: wakeMessage(told, running),
          stillWanted: async () => isWanted(await store.readGraph(graphId), running, attempts),
          park: (failureReason) =>
            this.move(
              store.completeSupervisorWakeAttempt({ ...settle, status: 'waiting_permission', failureReason }),
            ),
          goOn: () => this.move(store.beginSupervisorWakeAttempt(settle)),
        },
        this.abort.signal,
      )
      await store.completeSupervisorWakeAttempt({ ...settle, status })
    } catch (error) {
      if (this.abort.signal.aborted) return
      const failureReason = error instanceof Error ? error.message : String(error)
      const exhausted = attempts >= maxAttempts
      // Before the commit, which makes the driver look again.
      this.earliestAt = Date.now() + this.deps.backoffMs * Math.min(MAX_BACKOFF_FACTOR, 2 ** (attempts - 1))
      await store.completeSupervisorWakeAttempt({
        ...settle,
        status: exhausted ? 'exhausted' : 'retryable_failed',
        failureReason,
        ...(exhausted ? {} : { retryAt: this.earliestAt }),
      })
      this.deps.onError(
        error,
        exhausted ? `waking the root of ${graphId}; giving up` : `waking the root of ${graphId}`,
      )
    }
  }
}
