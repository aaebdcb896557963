/**
 * The hooks before a turn's first model request, in this order: `before_model_resolve`,
 * `agent:bootstrap`, `before_prompt_build`, `before_agent_start`. They ride the assembly of the system
 * prompt, the last place where DSH lets it be changed; added messages enter with the step, and the model
 * with each request of the turn.
 *
 * DSH builds the prompt of a step once and a request that is made anew takes it from the session log, so
 * none of these fires again for it.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import type { UserMessage } from '@deepseek-ai/dsh-session'
import type { PromptAssembly } from '@deepseek-ai/dsh-system-prompt'
import { z } from 'zod'
import { changesOf, shapeAssembly, type ContextChanges } from './prompt-shape.ts'
import type { ModelDetours } from '../model-detours.ts'
import { configOfChoice } from './model-choice.ts'
import type { Announcer } from './announcer.ts'
import type { HookDispatcher } from './dispatcher.ts'
import { textOfMessages, type OpenTurn, type TurnBook } from './turn-book.ts'
import type { BootstrapFile, ModelChoice, PromptAddition } from './types.ts'

/** What the hooks of one turn decided; asked once, used for each of its steps. */
interface Plan {
  model?: Promise<ModelChoice>
  prompt?: Promise<Shape>
  /** The messages have entered a step. */
  delivered: boolean
}

interface Shape {
  readonly model: ModelChoice
  readonly addition: PromptAddition
  readonly contexts: ContextChanges
}

const filesSchema = z.array(z.strictObject({ name: z.string().min(1).max(200), text: z.string() })).max(1000)

export interface PromptHooksPorts {
  readonly dispatcher: HookDispatcher
  readonly book: TurnBook
  readonly announcer: Announcer
  readonly detours: ModelDetours
}

export class PromptHooks {
  private readonly dispatcher: HookDispatcher
  private readonly book: TurnBook
  private readonly announcer: Announcer
  private readonly plans = new WeakMap<OpenTurn, Plan>()
  private readonly detours: ModelDetours

  constructor({ dispatcher, book, announcer, detours }: PromptHooksPorts) {
    this.detours = detours
    this.dispatcher = dispatcher
    this.book = book
    this.announcer = announcer
  }

  /** @param ctx owns the listeners. */
  listen(ctx: Context): void {
    ctx.on(
      'system-prompt/assemble',
      async (_assembly, context, next) => {
        const plan = this.planOf(context.agent, context.signal)
        if (plan === undefined) return await next()
        const { turn, signal } = plan
        this.announcer.flush()
        const model = await (plan.plan.model ??= this.chooseModel(turn, signal))
        const assembled = await next()
        const shape = await (plan.plan.prompt ??= this.shapePrompt(turn, model, assembled, signal))
        return shapeAssembly(assembled, shape.model, shape.addition, shape.contexts)
      },
      { prepend: true },
    )
    ctx.on(
      'agent/pre-step',
      async ({ agent }, next) => {
        const decision = await next()
        if (decision.kind !== 'enter' || decision.messages.length === 0) return decision
        const addition = await this.takeAddition(agent)
        if (addition === undefined) return decision
        return { ...decision, messages: withContext(decision.messages, addition) }
      },
      { prepend: true },
    )
    ctx.on(
      'agent/request',
      async ({ agent }, next) => {
        const config = await next()
        const turn = this.book.current(agent)
        const plan = turn === undefined ? undefined : this.plans.get(turn)
        const choice = plan?.prompt === undefined ? {} : (await plan.prompt).model
        const chosen = configOfChoice(config, choice)
        this.detours.went(agent, chosen)
        return chosen
      },
      { prepend: true },
    )
  }

