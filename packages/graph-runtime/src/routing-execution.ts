/**
 * One attempt to run a chosen graph: the gate, the run, the verdict on what came of it. Tells refusals,
 * which send the model back to choose again, from failures, which end the routing.
 */
import { deepFreeze } from '@deepseek-ai/dsh-llm'
import type { JsonValue } from '@deepseek-ai/dsh-tools'
import { GraphResultError, messageOf } from './errors.ts'
import type { GraphToolsExecution, GraphToolsOutcome } from './events.ts'
import { findLossy } from './lossless.ts'
import type { ArgumentObject } from './routing-arguments.ts'
import type { RoutingEvents } from './routing-events.ts'
import type { GraphRoutingRejection } from './routing-types.ts'
import type { CallingAgent, GraphEntry } from './types.ts'

/** A graph and what it is to run with. */
export interface Choice {
  readonly tool: string
  readonly args: ArgumentObject
  readonly request: string
  readonly signal: AbortSignal
  readonly agent?: CallingAgent
  /** The graph of that name, as long as it is listed. */
  readonly entry: () => GraphEntry | undefined
}

export interface Rejection {
  readonly kind: 'rejected'
  readonly rejection: GraphRoutingRejection
  readonly reason: string
  /** The error behind it, where there is one. */
  readonly error?: unknown
}

export type Settled =
  | { readonly kind: 'ran'; readonly args: ArgumentObject; readonly result: JsonValue }
  | Rejection
  /** The listing went away between the choice and the run. */
  | { readonly kind: 'gone' }

/** How a run ended; with a refusal when the arguments never reached the graph. */
interface Run {
  readonly outcome: GraphToolsOutcome
  readonly refusal?: Rejection
}

/**
 * Runs a choice, with both events around it.
 *
 * @throws the graph's own error unless it is blocked or replaced; what a listener throws; the reason
 *   of the signal once it aborted.
 */
export async function runChoice(choice: Choice, events: RoutingEvents): Promise<Settled> {
  const { signal } = choice
  const execution = executionOf(choice)
  const gate = await events.before(execution)
  signal.throwIfAborted()
  if (gate.kind === 'deny') return { kind: 'rejected', rejection: 'DENIED', reason: gate.reason }
  const entry = choice.entry()
  if (entry === undefined) return { kind: 'gone' }
  const run = await settle(entry, choice)
  const verdict = await events.after(execution, run.outcome)
  signal.throwIfAborted()
  if (verdict.kind === 'block') {
    const cause = 'error' in run.outcome ? { error: run.outcome.error } : {}
    return { kind: 'rejected', rejection: 'BLOCKED', reason: verdict.reason, ...cause }
  }
  if (Object.hasOwn(verdict, 'result')) return ran(choice, replaced(choice.tool, verdict.result))
  if (run.refusal !== undefined) return run.refusal
  if ('error' in run.outcome) throw run.outcome.error
  return ran(choice, run.outcome.result)
}

function ran({ args }: Choice, result: JsonValue): Settled {
  return { kind: 'ran', args, result }
}

/** The object that both events of an attempt get. */
function executionOf({ tool, args, request, signal }: Choice): GraphToolsExecution {
  const fields = { tool, args: deepFreeze(args), request, signal }
  const execution = {}
  for (const [key, value] of Object.entries(fields)) {
    Object.defineProperty(execution, key, { value, enumerable: true })
  }
  return execution as GraphToolsExecution
}

async function settle(entry: GraphEntry, choice: Choice): Promise<Run> {
  const { signal, request, agent } = choice
  try {
    const call = { signal, request, ...(agent === undefined ? {} : { agent }) }
    return { outcome: Object.freeze({ result: await entry.run(choice.args, call) }) }
  } catch (error) {
    return refusalIn(error, entry, choice) ?? { outcome: Object.freeze({ error }) }
  }
}

/** What a failed run shows of a refusal: the graph itself never ran. */
function refusalIn(error: unknown, entry: GraphEntry, choice: Choice): Run | undefined {
  const reason = validationReason(error, entry.name)
  if (reason !== undefined) return refused(error, 'GRAPH_VALIDATION', reason)
  if (codeOf(error) !== 'INVALID_ARGS') return undefined
  // A tool inside the graph refuses with the same code; then these arguments are fine.
  return entry.check(choice.args).length > 0 ? refused(error, 'INVALID_ARGS', messageOf(error)) : undefined
}

/** The code of an error, however hostile; a graph may throw anything. */
function codeOf(error: unknown): unknown {
  try {
    return error instanceof Error ? Reflect.get(error, 'code') : undefined
  } catch {
    return undefined
  }
}

function refused(error: unknown, rejection: GraphRoutingRejection, reason: string): Run {
  return { outcome: Object.freeze({ error }), refusal: { kind: 'rejected', rejection, reason, error } }
}

/**
 * The author's reason when the graph's own `validate` refused the arguments. Told by code and graph:
 * the entry may come from another copy of this package, and a graph inside this one may refuse too.
 */
function validationReason(error: unknown, graph: string): string | undefined {
  if (codeOf(error) !== 'GRAPH_VALIDATION' || Reflect.get(error as Error, 'graph') !== graph) return undefined
  const reason: unknown = Reflect.get(error as Error, 'reason')
  return typeof reason === 'string' ? reason : messageOf(error)
}

/** @throws {GraphResultError} a replacement that is no lossless JSON. */
function replaced(tool: string, result: unknown): JsonValue {
  const lossy = findLossy(result)
  if (lossy === undefined) return result as JsonValue
  throw new GraphResultError(tool, lossy, 'let the graphTools/post-execute listener give plain JSON')
}
