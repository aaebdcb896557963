/** Delivers wakes: one run of the root session each, once the root is idle. */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { SessionId } from '@deepseek-ai/dsh-session'
import type { AgentLoopHost } from 'dsh-agent-loop-host'
import type { WakeDelivery, WakeSender } from 'dsh-tool-graph'
import { GraphHostError } from './errors.ts'
import { PLUGIN_NAME } from './executor.ts'
import { wasStopped } from './hold-idle-root.ts'
import { isLoopClosing, runEnd, untilAborted } from './loop-runs.ts'
import { followQuestions } from './root-questions.ts'

/** A root's turn takes as long as it takes: the longest deadline that a run may have, 24 days. */
const NO_DEADLINE_MS = 2_147_483_647

/**
 * The root has no turn, and nothing waits in its inbox for a person. Not `whenIdle`: that also waits for
 * maintenance, and an idle root that expects a wake is held by maintenance. What a turn that failed, or a
 * crash, left in the inbox runs before the wake; what a person's stop left there rests.
 */
function isIdle(agent: Agent): boolean {
  return agent.status === 'idle' && !(agent.inbox.hasPending && wasStopped(agent))
}

interface WakeSenderDeps {
  readonly ctx: Context
  readonly loop: AgentLoopHost
  readonly rootSessionId: string
}

/** Resolves when the root fulfils the condition, now or after a change of its status, or is gone. */
function whenRoot(
  { ctx, rootSessionId }: WakeSenderDeps,
  condition: (root: Agent) => boolean,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const holds = () => {
      const root = ctx.agents.get(SessionId(rootSessionId))
      return root === undefined || condition(root)
    }
    if (holds()) return resolve()
    const settle = (end: () => void) => {
      offStatus()
      offDisposed()
      signal.removeEventListener('abort', onAbort)
      end()
    }
    const look = () => {
      if (holds()) settle(resolve)
    }
    const onAbort = () => settle(() => reject(signal.reason as Error))
    const offStatus = ctx.on('agent/status', look)
    const offDisposed = ctx.on('agent/disposed', look)
    signal.addEventListener('abort', onAbort, { once: true })
  })
}

class RootWakes implements WakeSender {
  private readonly deps: WakeSenderDeps

  constructor(deps: WakeSenderDeps) {
    this.deps = deps
  }

  async deliver(delivery: WakeDelivery, signal: AbortSignal): Promise<'delivered' | 'superseded'> {
    const endParking = this.park(delivery)
    try {
      return await this.send(delivery, signal)
    } catch (error) {
      if (isLoopClosing(error)) await untilAborted(signal)
      throw error
    } finally {
      await endParking()
    }
  }

  /** While the root's turn, of this wake or before it, waits for its person, the wake does as well. */
  private park({ goOn, park }: WakeDelivery): () => Promise<void> {
    let moves = Promise.resolve()
    const unfollow = followQuestions(this.deps.ctx, this.deps.rootSessionId, {
      onAsked: (question) => (moves = moves.then(() => park(question))),
      onAnswered: () => (moves = moves.then(() => goOn())),
    })
    return () => {
      unfollow()
      return moves
    }
  }

  private async send(delivery: WakeDelivery, signal: AbortSignal): Promise<'delivered' | 'superseded'> {
    const { loop, rootSessionId } = this.deps
    const runId = `run_${delivery.attemptId}`
    // A run of this attempt may stand from before a crash; then the root has its message already.
    if (!delivery.isResumed || (await loop.read(runId)) === undefined) {
      await whenRoot(this.deps, isIdle, signal)
      if (!(await delivery.stillWanted())) return 'superseded'
      await loop.accept({
        sessionId: rootSessionId,
        message: delivery.message,
        idempotencyKey: delivery.attemptId,
        runId,
        timeoutMs: NO_DEADLINE_MS,
        provenance: { kind: 'plugin', plugin: PLUGIN_NAME, summary: 'The agent graph changed' },
      })
    }
    const outcome = await runEnd(loop, runId, signal)
    if (outcome.state === 'ok') return 'delivered'
    if (outcome.state === 'aborted') {
      // A person who stopped the turn has seen it: nothing is woken again for the same change.
      if ((await loop.read(runId))?.turn !== undefined) return 'delivered'
      // Taken out of the inbox unread. After a stop nothing goes on by itself: the next turn decides.
      await this.nextTurn(signal)
      if (!(await delivery.stillWanted())) return 'superseded'
    }
    throw new GraphHostError(
      'wake-failed',
      `the wake turn of ${rootSessionId} ended ${outcome.state}${outcome.error === undefined ? '' : ` (${outcome.error.code}: ${outcome.error.message})`}`,
    )
  }

  /** Resolves when the root had a turn since its inbox was emptied. One that a stop is closing yet is none. */
  private async nextTurn(signal: AbortSignal): Promise<void> {
    const { ctx, rootSessionId } = this.deps
    const isRunning = (root: Agent) => root.status === 'running'
    const rootNow = () => ctx.agents.get(SessionId(rootSessionId))
    const before = rootNow()
    let isOver = false
    if (before !== undefined && isRunning(before)) {
      await whenRoot(this.deps, (root) => !isRunning(root), signal)
      const root = rootNow()
      isOver = root === undefined || !wasStopped(root)
    }
    if (!isOver) await whenRoot(this.deps, isRunning, signal)
    await whenRoot(this.deps, isIdle, signal)
  }
}

export function createWakeSender(deps: WakeSenderDeps): WakeSender {
  return new RootWakes(deps)
}
