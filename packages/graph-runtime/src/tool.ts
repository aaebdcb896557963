/**
 * From a graph to a DSH tool, a pure conversion: nothing is registered and nothing compiled. What an
 * author left open is read off the graph, which runs the factory but never `compile`.
 */
import type { ParameterJsonSchema, ToolDefinition } from '@deepseek-ai/dsh-tools'
import { GraphCallable } from './callable.ts'
import type { RunningCalls } from './call-scope.ts'
import { recordOf, type NamedGraph } from './definition-record.ts'
import { describeGraph, ownDescription, ownName, shapeOf } from './describe.ts'
import { GraphDefinitionError } from './errors.ts'
import { GraphSource, isBuilder, isInvocable } from './graph-source.ts'
import { nameProblem } from './names.ts'
import { inputParameter } from './parameters.ts'
import { prettyJson } from './pretty-json.ts'
import { checkSettings } from './settings.ts'
import type { GraphDefinition, GraphLike, GraphShape, GraphToolOptions } from './types.ts'

/** A graph ready to be offered. */
export interface PreparedGraph {
  readonly tool: ToolDefinition
  readonly parameters: ParameterJsonSchema
  readonly callable: GraphCallable
  readonly shape: GraphShape | undefined
  /** What the factory threw while the graph's structure was to be read. */
  readonly failure: { readonly error: unknown } | undefined
}

/** Finishes the declaration from the graph itself, where that is needed, and makes the tool. */
export function prepareGraph(named: NamedGraph, calls?: RunningCalls): PreparedGraph {
  const { name, source, settings } = named
  const open = settings.description === undefined || settings.parameters === undefined
  const peeked = open ? source.peek() : undefined
  const graph = peeked?.kind === 'graph' ? peeked.graph : undefined
  const shape = graph === undefined ? undefined : shapeOf(graph)
  const ownText = graph === undefined ? undefined : ownDescription(graph)
  const description = settings.description ?? ownText ?? describeGraph(name, shape)
  const parameters = settings.parameters ?? inputParameter(shape)
  const callable = new GraphCallable({
    name,
    source,
    parameters,
    settings,
    ...(calls === undefined ? {} : { calls }),
  })
  const tool: ToolDefinition = {
    name,
    description,
    parameters: { ...parameters.schema },
    output: {
      schema: {},
      render: (_args, value) => [{ type: 'text', text: prettyJson(value) }],
    },
    execute: (args, exec) =>
      callable.run(args, { signal: exec.signal, ...(exec.agent === undefined ? {} : { agent: exec.agent }) }),
    ...(settings.timeoutMs === undefined ? {} : { timeoutMs: settings.timeoutMs }),
    ...(settings.concurrencySafe ? { isConcurrencySafe: () => true } : {}),
  }
  const failure = peeked?.kind === 'failed' ? { error: peeked.error } : undefined
  return { tool, parameters: parameters.schema, callable, shape, failure }
}

/**
 * Names a graph that comes without a definition.
 *
 * @throws {GraphDefinitionError} no graph, no name, or settings that are wrong.
 */
export function nameGraph(graph: GraphLike, options: GraphToolOptions): NamedGraph {
  const given: unknown = options.name
  if (!isInvocable(graph) && !isBuilder(graph)) {
    throw new GraphDefinitionError(typeof given === 'string' ? given : undefined, [
      'the graph must have invoke (a compiled graph) or compile (a builder)',
    ])
  }
  const name: unknown = given ?? ownName(graph)
  const problems: string[] = []
  if (name === undefined) problems.push('the graph has no name; pass { name } or compile it with a name')
  else {
    const problem = nameProblem(name)
    if (problem !== undefined) problems.push(problem)
  }
  const settings = checkSettings(options, problems)
  const known = typeof name === 'string' ? name : undefined
  if (problems.length > 0 || known === undefined) throw new GraphDefinitionError(known, problems)
  return { name: known, source: new GraphSource(known, () => graph), settings }
}

/**
 * Converts a graph, or a definition, into a DSH tool without registering it anywhere.
 *
 * @param graph a compiled graph, a builder, any object with `invoke`, or a graph definition.
 * @param options how it is offered; `name` is required unless the graph was compiled with one.
 *   A definition brings its own.
 * @throws {GraphDefinitionError} when it cannot be offered under these options.
 */
export function createGraphTool(
  graph: GraphLike | GraphDefinition,
  options: GraphToolOptions = {},
): ToolDefinition {
  const record = recordOf(graph)
  if (record?.problem !== undefined) throw record.problem
  return prepareGraph(record?.named ?? nameGraph(graph as GraphLike, options)).tool
}
