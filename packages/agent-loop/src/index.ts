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
export { Chunker, type Chunk } from './replies/chunker.ts'
export { deliverReplies, type DeliverOptions } from './replies/deliver-replies.ts'
export { shapeReplies } from './replies/shape-replies.ts'
export type {
  BreakPreference,
  ChunkLimits,
  MessagingTool,
  PayloadKind,
  Reply,
  ReplyOptions,
  ReplyPayload,
} from './replies/types.ts'
export type {
  AgentEvent,
  AssistantData,
  CompactionData,
  DeliveryReceipt,
  EventBlock,
  GapData,
  LifecycleData,
  RunEvent,
  StreamName,
  SubscribeRequest,
  ThinkingData,
  ToolData,
} from './streams/types.ts'
export type { FinishedCall } from './streams/turn-translator.ts'
export { doorToken } from './doors/door-token.ts'
export { lanesLines, type LanesLook } from './doors/lanes-text.ts'
export { agentOperations, type AgentOperations, type Operation } from './doors/operations.ts'
export { readStoredEvents, readStoredRun } from './stored-runs.ts'
export { AgentLoopError, type AgentLoopErrorCode } from './errors.ts'
export type {
  DropPolicy,
  QueueDoor,
  QueuedItem,
  QueueMode,
  QueueSettings,
  RunPriority,
  SessionDefaults,
  SessionSettings,
} from './queue-types.ts'
export { resumeSession } from './resume-session.ts'
export {
  TERMINAL_RUN_STATES,
  type AcceptedRun,
  type AgentLoopHost,
  type LaneMetrics,
  type LaneSnapshot,
  type ObservedTurn,
  type PromptReport,
  type RunAttachment,
  type RunError,
  type RunListener,
  type RunModel,
  type RunOutcome,
  type RunPayload,
  type RunProvenance,
  type RunRequest,
  type RunResult,
  type RunState,
  type RunUsage,
  type RunView,
  type SessionOpener,
  type ThinkingLevel,
  type VerboseLevel,
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
  let mounting: Promise<unknown> | undefined
  const mount = async (live: Context): Promise<void> => {
    mounting = mountHost(live, config)
    await mounting
  }
  await mountOnce(ctx, PACKAGE, ['agents', 'sessions', 'durableLog'], mount)
  await holdBoot(ctx, () => mounting)
}
