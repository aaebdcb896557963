/**
 * Keeps a headless process from ending under a root that yielded. A headless run is over when its
 * session is idle; maintenance, taken in the very moment of becoming idle, keeps it from being so
 * until the wake stands in the inbox or none is expected any more.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { DrivingAgentGraphController } from 'dsh-tool-graph'

export interface HoldDeps {
  readonly ctx: Context
  /** The controller of a root, if it has one already. */
  readonly controllerOf: (sessionId: string) => DrivingAgentGraphController | undefined
  /** Calls back after each commit to a graph. Returns the undo. */
  readonly onCommitted: (listener: () => void) => () => void
  readonly enabled: () => boolean
}

export function holdIdleRoots({ ctx, controllerOf, onCommitted, enabled }: HoldDeps): void {
  const holds = new Set<() => void>()

  const hold = (agent: Agent, controller: DrivingAgentGraphController) =>
    agent.runMaintenance(
      (signal) =>
        new Promise<void>((resolve) => {
          const release = () => {
            holds.delete(release)
            offInserted()
            offCommitted()
            signal.removeEventListener('abort', release)
            resolve()
          }
          const offInserted = ctx.on('agent/inbox/inserted', (payload) => {
            if (payload.agent === agent) release()
          })
          // What a commit ends is told a moment later, when the delivery that made it has returned.
          const offCommitted = onCommitted(() => setImmediate(() => !controller.expectsWake() && release()))
          signal.addEventListener('abort', release, { once: true })
          holds.add(release)
        }),
    )

  ctx.on('agent/status', ({ agent, status }) => {
    if (status !== 'idle' || agent.inbox.hasPending || !enabled()) return
    const controller = controllerOf(agent.id)
    if (controller?.expectsWake() !== true) return
    hold(agent, controller).catch((error: unknown) =>
      ctx.logger('dsh-graph-host').warn('hold of an idle root:', error),
    )
  })

  ctx.effect(() => () => holds.forEach((release) => release()), 'holds of idle roots')
}
