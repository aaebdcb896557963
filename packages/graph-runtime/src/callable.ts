/**
 * One graph that can be called: arguments, `validate`, one `invoke`, result. This is the whole
 * contract of a call, the same for tool calls, routed calls and plain conversions; how a caller got
 * here, and what becomes of the value, is not its matter.
 */
import type { JsonValue } from '@deepseek-ai/dsh-tools'
import { CallScope, type RunningCalls } from './call-scope.ts'
import { copyJson } from './copy-json.ts'
import { GraphResultError, GraphThreadError, GraphValidationError, messageOf } from './errors.ts'
import type { GraphSource } from './graph-source.ts'
import { interruptedError, interruptsOf } from './interrupts.ts'
import { runIsolated } from './isolation.ts'
import { findLossy, type LossyValue } from './lossless.ts'
import { graphInput, violationsOf, type GraphParameters } from './parameters.ts'
import type { CheckedSettings } from './settings.ts'
import type { GraphCall, GraphInvocable, GraphThreadContext, GraphValidationContext } from './types.ts'

export interface CallableParts {
  readonly name: string
  readonly source: GraphSource
  readonly parameters: GraphParameters
  readonly settings: CheckedSettings
  /** Where a mount keeps its running calls; absent for a plain conversion. */
  readonly calls?: RunningCalls
}

export class GraphCallable {
  private readonly parts: CallableParts

  constructor(parts: CallableParts) {
    this.parts = parts
  }

  /** Violations of the argument schema. */
  check(args: unknown): readonly string[] {
    return violationsOf(this.parts.parameters, args)
  }

  /** Runs the graph once; see `GraphEntry.run`. */
  async run(args: unknown, call: GraphCall): Promise<JsonValue> {
    const { name, settings, calls } = this.parts
    const scope = new CallScope({ graph: name, signal: call.signal, timeoutMs: settings.timeoutMs })
    try {
      const body = (): Promise<JsonValue> => this.runIn(scope, args, call)
      return await (calls === undefined ? body() : calls.track(scope, body))
    } finally {
      scope.release()
    }
  }

  private async runIn(scope: CallScope, args: unknown, call: GraphCall): Promise<JsonValue> {
    const { source, parameters, settings } = this.parts
    scope.check()
    const input = graphInput(parameters, args, settings.applyDefaults)
    await this.validate(scope, input, call)
    const graph = await source.ready()
    scope.check()
    return this.result(await this.invoke(scope, graph, input, this.config(graph, input, call)))
  }

  private context(call: GraphCall): GraphValidationContext {
    const tool = this.parts.name
    return call.request === undefined ? { tool } : { tool, request: call.request }
  }

  private async validate(scope: CallScope, input: unknown, call: GraphCall): Promise<void> {
    const { name, settings } = this.parts
    if (settings.validate === undefined) return
    let verdict: unknown
    try {
      verdict = await settings.validate(copyJson(input), this.context(call))
    } catch (error) {
      scope.check()
      throw new GraphValidationError(name, messageOf(error), { cause: error })
    }
    scope.check()
    if (verdict === false || verdict === '') throw new GraphValidationError(name, undefined)
    if (typeof verdict === 'string') throw new GraphValidationError(name, verdict)
  }

  /** Config of one `invoke`, without the signal. Keys that nobody set are absent: LangGraph takes an undefined one as a value. */
  private config(graph: GraphInvocable, input: unknown, call: GraphCall): object {
    const { settings } = this.parts
    const threadId = this.threadId(input, call)
    const configurable = {
      ...settings.configurable,
      ...(threadId === undefined ? {} : { thread_id: threadId }),
    }
    if (!Object.hasOwn(configurable, 'thread_id')) this.refuseUnthreaded(graph)
    return {
      ...(Object.keys(configurable).length === 0 ? {} : { configurable }),
      ...(settings.recursionLimit === undefined ? {} : { recursionLimit: settings.recursionLimit }),
    }
  }

  private threadId(input: unknown, call: GraphCall): string | undefined {
    const { name, settings } = this.parts
    if (typeof settings.threadId !== 'function') return settings.threadId
    const agent = call.agent
    const context: GraphThreadContext = {
      ...this.context(call),
      ...(agent === undefined ? {} : { agent, sessionId: String(agent.id) }),
    }
    let threadId: unknown
    try {
      threadId = settings.threadId(copyJson(input), context)
    } catch (error) {
      throw new GraphThreadError(name, `threadId of graph "${name}" threw: ${messageOf(error)}`, {
        cause: error,
      })
    }
    if (threadId === undefined || (typeof threadId === 'string' && threadId !== '')) return threadId
    throw new GraphThreadError(
      name,
      `threadId of graph "${name}" must return a non-empty string or undefined`,
    )
  }

  /** LangGraph finds a missing thread only after nodes ran. */
  private refuseUnthreaded(graph: GraphInvocable): void {
    if (this.parts.settings.inherit || !keepsCheckpoints(graph)) return
    const { name } = this.parts
    throw new GraphThreadError(
      name,
      `graph "${name}" has a checkpointer but the call has no thread; give its definition a threadId`,
    )
  }

  private async invoke(
    scope: CallScope,
    graph: GraphInvocable,
    input: unknown,
    config: object,
  ): Promise<unknown> {
    const call = (): Promise<unknown> => graph.invoke(input, { ...config, signal: scope.signal })
    try {
      const state = await (this.parts.settings.inherit ? call() : runIsolated(call))
      // A graph that ignores its signal may still come to an end; what it brings is too late.
      scope.check()
      return state
    } catch (error) {
      throw scope.failure(error)
    }
  }

  private result(state: unknown): JsonValue {
    const { name, settings } = this.parts
    const interrupts = interruptsOf(state)
    if (interrupts !== undefined) throw interruptedError(name, interrupts)
    const { omitUndefined } = settings
    const lossy = findLossy(state, { omitUndefined })
    if (lossy !== undefined) throw new GraphResultError(name, lossy, cureOf(lossy))
    return (omitUndefined ? copyJson(state, { omitUndefined }) : state) as JsonValue
  }
}

function cureOf(lossy: LossyValue): string {
  if (lossy.kind !== 'undefined') return 'convert it to plain JSON before the graph ends'
  if (lossy.path === 'result') return 'end with a value, null if there is none'
  return 'return null, drop the key, or set undefinedValues to "omit"'
}

/** Whether a LangGraph graph writes checkpoints and no thread was bound to it with `withConfig`. */
function keepsCheckpoints(graph: GraphInvocable): boolean {
  if (Reflect.get(graph, 'lg_is_pregel') !== true) return false
  const checkpointer: unknown = Reflect.get(graph, 'checkpointer')
  if (typeof checkpointer !== 'object' || checkpointer === null) return false
  const config = Reflect.get(graph, 'config') as { configurable?: Record<string, unknown> } | undefined
  return config?.configurable?.['thread_id'] === undefined
}
