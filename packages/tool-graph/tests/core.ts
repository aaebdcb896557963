/** A real DSH core in process, and a stand-in for the outside world: the executor port. Needs no test runner. */
import { Context } from '@deepseek-ai/cordis'
import AgentRegistry, { type Agent } from '@deepseek-ai/dsh-agent'
import AgentLoop from '@deepseek-ai/dsh-agent-loop'
import LlmRuntime, { CallId } from '@deepseek-ai/dsh-llm'
import SessionStore, { SessionId } from '@deepseek-ai/dsh-session'
import SystemPrompt from '@deepseek-ai/dsh-system-prompt'
import ToolRuntime, { type ToolExecutionResult } from '@deepseek-ai/dsh-tools'
import * as toolGraph from '../src/index.ts'
import type { Activation, ActivationEnd, GraphExecutor, WakeDelivery, WakeSender } from '../src/index.ts'

/** The services that the plugin needs, and the loop. Dispose `ctx.root.fiber` at the end. */
export async function bootCore(): Promise<Context> {
  const ctx = new Context()
  await ctx.plugin(LlmRuntime)
  await ctx.plugin(SessionStore)
  await ctx.plugin(SystemPrompt, {})
  await ctx.plugin(ToolRuntime, {})
  await ctx.plugin(AgentRegistry)
  await ctx.plugin(AgentLoop, { agents: [] })
  return ctx
}

/** Mounts the plugin under test as a row would. */
export async function mountTools(ctx: Context, config: boolean | Partial<toolGraph.Config> = {}) {
  const fiber = ctx.plugin(
    toolGraph,
    (typeof config === 'boolean' ? { enabled: config } : config) as toolGraph.Config,
  )
  await fiber
  return fiber
}

export async function makeAgent(ctx: Context, id: string, parent?: Agent): Promise<Agent> {
  const { agent } = await (parent?.ctx ?? ctx).agents.create({
    sessionId: SessionId(id),
    meta: parent === undefined ? {} : { parentSession: parent.id, origin: 'subagent', delegationDepth: 1 },
    agentOptions: { provider: 'none', model: 'none' },
  })
  return agent
}

let calls = 0

/** Calls a tool as the loop does. The call id is fresh unless given. */
export function callTool(
  ctx: Context,
  agent: Agent,
  name: string,
  args: unknown,
  callId = `call_${(calls += 1)}`,
): Promise<ToolExecutionResult> {
  return ctx.tools.execute({
    callId: CallId(callId),
    name,
    arguments: args,
    agent,
    signal: new AbortController().signal,
  })
}

export function textOf(result: ToolExecutionResult): string {
  return result.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
}

/** Operators whose ends the test decides. */
export class HandExecutor implements GraphExecutor {
  readonly prompts = new Map<string, string>()
  readonly started: string[] = []
  readonly cancelled: string[] = []
  provision?: () => Promise<void>
  private readonly ends = new Map<string, PromiseWithResolvers<ActivationEnd>>()
  /** Answers at once when given. */
  private readonly auto: ((activation: Activation, prompt: string) => ActivationEnd | undefined) | undefined

  constructor(auto?: (activation: Activation, prompt: string) => ActivationEnd | undefined) {
    this.auto = auto
  }

  private endOf(runId: string): PromiseWithResolvers<ActivationEnd> {
    let end = this.ends.get(runId)
    if (end === undefined) this.ends.set(runId, (end = Promise.withResolvers()))
    return end
  }

  async start(activation: Activation, prompt: string): Promise<void> {
    this.prompts.set(activation.work.workId, prompt)
    this.started.push(`${activation.work.workId}#${activation.attempt}`)
    const end = this.auto?.(activation, prompt)
    if (end !== undefined) this.endOf(activation.runId).resolve(end)
  }

  observe(activation: Activation, signal: AbortSignal): Promise<ActivationEnd> {
    return Promise.race([this.endOf(activation.runId).promise, rejectOnAbort(signal)])
  }

  async cancel(activation: Activation): Promise<void> {
    this.cancelled.push(activation.work.workId)
    this.endOf(activation.runId).resolve({ outcome: 'aborted', reason: 'cancelled' })
  }

  end(runId: string, end: ActivationEnd): void {
    this.endOf(runId).resolve(end)
  }
}

/** Collects wakes and lets the test decide how each turn goes. */
export class HandWakes implements WakeSender {
  readonly delivered: WakeDelivery[] = []
  private readonly turn: (delivery: WakeDelivery) => Promise<'delivered' | 'superseded'>

  constructor(
    turn: (delivery: WakeDelivery) => Promise<'delivered' | 'superseded'> = async () => 'delivered',
  ) {
    this.turn = turn
  }

  async deliver(delivery: WakeDelivery, signal: AbortSignal): Promise<'delivered' | 'superseded'> {
    if (!(await delivery.stillWanted())) return 'superseded'
    this.delivered.push(delivery)
    return Promise.race([this.turn(delivery), rejectOnAbort(signal)])
  }
}

/** Resolves when the condition holds, looking again after each turn of the event loop. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 10_000
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`the condition did not come true: ${condition.toString()}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
