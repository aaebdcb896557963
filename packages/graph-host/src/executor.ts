/**
 * Runs activations as runs of the agent-loop host: the run id is the activation's, over restarts.
 *
 * Owns: the memory of stops, so that one that comes before its run is accepted is not lost. Does not
 * own: the sessions, nor anything durable.
 */
import type { AgentLoopHost, RunOutcome } from 'dsh-agent-loop-host'
import { TERMINAL_RUN_STATES } from 'dsh-agent-loop-host'
import type { Activation, ActivationEnd, GraphExecutor } from 'dsh-tool-graph'
import type { AttemptGuard } from './attempt-guard.ts'
import { GraphHostError } from './errors.ts'
import { isLoopClosing, runEnd, untilAborted } from './loop-runs.ts'
import type { OperatorSessions } from './operator-sessions.ts'

export const PLUGIN_NAME = 'dsh-graph-host'
/**
 * Said, because a session that is not live yet does not show that it is an operator's: on the lane of
 * roots and persons, operators would hold up the very wakes that they cause.
 */
export const OPERATOR_LANE = 'subagent'
/** A reason of a stop may be longer than the cause of an abort. */
const CAUSE_CHARS = 1_000

function endOf(outcome: RunOutcome): ActivationEnd {
  const reason =
    outcome.error === undefined ? outcome.state : `${outcome.error.code}: ${outcome.error.message}`
  const usage = outcome.usage === undefined ? {} : { usage: outcome.usage }
  switch (outcome.state) {
    case 'ok':
      return { outcome: 'completed', conclusion: outcome.reply ?? '', ...usage }
    case 'aborted':
      return { outcome: 'aborted', reason, ...usage }
    case 'interrupted':
      return { outcome: 'interrupted', reason }
    default:
      return { outcome: 'failed', reason, ...usage }
  }
}

export interface ExecutorDeps {
  readonly loop: AgentLoopHost
  readonly operators: OperatorSessions
  readonly guard: AttemptGuard
  readonly timeoutMs: number
}

class Executor implements GraphExecutor {
  private readonly deps: ExecutorDeps
  /** Why a run is not wanted any more, by run id; kept until the run has ended. */
  private readonly stops = new Map<string, string>()

  constructor(deps: ExecutorDeps) {
    this.deps = deps
  }

  async start(activation: Activation, prompt: string): Promise<void> {
    const { runId } = activation
    try {
      await this.deps.operators.seat(activation)
      await this.begin(activation, prompt)
      const cause = this.stops.get(runId)
      if (cause !== undefined) await this.deps.loop.abort({ runId, cause })
    } catch (error) {
      // The observation that follows ends with the controller; the next process starts the run.
      if (isLoopClosing(error)) return
      this.finish(activation)
      throw asRefusal(error)
    }
  }

  async observe(activation: Activation, signal: AbortSignal): Promise<ActivationEnd> {
    const { guard, loop } = this.deps
    const { runId } = activation
    const reason = this.stops.get(runId)
    try {
      if (reason !== undefined && (await loop.read(runId)) === undefined)
        return { outcome: 'cancelled', reason }
      const outcome = await runEnd(loop, runId, signal)
      const ended = endOf(outcome)
      // What a stop ended is not judged by how far it came.
      return await this.withWorkspace(
        activation,
        this.stops.has(runId) ? ended : guard.endOf(runId, outcome, ended),
      )
    } catch (error) {
      // A host that drains accepted no run for this claim; the next process does.
      if (isLoopClosing(error) || loop.isDraining()) await untilAborted(signal)
      throw error
    } finally {
      // Where only the watching ended, the run goes on and keeps its session.
      if (!signal.aborted) this.finish(activation)
    }
  }

  async cancel({ operator, runId }: Activation, reason: string): Promise<void> {
    const cause = reason.slice(0, CAUSE_CHARS).toWellFormed()
    // Remembered first: the run may be about to be accepted.
    this.stops.set(runId, cause)
    const { loop, operators } = this.deps
    await loop.abort({ runId, cause })
    operators.abandon(operator.targetSessionId, runId)
    // A run that a crash left open would begin anew with the next one of its session.
    const run = await loop.read(runId)
    if (run !== undefined && !TERMINAL_RUN_STATES.has(run.state)) await runEnd(loop, runId)
  }

  /** What goes on in another attempt goes on in the same workspace. */
  private async withWorkspace(activation: Activation, end: ActivationEnd): Promise<ActivationEnd> {
    if (end.outcome === 'interrupted' || end.outcome === 'needs-person') return end
    const artifacts = await this.deps.operators.releaseWorktree(activation)
    return artifacts.length === 0 ? end : { ...end, artifacts: [...(end.artifacts ?? []), ...artifacts] }
  }

  /** Makes the run durable, unless it is already or a stop came first. */
  private async begin(activation: Activation, prompt: string): Promise<void> {
    const { loop, operators, timeoutMs } = this.deps
    const { runId, claim, operator, attempt, work } = activation
    if (this.stops.has(runId)) return
    if (isFirstRun(activation)) operators.expectNew(operator.targetSessionId)
    try {
      // Not looked for first: that costs a look at every session. What is there is answered all the same.
      await loop.accept({
        sessionId: operator.targetSessionId,
        lane: OPERATOR_LANE,
        message: prompt,
        idempotencyKey: `${claim.claimId}#${attempt}`,
        runId,
        timeoutMs,
        provenance: { kind: 'plugin', plugin: PLUGIN_NAME, summary: `Work ${work.workId}` },
      })
    } catch (error) {
      // An earlier process may have sent other words, or set another deadline: its run goes on.
      const known = isConflict(error) ? await loop.read(runId) : undefined
      if (known === undefined) throw error
      if (!TERMINAL_RUN_STATES.has(known.state)) await operators.open(operator.targetSessionId)
    }
  }

  private finish({ operator, runId }: Activation): void {
    this.stops.delete(runId)
    this.deps.guard.forget(runId)
    this.deps.operators.leave(operator.targetSessionId, runId)
  }
}

/** Nothing was ever sent to its operator: not by this process, nor by one that is gone. */
function isFirstRun({ attempt, claim, operator, work }: Activation): boolean {
  const isNew = claim.admissionStatus === 'claimed' && attempt === 1
  return isNew && operator.workId === work.workId && work.retries === 0
}

function isConflict(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'conflict'
}

/** What the loop refuses for the request itself is refused again, however often it is asked. */
function asRefusal(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error
  const { code } = error
  if (code !== 'invalid' && code !== 'conflict' && code !== 'quarantined') return error
  return new GraphHostError('run-refused', error.message, { cause: error })
}

export function createExecutor(deps: ExecutorDeps): GraphExecutor {
  return new Executor(deps)
}
