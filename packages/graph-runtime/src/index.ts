/**
 * Graphs as tools of the DeepSeek Harness: an author defines a LangGraph graph with `defineGraph`,
 * and the plugin mounts it, compiles it at its first call, checks what goes in and what comes out.
 * Importing this package loads no LangChain module.
 */
import type { Context } from '@deepseek-ai/cordis'
import z from '@deepseek-ai/schemastery'
import { mountOnce } from '@dsh-graph/plugin-mount'
import { autoMount } from './auto-mount.ts'
import { registerCommand } from './command.ts'
import { GraphMounts } from './mounts.ts'
import { GraphTools } from './registry.ts'

export { createGraphDefinition, defineGraph } from './definition.ts'
export {
  GraphDefinitionError,
  GraphDuplicateError,
  GraphError,
  GraphInterruptedError,
  GraphOutputError,
  GraphResultError,
  GraphThreadError,
  GraphTimeoutError,
  GraphUnmountedError,
  GraphValidationError,
  type GraphErrorCode,
  type GraphInterrupt,
} from './errors.ts'
export type {
  GraphToolsExecution,
  GraphToolsOutcome,
  GraphToolsPostDecision,
  GraphToolsPreDecision,
} from './events.ts'
export type { GraphEdgeView, GraphNodeView, GraphPicture } from './picture-types.ts'
export type { GraphProgress } from './progress.ts'
export type { GraphTools } from './registry.ts'
export { GraphRoutingAgent } from './router.ts'
export {
  GraphRoutingConfigError,
  GraphRoutingError,
  GraphRoutingModelError,
  type GraphRoutingTrace,
} from './routing-errors.ts'
export type {
  GraphRoutingAttempt,
  GraphRoutingConfig,
  GraphRoutingFilter,
  GraphRoutingHistory,
  GraphRoutingOutcome,
  GraphRoutingRejection,
  GraphRoutingRepair,
  GraphRoutingRequest,
} from './routing-types.ts'
export { createGraphTool } from './tool.ts'
export type {
  CallingAgent,
  GraphBuilder,
  GraphCall,
  GraphCallContext,
  GraphDefinition,
  GraphDefinitionOptions,
  GraphEntry,
  GraphInvocable,
  GraphLike,
  GraphOutput,
  GraphParameterPick,
  GraphParametersOption,
  GraphSettings,
  GraphShape,
  GraphStateKey,
  GraphThreadId,
  GraphToolOptions,
  GraphValidate,
  GraphValidationContext,
  GraphVerdict,
  PublishedGraphDefinition,
} from './types.ts'

/** What `ctx.graphTools` offers. */
export type GraphToolRegistry = Pick<GraphTools, keyof GraphTools>

declare module '@deepseek-ai/cordis' {
  interface Context {
    /** The registry of graphs; there while the plugin is live. */
    graphTools: GraphToolRegistry
  }
}

export const name = 'graph-runtime'

export const inject = ['tools']

/** The row needs no configuration. */
export const Config = z.object({})

export function apply(ctx: Context): Promise<void> {
  return mountOnce(ctx, 'dsh-graph-runtime', ['tools'], (live) => {
    const mounts = new GraphMounts(live)
    const graphs = new GraphTools(mounts)
    live.provide('graphTools', graphs)
    live.effect(() => autoMount(live, mounts), 'graphTools: published definitions')
    registerCommand(live, graphs)
  })
}
