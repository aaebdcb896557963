/**
 * Drives one graph: asks `reconcile` what to do next, launches it, and looks again at each commit.
 * Nothing here waits for an activation, so a stop, an addition and a wake act at once.
 *
 * Owns: what is under way in this process. Does not own: any state of the graph; that is the store's.
 */
import { GraphControlError, reconcile, type GraphAction, type GraphState } from 'dsh-graph-control'
import { activationOf, runActivation, type ActivationDeps } from './activation.ts'
import { claimFor, provisionOf } from './driver-requests.ts'
import { endForLimit, stopForLimit } from './limit-stops.ts'
import { roomOf, underWayOf } from './limits.ts'
import { openWake, WakeDelivery } from './wake-delivery.ts'

export const DEFAULT_MAX_ACTIVATIONS = 8
const DEFAULT_WAKE_ATTEMPTS = 5
const DEFAULT_WAKE_DELAY_MS = 250
const DEFAULT_WAKE_BACKOFF_MS = 2_000
/** Delay before the next look after a commit failed for a reason of the medium. */
const RETRY_PASS_MS = 1_000
const PROVISION = 'provision:'
/** Timers hold no longer delay; a later look sets the next one. */
const MAX_TIMER_MS = 2 ** 31 - 1

export class GraphDriver {
  readonly graphId: string
  private readonly deps: ActivationDeps
  private readonly abort = new AbortController()
  private readonly underWay = new Map<string, Promise<void>>()
  private readonly wakes: WakeDelivery | undefined
  private latest: GraphState | undefined
  private pass: Promise<void> | undefined
  private again = false
  private lookTimer: ReturnType<typeof setTimeout> | undefined
  private nextLookAt = Number.POSITIVE_INFINITY

  constructor(graphId: string, deps: ActivationDeps) {
    this.graphId = graphId
    this.deps = deps
    const { wakes: sender, wakeDelayMs, wakeBackoffMs, maxAttempts } = deps.options
    if (sender !== undefined)
      this.wakes = new WakeDelivery({
        store: deps.store,
        graphId,
        rootSessionId: deps.rootSessionId,
        sender,
        delayMs: wakeDelayMs ?? DEFAULT_WAKE_DELAY_MS,
        backoffMs: wakeBackoffMs ?? DEFAULT_WAKE_BACKOFF_MS,
        maxAttempts: maxAttempts ?? DEFAULT_WAKE_ATTEMPTS,
        onError: (error, doing) => this.report(error, doing),
        onLeaseLost: () => deps.onLeaseLost(),
        onSettled: () => {
          deps.onMoved()
          this.kick()
        },
      })
  }

  /** Something of this graph can still wake its root. */
  expectsWake(): boolean {
    const state = this.latest
    if (this.wakes?.busy === true) return true
    if (state === undefined || state.closed) return false
    if (state.phase === 'draft') return false
    if (state.live.scheduledWakes.size > 0) return true
    return state.counts.pending > 0 || openWake(state) !== undefined || hasUndelivered(state)
  }

  /** Looks at the graph soon; looks again when a look is under way. Never throws. */
  kick(state?: GraphState): void {
    if (state !== undefined) this.latest = state
    if (this.abort.signal.aborted) return
    this.again = true
    this.pass ??= this.look().finally(() => {
      this.pass = undefined
      // Asked for after the last look and before its promise settled.
      if (this.again) this.kick()
      else this.tellOver()
    })
  }

  /** Resolves when no look, no activation and no wake is under way in this process. */
  async whenQuiet(): Promise<void> {
    for (;;) {
      const pending = [this.pass, ...this.underWay.values()].filter((promise) => promise !== undefined)
      if (pending.length > 0) await Promise.all(pending)
      // A wake that is over makes the driver look again, and there may be more to tell.
      else if (this.wakes?.busy === true) await this.wakes.whenQuiet()
      else return
    }
  }

  async dispose(): Promise<void> {
    this.abort.abort()
    clearTimeout(this.lookTimer)
    await this.wakes?.dispose()
    await this.whenQuiet()
  }

  /** After a look: whatever ends later makes the driver look again. */
  private tellOver(): void {
    const { latest } = this
    const isBusy = this.underWay.size > 0 || this.wakes?.busy === true || this.abort.signal.aborted
    if (isBusy || latest === undefined || !isOver(latest)) return
    this.deps.onOver()
  }

  private report(error: unknown, doing: string): void {
    this.deps.options.onError?.(error, doing)
  }

  private async look(): Promise<void> {
    while (this.again && !this.abort.signal.aborted) {
      this.again = false
      try {
        const state = await this.deps.store.readGraph(this.graphId)
        if (state === undefined) return
        this.latest = state
        const now = Date.now()
        for (const action of reconcile(state, { maxNewActivations: this.permits(state, now), now }))
          this.launch(state, action)
      } catch (error) {
        this.report(error, `reading ${this.graphId}`)
        this.lookLater()
      }
    }
  }

  /** Activations that may be live: the permits, as far as the budgets of the graph have room. */
  private permits(state: GraphState, now: number): number {
    const { limits, maxNewActivations = DEFAULT_MAX_ACTIVATIONS } = this.deps.options
    if (limits === undefined || state.closed || state.phase === 'draft') return maxNewActivations
    const { endsAt, exhausted, left } = roomOf(state, limits, now)
    if (exhausted !== undefined) this.endFor(state, exhausted)
    else if (endsAt !== undefined && expectsMore(state)) this.lookAt(endsAt)
    return Math.min(maxNewActivations, underWayOf(state) + left)
  }

