/**
 * The hooks around a tool call. `before_tool_call` rides `tools/pre-execute`, `after_tool_call` the final
 * `tools/result`, `tool_result_persist` the end of `tools/post-execute` (for calls made by a program of
 * the model: the copy of their result that is logged).
 */
import type { Context } from '@deepseek-ai/cordis'
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import type {
  PostToolDecision,
  PreToolDecision,
  ToolExecution,
  ToolExecutionResult,
} from '@deepseek-ai/dsh-tools'
import { z } from 'zod'
import type { Clock } from '../clock.ts'
import { AgentLoopError } from '../errors.ts'
import type { Announcer } from './announcer.ts'
import type { ArgumentRewriter, Rewriting } from './argument-rewriter.ts'
import type { HookDispatcher } from './dispatcher.ts'
import { sessionFacts, type TurnBook } from './turn-book.ts'
import type { ToolCallFacts, ToolCallVerdict, ToolResultView } from './types.ts'

interface CallRecord {
  readonly startedAt: number
  rewritten?: Rewriting
}

const messageSchema = z.strictObject({
  message: z
    .strictObject({ content: z.array(z.looseObject({ type: z.string() })), isError: z.boolean() })
    .optional(),
})

export interface ToolHooksPorts {
  readonly dispatcher: HookDispatcher
  readonly book: TurnBook
  readonly clock: Clock
  readonly rewriter: ArgumentRewriter
  readonly announcer: Announcer
}

export class ToolHooks {
  private readonly ports: ToolHooksPorts
  private readonly calls = new WeakMap<object, CallRecord>()

  constructor(ports: ToolHooksPorts) {
    this.ports = ports
  }

  /** @param ctx owns the listeners. */
  listen(ctx: Context): void {
    const prepend = { prepend: true }
    ctx.on('tools/pre-execute', (exec, next) => this.before(exec, next), prepend)
    ctx.on('tools/post-execute', (exec, result, next) => this.persist(exec, result, next), prepend)
    ctx.on('tools/result', (exec, result) => this.after(exec, result))
    ctx.on(
      'tools/code-dispatch-log',
      async ({ exec, subCallId, name, isError }, next) => {
        const content = await next()
        const facts = { ...this.facts(exec), toolName: name, toolCallId: subCallId, isNested: true }
        return this.persisted(facts, content, isError) ?? content
      },
      prepend,
    )
  }

  private async before(exec: ToolExecution, next: () => Promise<PreToolDecision>): Promise<PreToolDecision> {
    const { dispatcher, clock } = this.ports
    const record: CallRecord = { startedAt: clock.now() }
    this.calls.set(exec, record)
    if (!dispatcher.has('before_tool_call')) return await next()
    const verdict = await this.judge(exec, record)
    return verdict.block === true
      ? { kind: 'deny', reason: verdict.blockReason ?? 'a hook blocked the call' }
      : asking(verdict, await next())
  }

  /** What the hooks say; a hook that fails closed blocks. The arguments are replaced when they ask for it. */
  private async judge(exec: ToolExecution, record: CallRecord): Promise<ToolCallVerdict> {
    const { announcer, dispatcher, rewriter } = this.ports
    const facts = this.facts(exec)
    announcer.flush()
    try {
      const { result, changes } = await dispatcher.modify(
        'before_tool_call',
        (earlier) => ({
          ...facts,
          params: structuredClone('params' in earlier ? earlier.params : exec.arguments),
          earlier: structuredClone(earlier),
        }),
        exec.signal,
      )
      if (result.block === true || !('params' in result)) return result
      const plugins = changes.filter(({ field }) => field === 'params').map(({ plugin }) => plugin)
      record.rewritten = await rewriter.rewrite(exec, result.params, [...new Set(plugins)], facts)
      return result
    } catch (error) {
      if (exec.signal.aborted) return { block: true, blockReason: 'the turn was cancelled before the call' }
      if (error instanceof AgentLoopError) return { block: true, blockReason: error.message }
      throw error
    }
  }

  private async persist(
    exec: ToolExecution,
    result: Readonly<ToolExecutionResult>,
    next: () => Promise<PostToolDecision>,
  ): Promise<PostToolDecision> {
    const decision = await next()
    // What a program gets back is logged as a copy of its own, which is the one that is persisted.
    if (exec.parent !== undefined) return decision
    if (decision.kind === 'block') {
      const feedback = this.persisted(this.facts(exec), decision.feedback, true)
      return feedback === undefined ? decision : { ...decision, feedback }
    }
    const content = this.persisted(this.facts(exec), decision.content ?? result.content, result.isError)
    if (content === undefined) return decision
    // A replaced value is rendered by DSH later than this; what is logged goes before it.
    const { additionalContexts } = decision
    return { kind: 'accept', content, ...(additionalContexts === undefined ? {} : { additionalContexts }) }
  }

  /** The content as it may be written; none when nobody changed it. */
  private persisted(
    facts: ToolCallFacts,
    content: readonly ContentBlock[],
    isError: boolean,
  ): ContentBlock[] | undefined {
    const { dispatcher } = this.ports
    if (!dispatcher.has('tool_result_persist')) return undefined
    const before: ToolResultView = { content: structuredClone(content), isError }
    try {
      const after = dispatcher.sync(
        'tool_result_persist',
        before,
        (message) => ({ ...facts, message }),
        (message, answer) => (messageSchema.parse(answer).message as ToolResultView | undefined) ?? message,
      )
      return after === before ? undefined : [...after.content]
    } catch (error) {
      if (!(error instanceof AgentLoopError)) throw error
      return [{ type: 'text', text: `Error: the result is withheld: ${error.message}` }]
    }
  }

  private after(exec: Readonly<ToolExecution>, result: Readonly<ToolExecutionResult>): undefined {
    const { announcer, dispatcher, clock } = this.ports
    const record = this.calls.get(exec)
    this.calls.delete(exec)
    if (!dispatcher.has('after_tool_call')) return
    const { content, isError, error } = result
    const event = {
      ...this.facts(exec),
      params: exec.arguments,
      result: { content, isError },
      ...(error === undefined ? {} : { error: error.message }),
      durationMs: clock.now() - (record?.startedAt ?? clock.now()),
      ...(record?.rewritten === undefined ? {} : { rewritten: record.rewritten }),
    }
    announcer.push(() => dispatcher.observe('after_tool_call', event))
  }

  private facts({ agent, name, callId, parent }: Readonly<ToolExecution>): ToolCallFacts {
    const turn = agent === undefined ? undefined : this.ports.book.current(agent)
    const where = turn?.attemptFacts ?? (agent === undefined ? {} : sessionFacts(agent.session))
    return { ...where, toolName: name, toolCallId: callId, isNested: parent !== undefined }
  }
}

/** A hook may ask for a person where others allow; it never lifts what they refuse. */
function asking({ requireApproval }: ToolCallVerdict, decision: PreToolDecision): PreToolDecision {
  if (requireApproval === undefined || decision.kind === 'deny') return decision
  const { title, description } = requireApproval
  const asked = description === undefined ? title : `${title}: ${description}`
  const reasons =
    decision.kind === 'ask' && decision.reason !== undefined ? [asked, decision.reason] : [asked]
  return { kind: 'ask', reason: reasons.join('; ') }
}
