/**
 * Keeps a headless process from ending under a root that yielded. A headless run is over when its
 * session is idle; maintenance, taken in the very moment of becoming idle, keeps it from being so
 * until the wake stands in the inbox or none is expected any more.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { DrivingAgentGraphController } from 'dsh-tool-graph'
import { textOfError } from './errors.ts'

/** After a person's stop nothing goes on by itself, so nothing is waited for either. */
export function wasStopped({ session }: Agent): boolean {
  const end = session.events.findLast(({ type }) => type === 'turn/end')
  return end?.type === 'turn/end' && end.data.reason.kind === 'aborted'
}

export interface HoldDeps {
  readonly ctx: Context
  /** The controller of a root, if it has one already. */
  readonly controllerOf: (sessionId: string) => DrivingAgentGraphController | undefined
  readonly enabled: () => boolean
}

export function holdIdleRoots({ ctx, controllerOf, enabled }: HoldDeps): void {
  const holds = new Set<() => void>()

  const untilReleased = (agent: Agent, controller: DrivingAgentGraphController, signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      const release = () => {
        holds.delete(release)
        offInserted()
        unwatch()
        signal.removeEventListener('abort', release)
        resolve()
      }
      const look = () => {
        if (!controller.expectsWake()) release()
      }
      const offInserted = ctx.on('agent/inbox/inserted', (payload) => {
        if (payload.agent === agent) release()
      })
      const unwatch = controller.watch(look)
      signal.addEventListener('abort', release, { once: true })
      holds.add(release)
    })

  ctx.on('agent/status', async ({ agent, status }) => {
    if (status !== 'idle' || agent.inbox.hasPending || !enabled() || wasStopped(agent)) return
    const controller = controllerOf(agent.id)
    if (controller?.expectsWake() !== true) return
    try {
      await agent.runMaintenance((signal) => untilReleased(agent, controller, signal))
    } catch (error) {
      ctx
        .logger('dsh-graph-host')
        .warn('%s', `an idle root that expects a wake is not held: ${textOfError(error)}`)
    }
  })

  ctx.effect(() => () => holds.forEach((release) => release()), 'holds of idle roots')
}
