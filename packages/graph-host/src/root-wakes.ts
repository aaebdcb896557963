/** Delivers wakes: one run of the root session each, once the root is idle. */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { SessionId } from '@deepseek-ai/dsh-session'
import type { AgentLoopHost } from 'dsh-agent-loop-host'
import type { WakeDelivery, WakeSender } from 'dsh-tool-graph'
import { GraphHostError } from './errors.ts'
import { PLUGIN_NAME, runEnd } from './executor.ts'

function isIdle(agent: Agent): boolean {
  return agent.status === 'idle' && !agent.inbox.hasPending
}

/**
 * Resolves when the root has no turn and nothing in its inbox. Not `whenIdle`: that also waits for
 * maintenance, and an idle root that expects a wake is held by maintenance.
 */
function whenRootIdle(ctx: Context, rootSessionId: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const idle = () => {
      const agent = ctx.agents.get(SessionId(rootSessionId))
      return agent === undefined || isIdle(agent)
    }
    if (idle()) return resolve()
    const settle = (end: () => void) => {
      offStatus()
      offDisposed()
      signal.removeEventListener('abort', onAbort)
      end()
    }
    const look = () => {
      if (idle()) settle(resolve)
    }
    const onAbort = () => settle(() => reject(signal.reason as Error))
    const offStatus = ctx.on('agent/status', look)
    const offDisposed = ctx.on('agent/disposed', look)
    signal.addEventListener('abort', onAbort, { once: true })
  })
}

export function createWakeSender(ctx: Context, loop: AgentLoopHost, rootSessionId: string): WakeSender {
  return {
    async deliver(delivery: WakeDelivery, signal: AbortSignal) {
      const runId = `run_${delivery.attemptId}`
      // A run of this attempt may stand from before a crash; then the root has its message already.
      if ((await loop.read(runId)) === undefined) {
        await whenRootIdle(ctx, rootSessionId, signal)
        if (!(await delivery.stillWanted())) return 'superseded'
        await loop.accept({
          sessionId: rootSessionId,
          message: delivery.message,
          idempotencyKey: delivery.attemptId,
          runId,
          provenance: { kind: 'plugin', plugin: PLUGIN_NAME, summary: 'The agent graph changed' },
        })
      }
      const outcome = await runEnd(loop, runId, signal)
      // A person who stopped the turn has seen it: nothing is woken again for the same change.
      if (outcome.state === 'ok' || outcome.state === 'aborted') return 'delivered'
      throw new GraphHostError(
        'wake-failed',
        `the wake turn of ${rootSessionId} ended ${outcome.state}${outcome.error === undefined ? '' : ` (${outcome.error.code}: ${outcome.error.message})`}`,
      )
    },
  }
}
