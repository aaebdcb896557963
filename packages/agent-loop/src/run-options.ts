/**
 * What a run asks of its turn besides the message: another model or effort, and instructions. They ride
 * DSH's own waterfalls and hold for the turns of that run only; the turn after it goes back to the model
 * that the session had.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { ReasoningEffortId, type LlmCallConfig } from '@deepseek-ai/dsh-llm'
import { instructionMessage } from './run-message.ts'
import type { RunRecord } from './run-record.ts'

export interface RunOptionsPorts {
  /** The run whose message the open turn of the agent answers. */
  readonly runOf: (agent: Agent) => RunRecord | undefined
  /** The run that sent this message. */
  readonly runOfMessage: (agent: Agent, messageId: string) => RunRecord | undefined
}

/** What an agent asked for before a run's own choice, and that choice. */
interface Override {
  readonly before: LlmCallConfig
  readonly chosen: LlmCallConfig
}

/** @param ctx owns the listeners. */
export function installRunOptions(ctx: Context, { runOf, runOfMessage }: RunOptionsPorts): void {
  const overrides = new WeakMap<Agent, Override>()
  ctx.on('agent/request', async ({ agent }, next) => {
    const proposed = await next()
    const override = overrides.get(agent)
    // DSH proposes what was asked for last, which was ours.
    const before =
      override !== undefined && isSameRoute(proposed, override.chosen) ? override.before : proposed
    const run = runOf(agent)
    const chosen = run === undefined ? before : configOf(run, before)
    if (chosen === before) overrides.delete(agent)
    else overrides.set(agent, { before, chosen })
    return chosen
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

function configOf({ request }: RunRecord, before: LlmCallConfig): LlmCallConfig {
  const { model, effort, thinking } = request ?? {}
  if (model === undefined && effort === undefined && thinking === undefined) return before
  const { reasoningEffort, ...others } = before
  const isSameModel =
    model === undefined || (model.provider === before.provider && model.model === before.model)
  const asked = effort ?? (thinking === undefined || thinking === 'off' ? undefined : thinking)
  const kept = isSameModel && thinking !== 'off' ? reasoningEffort : undefined
  const chosen = asked === undefined ? kept : ReasoningEffortId(asked)
  return { ...others, ...model, ...(chosen === undefined ? {} : { reasoningEffort: chosen }) }
}

function isSameRoute(one: LlmCallConfig, other: LlmCallConfig): boolean {
  return (
    one.provider === other.provider &&
    one.model === other.model &&
    one.reasoningEffort === other.reasoningEffort
  )
}
