/**
 * One graph that can be called: arguments, `validate`, a run that may stop to ask and go on, result.
 * This is the whole contract of a call, the same for tool calls, routed calls and plain conversions; how
 * a caller got here, and what becomes of the value, is not its matter.
 */
import { ToolArgsError, type JsonValue } from '@deepseek-ai/dsh-tools'
import { CallRun } from './call-run.ts'
import { CallScope, type RunningCalls } from './call-scope.ts'
import { agentServices, type CallServices } from './call-services.ts'
import { CallThread } from './call-thread.ts'
import { copyJson } from './copy-json.ts'
import { GraphValidationError, messageOf } from './errors.ts'
import type { GraphSource } from './graph-source.ts'
import { inputViolations } from './input-check.ts'
import { inputSchemaOf, type InputSchema } from './input-schema.ts'
import { resultOf } from './outcome.ts'
import { graphInput, violationsOf, type GraphParameters } from './parameters.ts'
import type { CheckedSettings } from './settings.ts'
import type {
  GraphCall,
  GraphCallContext,
  GraphLike,
  GraphValidate,
  GraphValidationContext,
} from './types.ts'

export interface CallableParts {
  readonly name: string
  readonly source: GraphSource
  readonly parameters: GraphParameters
  readonly settings: CheckedSettings
  /** Where a mount keeps its running calls; absent for a plain conversion. */
  readonly calls?: RunningCalls
  /** What calls may use of the host; by default what the calling agent reaches. */
  readonly services?: CallServices
}

export class GraphCallable {
  private readonly parts: CallableParts
  /** The author's own schema of the input, once the graph was there to read it. */
  private ownSchema: { readonly of: InputSchema | undefined } | undefined

  constructor(parts: CallableParts) {
    this.parts = parts
  }

  /** Violations of the argument schema, and of the graph's own as far as it is known and answers at once. */
  check(args: unknown): readonly string[] {
    const { parameters, source, settings } = this.parts
    const violations = violationsOf(parameters, args)
    if (violations.length > 0 || source.known === undefined) return violations
    const own = this.ownViolations(source.known, graphInput(parameters, args, settings.applyDefaults))
    return own instanceof Promise ? [] : own
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
    const { name, source, parameters, settings } = this.parts
    scope.check()
    const input = graphInput(parameters, args, settings.applyDefaults)
    // What has nothing to wait for is not awaited, so that calls reach their threads in the order they came.
    // What is awaited may never settle, and the author's part in it does not see the signal: hence the races.
    const loaded = source.load()
    const violations = this.ownViolations(
      loaded instanceof Promise ? await scope.race(loaded) : loaded,
      input,
    )
    const found = violations instanceof Promise ? await scope.race(violations) : violations
    scope.check()
    if (found.length > 0) throw new ToolArgsError([...found])
    if (settings.validate !== undefined) await this.validate(scope, input, call, settings.validate)
    const ready = source.ready()
    const graph = ready instanceof Promise ? await scope.race(ready) : ready
    scope.check()
    const context = this.callContext(call)
    const thread = new CallThread({ name, settings, graph, input, context })
    const services = this.parts.services ?? agentServices(call.agent)
    const run = new CallRun({ name, settings, graph, thread, scope, call, services })
    const result = resultOf(name, await run.toEnd(input), settings, context)
    return result instanceof Promise ? await scope.race(result) : result
  }

  /** Faults of the input that the author's own schema of the graph finds. */
  private ownViolations(graph: GraphLike, input: unknown): ReturnType<typeof inputViolations> {
    this.ownSchema ??= { of: inputSchemaOf(graph) }
    const { of } = this.ownSchema
    return of === undefined ? [] : inputViolations(of, input, this.parts.parameters.inputAt ?? '')
  }

  private validationContext(call: GraphCall): GraphValidationContext {
    const tool = this.parts.name
    return call.request === undefined ? { tool } : { tool, request: call.request }
  }

  private callContext(call: GraphCall): GraphCallContext {
    const { agent } = call
    const who = agent === undefined ? {} : { agent, sessionId: String(agent.id) }
    return { ...this.validationContext(call), ...who }
  }

  private async validate(
    scope: CallScope,
    input: unknown,
    call: GraphCall,
    validate: GraphValidate,
  ): Promise<void> {
    const { name } = this.parts
    let verdict: unknown
    try {
      verdict = await scope.race(Promise.resolve(validate(copyJson(input), this.validationContext(call))))
    } catch (error) {
      scope.check()
      throw new GraphValidationError(name, messageOf(error), { cause: error })
    }
    scope.check()
    if (verdict === false || verdict === '') throw new GraphValidationError(name, undefined)
    if (typeof verdict === 'string') throw new GraphValidationError(name, verdict)
  }
}
