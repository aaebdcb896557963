/**
 * One activation from its claim to its settlement. Every failure ends in a settlement with its
 * text, so that one poison work never blocks another and none stays silent.
 */
import {
  runIdOf,
  TERMINAL_WORK_STATUSES,
  type Claim,
  type GraphControl,
  type GraphState,
} from 'dsh-graph-control'
import { hydrateInputHandoffs, renderOperatorPrompt } from './handoff.ts'
import { roomOf } from './limits.ts'
import type { Activation, ActivationEnd, ControllerOptions } from './types.ts'

export interface ActivationDeps {
  readonly store: GraphControl
  readonly rootSessionId: string
  readonly options: ControllerOptions
  readonly maxAttempts: number
  /** First pause before an attempt is made again, milliseconds; it doubles. */
  readonly backoffMs: number
  /** Called when the root may expect a wake that it did not, or no longer the one that it did. */
  readonly onMoved: () => void
  /** Called when a commit was refused because another holder of the lease commits now. */
  readonly onLeaseLost: () => void
  /** Called when the graph is finished and nothing of it is under way or to be told. */
  readonly onOver: () => void
}

/** What the executor needs to know, or `undefined` when work or operator are gone from the state. */
export function activationOf(
  state: GraphState,
  claim: Claim,
  attempt: number,
  rootSessionId: string,
): Activation | undefined {
  const work = state.works.get(claim.workId)
  const operator = state.operators.get(claim.targetOperatorId)
  if (work === undefined || operator === undefined) return undefined
  return {
    graphId: state.graphId,
    rootSessionId,
    work,
    operator,
    claim,
    attempt,
    runId: runIdOf(claim, attempt),
  }
}

/** Provisioning and starting, which may be tried again; what comes after is the run's own. */
async function launch(
  deps: ActivationDeps,
  state: GraphState,
  activation: Activation,
  signal: AbortSignal,
): Promise<ActivationEnd | undefined> {
  const { executor, renderPrompt = renderOperatorPrompt } = deps.options
  const handoffs = await hydrateInputHandoffs(deps.store, state, activation.work)
  await executor.provision?.(activation.work, activation.operator)
  signal.throwIfAborted()
  // A stop that came while the inputs were read: the run is never begun.
  const work = (await deps.store.readGraph(activation.graphId))?.works.get(activation.work.workId)
  if (work !== undefined && TERMINAL_WORK_STATUSES.has(work.status))
    return { outcome: 'cancelled', reason: work.reason ?? `the work is ${work.status}` }
  await executor.start(activation, renderPrompt(activation.work, handoffs))
  return undefined
}

/** Whether trying again may help: not where the executor says that it cannot. */
function isRetryable(error: unknown): boolean {
  return !(typeof error === 'object' && error !== null && 'retryable' in error && error.retryable === false)
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

async function runToEnd(
  deps: ActivationDeps,
  state: GraphState,
  activation: Activation,
  signal: AbortSignal,
): Promise<ActivationEnd> {
  try {
    const refused = await launch(deps, state, activation, signal)
    if (refused !== undefined) return refused
  } catch (error) {
    return { outcome: isRetryable(error) ? 'interrupted' : 'failed', reason: textOf(error) }
  }
  try {
    return await deps.options.executor.observe(activation, signal)
  } catch (error) {
    return { outcome: 'failed', reason: textOf(error) }
  }
}

/**
 * Runs one attempt and commits how it ended. Resolves without a commit when the signal fired: the
 * run goes on elsewhere or is picked up again at the next start.
 */
export async function runActivation(
  deps: ActivationDeps,
  state: GraphState,
  claim: Claim,
  attempt: number,
  signal: AbortSignal,
): Promise<void> {
  const { store } = deps
  const { graphId } = state
  if (claim.admissionStatus === 'claimed') {
    const moved = await store.beginAgentGraphIntentExecutionAtScheduleRevision(
      graphId,
      claim.intentId,
      state.revision,
    )
    // A stop that came first wins: a cancelled claim is never run.
    if (moved.state !== 'executing') return
  }
  const activation = activationOf(state, claim, attempt, deps.rootSessionId)
  if (activation === undefined) return
  const ended = await runToEnd(deps, state, activation, signal)
  if (signal.aborted) return
  if (ended.outcome === 'interrupted')
    return giveUpAttempt(deps, activation, ended.reason ?? 'the run was lost')
  if (ended.outcome === 'needs-person') {
    const reason = ended.reason ?? 'it asked for something that only a person can allow'
    await store.holdActivation({ graphId, claimId: claim.claimId, attempt, kind: 'person', reason })
    return
  }
  const { outcome, conclusion, artifacts, usage, reason } = ended
  await store.settleActivation({
    graphId,
    claimId: claim.claimId,
    attempt,
    outcome,
    ...(conclusion === undefined ? {} : { conclusion }),
    ...(artifacts === undefined ? {} : { artifacts }),
    ...(usage === undefined ? {} : { usage }),
    ...(reason === undefined ? {} : { reason }),
  })
}

/** The attempt is lost: another one later, a hold until somebody confirms it, or the end. */
async function giveUpAttempt(deps: ActivationDeps, activation: Activation, reason: string): Promise<void> {
  const { store, maxAttempts, backoffMs } = deps
  const { graphId, claim, attempt, work } = activation
  const { claimId } = claim
  if (work.replay === 'confirm' || work.replay === 'model') {
    const kind = work.replay === 'confirm' ? 'person' : 'model'
    await store.holdActivation({ graphId, claimId, attempt, kind, reason: `attempt ${attempt}: ${reason}` })
    return
  }
  const { limits } = deps.options
  const state = limits === undefined ? undefined : await store.readGraph(graphId)
  const hasRoom = state === undefined || limits === undefined || roomOf(state, limits, Date.now()).left > 0
  if (attempt < maxAttempts && hasRoom) {
    // The first time at once: most losses are a process that went.
    const pause = attempt === 1 ? 0 : backoffMs * 2 ** (attempt - 2)
    const later = pause === 0 ? {} : { notBefore: Date.now() + pause }
    await store.retryActivation(graphId, claimId, attempt, reason, later)
    return
  }
  await store.settleActivation({
    graphId,
    claimId,
    attempt,
    outcome: 'failed',
    reason: hasRoom
      ? `${reason} (attempt ${attempt} of ${maxAttempts})`
      : `${reason} (attempt ${attempt}; limit_reached: the graph has no room for another)`,
  })
}
