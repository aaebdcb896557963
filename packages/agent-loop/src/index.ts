/**
 * dsh-agent-loop-host: runs of agents that are accepted durably, run once and in order, and can be
 * asked for at any time. The service is `ctx.agentLoopHost`.
 */
import type { Context } from '@deepseek-ai/cordis'
import { mountOnce, warnWhenMissing } from '@dsh-graph/plugin-mount'
import type { Config } from './config.ts'
import { holdBoot } from './hold-boot.ts'
import { mountHost } from './mount-host.ts'
import type { AgentLoopHost } from './types.ts'

export { Config } from './config.ts'
export * from './hooks/index.ts'
export { AgentLoopError, type AgentLoopErrorCode } from './errors.ts'
export { resumeSession } from './resume-session.ts'
export {
  TERMINAL_RUN_STATES,
  type AcceptedRun,
  type AgentLoopHost,
  type LaneSnapshot,
  type RunError,
  type RunOutcome,
  type RunProvenance,
  type RunRequest,
  type RunState,
  type RunUsage,
  type RunView,
  type SessionOpener,
} from './types.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    agentLoopHost: AgentLoopHost
  }
}

const PACKAGE = 'dsh-agent-loop-host'

export const name = 'agent-loop-host'

export const inject = ['agents', 'sessions']

export async function apply(ctx: Context, config: Config): Promise<void> {
  warnWhenMissing(ctx, PACKAGE, ['durableLog'], 'runs are neither accepted nor recovered')
  let mounting: Promise<void> | undefined
  const mount = (live: Context): Promise<void> => (mounting = mountHost(live, config))
  await mountOnce(ctx, PACKAGE, ['agents', 'sessions', 'durableLog'], mount)
  await holdBoot(ctx, () => mounting)
}
