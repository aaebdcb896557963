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
import type { Activation, ActivationEnd, ControllerOptions } from './types.ts'

export interface ActivationDeps {
  readonly store: GraphControl
  readonly rootSessionId: string
  readonly options: ControllerOptions
  readonly maxAttempts: number
  /** Called when the root may expect a wake that it did not, or no longer the one that it did. */
  readonly onMoved: () => void
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

async function end(
  deps: ActivationDeps,
  state: GraphState,
  activation: Activation,
  signal: AbortSignal,
): Promise<ActivationEnd> {
  const { executor, renderPrompt = renderOperatorPrompt } = deps.options
  const handoffs = await hydrateInputHandoffs(deps.store, state, activation.work)
  await executor.provision?.(activation.work, activation.operator)
  signal.throwIfAborted()
  // A stop that came while the inputs were read: the run is never begun.
  const work = (await deps.store.readGraph(activation.graphId))?.works.get(activation.work.workId)
  if (work !== undefined && TERMINAL_WORK_STATUSES.has(work.status))
    return { outcome: 'cancelled', reason: work.reason ?? `the work is ${work.status}` }
  await executor.start(activation, renderPrompt(activation.work, handoffs))
  return executor.observe(activation, signal)
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
  let ended: ActivationEnd
  try {
    ended = await end(deps, state, activation, signal)
  } catch (error) {
    if (signal.aborted) return
    ended = { outcome: 'failed', reason: error instanceof Error ? error.message : String(error) }
  }
  if (signal.aborted) return
  if (ended.outcome === 'interrupted') {
    const reason = ended.reason ?? 'the run was lost'
    if (activation.work.replay !== 'confirm' && attempt < deps.maxAttempts) {
      await store.retryActivation(graphId, claim.claimId, attempt, reason)
      return
    }
    ended = { outcome: 'failed', reason: `${reason} (attempt ${attempt} of ${deps.maxAttempts})` }
  }
  await store.settleActivation({
    graphId,
    claimId: claim.claimId,
    attempt,
    outcome: ended.outcome === 'interrupted' ? 'failed' : ended.outcome,
    ...(ended.conclusion === undefined ? {} : { conclusion: ended.conclusion }),
    ...(ended.reason === undefined ? {} : { reason: ended.reason }),
  })
}