  private endFor(state: GraphState, reason: string): void {
    if (expectsMore(state)) this.track(`limit:${state.seq}`, () => endForLimit(this.deps, state, reason))
  }

  private lookLater(): void {
    this.lookAt(Date.now() + RETRY_PASS_MS)
  }

  /** Looks again at that time at the latest, epoch milliseconds. */
  private lookAt(at: number): void {
    if (this.abort.signal.aborted || at >= this.nextLookAt) return
    clearTimeout(this.lookTimer)
    this.nextLookAt = at
    const delayMs = Math.min(MAX_TIMER_MS, Math.max(0, at - Date.now()))
    this.lookTimer = setTimeout(() => {
      this.nextLookAt = Number.POSITIVE_INFINITY
      this.kick()
    }, delayMs)
  }

  /** One action, unless the very same one is under way. */
  private launch(state: GraphState, action: GraphAction): void {
    if (action.kind === 'wake' || action.kind === 'deliver') return this.wakes?.request()
    if (action.kind === 'look-again') return this.lookAt(action.at)
    this.track(keyOf(action), () => this.perform(state, action))
  }

  private track(key: string, doing: () => Promise<void>): void {
    if (this.underWay.has(key)) return
    const done = doing()
      .catch((error: unknown) => {
        if (this.abort.signal.aborted) return
        // Decided on an older state: the next look decides anew.
        if (error instanceof GraphControlError && error.code === 'schedule-revision-conflict')
          return this.kick()
        if (isLeaseLost(error)) return this.deps.onLeaseLost()
        this.report(error, `${key} in ${this.graphId}`)
        this.lookLater()
      })
      .finally(() => {
        this.underWay.delete(key)
        if (this.latest?.closed === true) this.kick()
      })
    this.underWay.set(key, done)
  }

  private async perform(state: GraphState, action: Performed): Promise<void> {
    switch (action.kind) {
      case 'provision':
        return this.provision(state, action.workId)
      case 'claim':
        return this.claim(state, action.workId, action.operatorId)
      case 'start':
      case 'observe': {
        const claim = state.claims.get(action.claimId)
        if (claim === undefined) return
        return runActivation(this.deps, state, claim, Math.max(1, action.attempt), this.abort.signal)
      }
      case 'cancel':
        return this.cancel(state, action.claimId, action.reason)
    }
  }

  /** Those of the state, and those that are being made beyond it. */
  private operatorsOf(state: GraphState): number {
    let coming = 0
    for (const key of this.underWay.keys())
      if (key.startsWith(PROVISION) && state.works.get(key.slice(PROVISION.length))?.operatorId === undefined)
        coming += 1
    return state.operators.size + coming
  }

  private async provision(state: GraphState, workId: string): Promise<void> {
    const { maxOperators } = this.deps.options.limits ?? {}
    // The items of a `forEach` are not known before they are there.
    if (maxOperators !== undefined && this.operatorsOf(state) >= maxOperators)
      return stopForLimit(this.deps, state, workId, `the graph has its ${maxOperators} operators`)
    await this.deps.store.provisionOperator(provisionOf(state, workId))
  }

  private async claim(state: GraphState, workId: string, operatorId: string): Promise<void> {
    const work = state.works.get(workId)
    const operator = state.operators.get(operatorId)
    if (work === undefined || operator === undefined) return
    await this.deps.store.claimIntentAtScheduleRevision(claimFor(state, work, operator), state.revision)
  }

  private async cancel(state: GraphState, claimId: string, reason: string): Promise<void> {
    const claim = state.claims.get(claimId)
    if (claim === undefined) return
    if (claim.admissionStatus === 'claimed') {
      await this.deps.store.cancelAgentGraphIntentExecution(this.graphId, claim.intentId, reason)
      return
    }
    const activation = activationOf(state, claim, claim.attempt, this.deps.rootSessionId)
    if (activation !== undefined) await this.deps.options.executor.cancel(activation, reason)
    await this.deps.store.settleActivation({
      graphId: this.graphId,
      claimId,
      attempt: claim.attempt,
      outcome: 'cancelled',
      reason,
    })
  }
}

/** Finished, with no run to be cancelled and no wake to be settled: nothing happens to it any more. */
export function isOver({ closed, live }: GraphState): boolean {
  return closed && live.claims.size === 0 && live.openWakeId === undefined
}

/** Something of the graph goes on by itself. */
function expectsMore({ counts, live }: GraphState): boolean {
  return counts.pending > 0 || live.scheduledWakes.size > 0
}

function isLeaseLost(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'lease-lost'
}

/** Actions that are doings of their own; the others are requests to the wakes and to the clock. */
type Performed = Exclude<GraphAction, { kind: 'wake' | 'deliver' | 'look-again' }>

/** Something ended that the root has not seen, and no exhausted wake gave up on it. */
function hasUndelivered(state: GraphState): boolean {
  if (state.changeSeq <= state.seenChangeSeq) return false
  for (const wake of state.wakes.values())
    if (wake.status === 'exhausted' && wake.snapshotVersion >= state.changeSeq) return false
  return true
}

/** Start and observe of one attempt are the same doing. */
function keyOf(action: Performed): string {
  switch (action.kind) {
    case 'provision':
      return PROVISION + action.workId
    case 'claim':
      return `claim:${action.workId}`
    case 'start':
    case 'observe':
      return `run:${action.claimId}#${Math.max(1, action.attempt)}`
    case 'cancel':
      return `cancel:${action.claimId}`
  }
}