  /** The plan of the turn that this assembly is for; none when nobody listens or the turn is empty. */
  private planOf(agent: Agent | undefined, signal: AbortSignal | undefined) {
    // An assembly without a signal is a diagnosis, not a turn.
    const turn = agent === undefined || signal === undefined ? undefined : this.book.current(agent)
    if (turn === undefined || signal === undefined || turn.messages.length === 0) return undefined
    let plan = this.plans.get(turn)
    if (plan === undefined) {
      const { dispatcher } = this
      const isHeard =
        dispatcher.has('before_model_resolve', 'before_prompt_build') ||
        dispatcher.has('before_agent_start', 'agent:bootstrap')
      // A turn that began without listeners stays without them: its first request is past.
      if (!isHeard || turn.hasStep) return undefined
      this.plans.set(turn, (plan = { delivered: false }))
    }
    return { turn, signal, plan }
  }

  private async chooseModel(turn: OpenTurn, signal: AbortSignal): Promise<ModelChoice> {
    const prompt = textOfMessages(turn.messages)
    const fold = await this.dispatcher.modify(
      'before_model_resolve',
      (earlier) => ({ ...turn.runFacts, prompt, earlier }),
      signal,
    )
    return fold.result
  }

  private async shapePrompt(
    turn: OpenTurn,
    model: ModelChoice,
    assembled: PromptAssembly,
    signal: AbortSignal,
  ): Promise<Shape> {
    const contexts = await this.bootstrap(turn, assembled, signal)
    const prompt = textOfMessages(turn.messages)
    const messages = turn.agent.session.deriveMessages()
    const built = await this.dispatcher.modify(
      'before_prompt_build',
      (earlier) => ({ ...turn.runFacts, prompt, messages, earlier }),
      signal,
    )
    // The older hook speaks last and sees what the two newer ones decided.
    const old = await this.dispatcher.modify(
      'before_agent_start',
      (earlier) => ({
        ...turn.runFacts,
        prompt,
        messages,
        earlier: { ...model, ...built.result, ...earlier },
      }),
      signal,
    )
    return {
      model: { ...old.result, ...model },
      addition: joined(built.result, old.result),
      contexts,
    }
  }

  private async bootstrap(
    turn: OpenTurn,
    { contexts }: PromptAssembly,
    signal: AbortSignal,
  ): Promise<ContextChanges> {
    const before: BootstrapFile[] = contexts.map(({ name, text }) => ({ name, text }))
    const after = await this.dispatcher.draft(
      'agent:bootstrap',
      before,
      (bootstrapFiles) => ({ ...turn.runFacts, bootstrapFiles }),
      (files) => filesSchema.parse(files),
      signal,
    )
    return changesOf(before, after)
  }

  private async takeAddition(agent: Agent): Promise<PromptAddition | undefined> {
    const turn = this.book.current(agent)
    const plan = turn === undefined ? undefined : this.plans.get(turn)
    if (plan?.prompt === undefined || plan.delivered) return undefined
    plan.delivered = true
    return (await plan.prompt).addition
  }
}

const TEXTS = [
  'prependSystemContext',
  'appendSystemContext',
  'prependContext',
  'appendContext',
] as const satisfies readonly (keyof PromptAddition)[]

function joined(first: PromptAddition, second: PromptAddition): PromptAddition {
  const texts = TEXTS.flatMap((field) => {
    const parts = [first[field], second[field]].filter((part) => part !== undefined)
    return parts.length === 0 ? [] : [[field, parts.join('\n\n')] as const]
  })
  const systemPrompt = first.systemPrompt ?? second.systemPrompt
  return { ...Object.fromEntries(texts), ...(systemPrompt === undefined ? {} : { systemPrompt }) }
}

function withContext(
  messages: readonly UserMessage[],
  { prependContext, appendContext }: PromptAddition,
): UserMessage[] {
  return [...contextMessage(prependContext), ...messages, ...contextMessage(appendContext)]
}

function contextMessage(text: string | undefined): readonly UserMessage[] {
  if (text === undefined || text.trim() === '') return []
  const source = { kind: 'plugin' as const, plugin: 'dsh-agent-loop-host' }
  return [createUserMessage({ content: [{ type: 'text', text }], source })]
}
