/** Runs activations as runs of the agent-loop host: the run id is the activation's, over restarts. */
import type { AgentLoopHost, RunOutcome } from 'dsh-agent-loop-host'
import { TERMINAL_RUN_STATES } from 'dsh-agent-loop-host'
import type { Activation, ActivationEnd, GraphExecutor } from 'dsh-tool-graph'
import type { OperatorSessions } from './operator-sessions.ts'

/** Window of one wait; waiting is repeated until the run has ended. */
const WAIT_WINDOW_MS = 600_000
export const PLUGIN_NAME = 'dsh-graph-host'

/** Resolves with the end of a run. */
export async function runEnd(loop: AgentLoopHost, runId: string, signal: AbortSignal): Promise<RunOutcome> {
  for (;;) {
    const outcome = await loop.wait({ runId, timeoutMs: WAIT_WINDOW_MS, signal })
    signal.throwIfAborted()
    if (outcome.status !== 'timeout') return outcome
  }
}

function endOf(outcome: RunOutcome): ActivationEnd {
  const reason =
    outcome.error === undefined ? outcome.state : `${outcome.error.code}: ${outcome.error.message}`
  switch (outcome.state) {
    case 'ok':
      return { outcome: 'completed', conclusion: outcome.reply ?? '' }
    case 'aborted':
      return { outcome: 'aborted', reason }
    case 'interrupted':
      return { outcome: 'interrupted', reason }
    default:
      return { outcome: 'failed', reason }
  }
}

export interface ExecutorDeps {
  readonly loop: AgentLoopHost
  readonly operators: OperatorSessions
  readonly timeoutMs: number
}

export function createExecutor({ loop, operators, timeoutMs }: ExecutorDeps): GraphExecutor {
  return {
    async start(activation: Activation, prompt: string) {
      operators.seat(activation)
      const { runId, claim, operator, attempt, work } = activation
      const known = await loop.read(runId)
      if (known === undefined) {
        await loop.accept({
          sessionId: operator.targetSessionId,
          message: prompt,
          idempotencyKey: `${claim.claimId}#${attempt}`,
          runId,
          timeoutMs,
          provenance: { kind: 'plugin', plugin: PLUGIN_NAME, summary: `Work ${work.workId}` },
        })
      } else if (!TERMINAL_RUN_STATES.has(known.state)) {
        // Accepted by an earlier process: its lane goes on once the session is live.
        await operators.open(operator.targetSessionId)
      }
    },

    async observe(activation, signal) {
      const outcome = await runEnd(loop, activation.runId, signal)
      await operators.release(activation.operator.targetSessionId)
      return endOf(outcome)
    },

    async cancel(activation, reason) {
      await loop.abort({ runId: activation.runId, cause: reason })
    },
  }
}
