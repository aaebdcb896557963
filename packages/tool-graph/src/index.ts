/**
 * dsh-tool-graph: the model's door to an agent graph. Three tools and one prompt section for root
 * sessions, and the controller behind them. It provides no service; a host provides
 * `agentGraphController`, and without one the tools answer `[agent-graph-unavailable]`.
 */
import type { Context } from '@deepseek-ai/cordis'
import { scopeOf } from '@deepseek-ai/dsh-scope'
import z from '@deepseek-ai/schemastery'
import { mountOnce, warnWhenMissing } from '@dsh-graph/plugin-mount'
import { installForRoots, keepYieldConclusive } from './install.ts'
import { SupervisionSchema, type SupervisionSettings } from './supervision.ts'
import { AGENT_GRAPH_CONTROLLER_SERVICE } from './types.ts'

export { cleanAddWorkInput, cleanUpdateInput } from './clean-input.ts'
export { compileAgentGraphScheduleUpdate } from './compile-update.ts'
export { createAgentGraphController, type ViewAnswer } from './controller.ts'
export { AgentGraphError, type AgentGraphErrorCode } from './errors.ts'
export { hydrateInputHandoffs, renderOperatorPrompt } from './handoff.ts'
export type { GraphLimits } from './limits.ts'
export { resolveController } from './resolve-controller.ts'
export { isRootAgent, lastTurn } from './root-session.ts'
export { GRAPH_TOOLS, UPDATE_TOOL, VIEW_TOOL, YIELD_TOOL } from './schemas.ts'
export { buildGraphModePromptSection, GRAPH_SECTION_NAME, GRAPH_SECTION_ORDER } from './section.ts'
export { supervises } from './install.ts'
export {
  recordSupervision,
  SUPERVISION_STREAM,
  SupervisionSchema,
  switchSupervision,
  type SupervisionSettings,
  type SwitchLog,
} from './supervision.ts'
export { agentGraphTools, registerAgentGraphTools } from './tools.ts'
export { AGENT_GRAPH_CONTROLLER_SERVICE } from './types.ts'
export type {
  Activation,
  ActivationEnd,
  AddWorkInput,
  AgentGraphController,
  AgentGraphControllers,
  CatalogEntry,
  ControllerConfig,
  ControllerOptions,
  DrivingAgentGraphController,
  GraphCall,
  GraphExecutor,
  Handoff,
  LeaseSource,
  OperatorCatalog,
  RootLease,
  UpdateAnswer,
  UpdateInput,
  ViewInput,
  WakeDelivery,
  WakeSender,
  YieldAnswer,
  YieldInput,
} from './types.ts'
export type { GraphView, UnchangedView } from './view.ts'
export type { ResultView, WorkView } from './work-view.ts'

export const name = 'tool-graph'
export const inject = ['agents', 'systemPrompt', 'tools']

export interface Config extends Partial<SupervisionSettings> {
  /** Off: neither tools nor section are installed, whatever anybody chooses. */
  readonly enabled?: boolean
}

export const Config: z<Config> = z.object({
  enabled: z.boolean().default(true).description('Give root sessions the agent graph tools.'),
  ...SupervisionSchema.dict,
}) as z<Config>

/**
 * On the host plane: tools and section for each root session, once per Cordis root. In the scope of
 * a preset or an agent: for the root sessions of that scope, once for each such scope.
 */
export async function apply(ctx: Context, config: Config): Promise<void> {
  const { enabled = true, sessions = 'all', presets = [] } = config
  if (!enabled) return
  const install = async (live: Context): Promise<void> => {
    keepYieldConclusive(live)
    await installForRoots(live, { sessions, presets })
  }
  if (scopeOf(ctx) !== undefined) return install(ctx)
  warnWhenMissing(
    ctx,
    'dsh-tool-graph',
    [AGENT_GRAPH_CONTROLLER_SERVICE],
    'the agent graph tools answer [agent-graph-unavailable]',
  )
  await mountOnce(ctx, 'dsh-tool-graph', inject, install)
}

/**
 * The plugin as one object, for hosts that import it by default and mount it by hand. The loader
 * prefers a default export to the named ones, so this has all of them: with it, too, a row keeps its
 * injections and its configuration.
 */
export default { name, inject, Config, apply }
