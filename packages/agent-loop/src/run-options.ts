/**
 * What a run asks of its turn besides the message: another model or effort, and instructions. They ride
 * DSH's own waterfalls and hold for the turns of that run only; the turn after it goes back to the model
 * that the session had.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { ReasoningEffortId, type LlmCallConfig, type LlmRuntime } from '@deepseek-ai/dsh-llm'
import type { ModelDetours } from './model-detours.ts'
import { instructionMessage } from './run-message.ts'
import type { RunRecord } from './run-record.ts'

export interface RunOptionsPorts {
  readonly detours: ModelDetours
  /** The run whose message the open turn of the agent answers. */
  readonly runOf: (agent: Agent) => RunRecord | undefined
  /** The run that sent this message. */
  readonly runOfMessage: (agent: Agent, messageId: string) => RunRecord | undefined
}

/** What is used of DSH's model runtime. */
type Models = Pick<LlmRuntime, 'resolveModelInfo'>

/** @param ctx owns the listeners. */
export function installRunOptions(ctx: Context, { detours, runOf, runOfMessage }: RunOptionsPorts): void {
  ctx.on('agent/request', async ({ agent, signal }, next) => {
    const home = detours.home(agent, await next())
    const run = runOf(agent)
    return run === undefined ? home : await configOf(ctx, run, home, signal)
  })
  ctx.on('agent/pre-step', async ({ agent, messages }, next) => {
    const decision = await next()
    if (decision.kind !== 'enter') return decision
    const told = messages.flatMap(({ id }) => {
      const run = runOfMessage(agent, id)
      const instructions = run === undefined ? undefined : instructionMessage(run)
      return instructions === undefined ? [] : [instructions]
    })
    return told.length === 0 ? decision : { ...decision, messages: [...told, ...decision.messages] }
  })
}

/** An effort is asked for as it is; a level of thinking only where the model has an effort of that name. */
async function configOf(
  ctx: Context,
  { request }: RunRecord,
  before: LlmCallConfig,
  signal: AbortSignal,
): Promise<LlmCallConfig> {
  const { model, effort, thinking } = request ?? {}
  if (model === undefined && effort === undefined && thinking === undefined) return before
  const { reasoningEffort: usual, ...others } = before
  const route = { ...others, ...model }
  const isSameModel = route.provider === before.provider && route.model === before.model
  const level =
    effort === undefined && thinking !== undefined ? await levelOf(ctx, route, thinking, signal) : undefined
  const kept = isSameModel && thinking !== 'off' ? usual : undefined
  const chosen = effort ?? level ?? kept
  return { ...route, ...(chosen === undefined ? {} : { reasoningEffort: ReasoningEffortId(chosen) }) }
}

async function levelOf(
  ctx: Context,
  { provider, model }: LlmCallConfig,
  thinking: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const llm = ctx.get('llm') as Models | undefined
  const info = await llm?.resolveModelInfo(provider, model, signal).catch(() => undefined)
  return info?.reasoning?.efforts.find(({ id }) => id === thinking)?.id
}
