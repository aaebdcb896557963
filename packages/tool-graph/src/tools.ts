/** The three tools as DSH wants them: thin bodies over the controller of the calling session. */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import {
  parameterSchemaSpecToJsonSchema,
  type JsonValue,
  type ParameterSchemaSpec,
  type ToolDefinition,
  type ToolRunContext,
} from '@deepseek-ai/dsh-tools'
import { DurableLogError } from 'dsh-durable-log'
import { GraphControlError } from 'dsh-graph-control'
import type { ViewAnswer } from './controller.ts'
import { AgentGraphError } from './errors.ts'
import { parseUpdateInput, parseViewInput, parseYieldInput } from './parse-input.ts'
import { presentUpdate, presentView, presentYield } from './presentation.ts'
import { renderAnswer, renderUpdate, renderYield } from './render.ts'
import { resolveController } from './resolve-controller.ts'
import { isRootAgent, lastTurn } from './root-session.ts'
import {
  UPDATE_DESCRIPTION,
  UPDATE_PARAMETERS,
  UPDATE_TOOL,
  VIEW_DESCRIPTION,
  VIEW_PARAMETERS,
  VIEW_TOOL,
  YIELD_DESCRIPTION,
  YIELD_PARAMETERS,
  YIELD_TOOL,
} from './schemas.ts'
import type { AgentGraphController, GraphCall, UpdateAnswer, YieldAnswer } from './types.ts'
import { TurnLoops } from './turn-loops.ts'
import type { GraphView } from './view.ts'

/** DSH has no flag for "direct calls of the root only", so each body begins with this. */
function admit(
  ctx: Context,
  tool: string,
  exec: ToolRunContext,
): { agent: Agent; call: GraphCall; controller: AgentGraphController } {
  const { agent } = exec
  if (exec.parent !== undefined)
    throw new AgentGraphError('nested_call', `${tool} is called directly, not from code`)
  if (agent === undefined || !isRootAgent(agent))
    throw new AgentGraphError(
      'not_root_session',
      `${tool} belongs to the root session; report to the session that started you`,
    )
  const call = { sessionId: agent.id, turn: lastTurn(agent), toolCallId: exec.callId }
  return { agent, call, controller: resolveController(ctx, agent.id) }
}

interface ToolParts<A> {
  readonly name: string
  readonly description: string
  readonly parameters: ParameterSchemaSpec
  readonly execute: (args: unknown, exec: ToolRunContext) => Promise<A>
  readonly render: (value: A) => string
  readonly present: (value: A) => JsonValue
}

function toolOf<A>(parts: ToolParts<A>): ToolDefinition {
  return {
    name: parts.name,
    description: parts.description,
    parameters: { ...parameterSchemaSpecToJsonSchema(parts.parameters) },
    output: {
      // Any JSON: the shapes are documented types, and a graph's text is not the tool's to restrict.
      schema: {},
      render: (_args: unknown, value: JsonValue) => [{ type: 'text', text: parts.render(value as A) }],
      presentationMeta: (_args: unknown, value: JsonValue) => parts.present(value as A),
    },
    execute: (args, exec) => parts.execute(args, exec).catch(retell),
  }
}

/** The model sees the text only, so the code of a refusal by store or log stands in it, too. */
function retell(error: unknown): never {
  const told = (code: string, message: string) => `[${code}] ${message}`
  if (error instanceof GraphControlError)
    throw new GraphControlError(error.code, told(error.code, error.message), { cause: error })
  if (error instanceof DurableLogError)
    throw new DurableLogError(error.code, told(error.code, error.message), { cause: error })
  throw error
}

type Body<A> = (args: unknown, exec: ToolRunContext) => Promise<A>

/** Counts the calls that had no effect, those whose arguments are refused included. */
function counted<A>(loops: TurnLoops, body: Body<A>, hadEffect: (answer: A) => boolean): Body<A> {
  return (args, exec) => {
    const { agent } = exec
    return agent === undefined
      ? body(args, exec)
      : loops.attempt(agent, lastTurn(agent), { doing: () => body(args, exec), hadEffect })
  }
}

/** Counts the refusals of a view. */
function looked<A>(loops: TurnLoops, body: Body<A>): Body<A> {
  return (args, exec) => {
    const { agent } = exec
    return agent === undefined ? body(args, exec) : loops.look(agent, lastTurn(agent), () => body(args, exec))
  }
}

/** Builds the tools. Each looks its controller up through `ctx` when it is called. */
export function agentGraphTools(ctx: Context): readonly ToolDefinition[] {
  const loops = new TurnLoops()
  return [
    toolOf<ViewAnswer>({
      name: VIEW_TOOL,
      description: VIEW_DESCRIPTION,
      parameters: VIEW_PARAMETERS,
      execute: looked(loops, async (args, exec) => {
        const { agent, call, controller } = admit(ctx, VIEW_TOOL, exec)
        const input = parseViewInput(args)
        const advice = loops.view(agent, call.turn, input)
        const answer = (await controller.view(call, input)) as unknown as ViewAnswer
        return advice === undefined ? answer : { ...answer, advice }
      }),
      render: (view) => [renderAnswer(view), ...(view.advice === undefined ? [] : [view.advice])].join('\n'),
      present: presentView,
    }),
    toolOf<UpdateAnswer>({
      name: UPDATE_TOOL,
      description: UPDATE_DESCRIPTION,
      parameters: UPDATE_PARAMETERS,
      execute: counted(
        loops,
        async (args, exec) => {
          const { call, controller } = admit(ctx, UPDATE_TOOL, exec)
          return controller.update(call, parseUpdateInput(args))
        },
        (answer) => answer.update.created,
      ),
      render: (answer) => renderUpdate(answer, answer.graph as unknown as GraphView),
      present: presentUpdate,
    }),
    toolOf<YieldAnswer>({
      name: YIELD_TOOL,
      description: YIELD_DESCRIPTION,
      parameters: YIELD_PARAMETERS,
      execute: counted(
        loops,
        async (args, exec) => {
          const { call, controller } = admit(ctx, YIELD_TOOL, exec)
          const answer = await controller.yield(call, parseYieldInput(args))
          if (answer.deliveredOnIdle) exec.concludeTurn()
          return answer
        },
        () => true,
      ),
      render: (answer) => renderYield(answer, answer.changed as unknown as GraphView | undefined),
      present: presentYield,
    }),
  ]
}

/**
 * Registers the three tools in the layer of `scope` (an agent's or a preset's context).
 *
 * @param host looks the controller up; needs no injection of it.
 * @returns the undo.
 */
export function registerAgentGraphTools(host: Context, scope: Context = host): () => void {
  const undo = agentGraphTools(host).map((tool) => scope.tools.register(tool))
  return () => {
    for (const dispose of undo) dispose()
  }
}
