/**
 * What runs when the model chose no tool: the built-in tool that does nothing, a DSH tool, or a graph.
 * It runs beside both registries, with `{}` for arguments and no routing events.
 */
import { CallId } from '@deepseek-ai/dsh-llm'
import {
  ToolArgsError,
  validateJsonSchemaValue,
  type JsonSchemaNode,
  type JsonValue,
  type ToolDefinition,
  type ToolRunContext,
} from '@deepseek-ai/dsh-tools'
import { CallScope } from './call-scope.ts'
import type { CallServices } from './call-services.ts'
import { recordOf, type DefinitionRecord } from './definition-record.ts'
import { GraphResultError, messageOf } from './errors.ts'
import { findLossy } from './lossless.ts'
import { prepareGraph, type PreparedGraph } from './tool.ts'
import type { CallingAgent } from './types.ts'

/** The circumstances of one fallback run. */
export interface FallbackCall {
  readonly signal: AbortSignal
  readonly request: string
  readonly agent?: CallingAgent
}

export interface Fallback {
  /** Name of the tool or graph. */
  readonly name: string
  /**
   * Runs it once with `{}`.
   *
   * @throws {ToolArgsError} its schema does not accept `{}`; its own error unchanged.
   */
  run(call: FallbackCall): Promise<JsonValue>
}

const DOES_NOTHING: ToolDefinition = Object.freeze({
  name: 'graph_routing_fallback',
  description: 'Does nothing.',
  parameters: { type: 'object', properties: {} },
  output: { schema: {}, render: () => [{ type: 'text' as const, text: '{}' }] },
  execute: () => Promise.resolve({}),
})

/**
 * Reads the `fallback` of a router; what is wrong with it is added to `problems`.
 *
 * @param services what a graph may use of the host.
 */
export function fallbackOf(value: unknown, services: CallServices, problems: string[]): Fallback {
  if (value === undefined) return toolFallback(DOES_NOTHING)
  const record = recordOf(value)
  if (record !== undefined) return graphFallback(record, services, problems)
  if (isTool(value)) return toolFallback(value)
  problems.push('fallback must be a tool definition or what defineGraph or createGraphDefinition returned')
  return toolFallback(DOES_NOTHING)
}

function isTool(value: unknown): value is ToolDefinition {
  if (typeof value !== 'object' || value === null) return false
  const name: unknown = Reflect.get(value, 'name')
  return typeof name === 'string' && name !== '' && typeof Reflect.get(value, 'execute') === 'function'
}

function graphFallback(record: DefinitionRecord, services: CallServices, problems: string[]): Fallback {
  const { named, problem } = record
  if (named === undefined) {
    problems.push(`fallback: ${messageOf(problem)}`)
    return toolFallback(DOES_NOTHING)
  }
  // The factory may run for this, so it waits until somebody needs it.
  let prepared: PreparedGraph | undefined
  return {
    name: named.name,
    run: (call) => (prepared ??= prepareGraph(named, { services })).callable.run({}, call),
  }
}

function toolFallback(tool: ToolDefinition): Fallback {
  return { name: tool.name, run: (call) => runTool(tool, call) }
}

async function runTool(tool: ToolDefinition, call: FallbackCall): Promise<JsonValue> {
  const violations = argumentViolations(tool)
  if (violations.length > 0) throw new ToolArgsError([...violations])
  const scope = new CallScope({ graph: tool.name, signal: call.signal, timeoutMs: tool.timeoutMs })
  try {
    scope.check()
    const running = tool.execute({}, runContext(tool.name, scope.signal, call.agent))
    const value = await scope.outlast(running)
    scope.check()
    const lossy = findLossy(value)
    if (lossy !== undefined)
      throw new GraphResultError(tool.name, lossy, 'let the fallback return plain JSON')
    return value as JsonValue
  } catch (error) {
    throw scope.failure(error)
  } finally {
    scope.release()
  }
}

/** Why `{}` is no argument for the tool. A schema outside DSH's subset is the tool's own matter. */
function argumentViolations(tool: ToolDefinition): readonly string[] {
  try {
    return validateJsonSchemaValue(tool.parameters as JsonSchemaNode, {}, '')
  } catch {
    return []
  }
}

/** What a tool body is told about its call. No turn surrounds it, so there is nothing to defer to or conclude. */
function runContext(name: string, signal: AbortSignal, agent: CallingAgent | undefined): ToolRunContext {
  const callId = CallId(`routing-${name}`)
  return {
    token: Symbol(name) as ToolRunContext['token'],
    callId,
    rootCallId: callId,
    name,
    arguments: Object.freeze({}),
    signal,
    ...(agent === undefined ? {} : { agent }),
    deferContext: () => undefined,
    concludeTurn: () => undefined,
  }
}
