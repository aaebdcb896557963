/**
 * From a graph to a DSH tool, a pure conversion: nothing is registered and nothing compiled. What an
 * author left open is read off the graph, which runs the factory but never `compile`.
 */
import type { ParameterJsonSchema, ToolDefinition } from '@deepseek-ai/dsh-tools'
import { callCard } from './call-card.ts'
import { GraphCallable } from './callable.ts'
import type { RunningCalls } from './call-scope.ts'
import type { CallServices } from './call-services.ts'
import { recordOf, type NamedGraph } from './definition-record.ts'
import { deriveParameters, type Derived } from './derived-parameters.ts'
import { describeGraph, ownDescription, ownName, shapeOf } from './describe.ts'
import { GraphDefinitionError } from './errors.ts'
import { GraphSource, isBuilder, isInvocable } from './graph-source.ts'
import { inputSchemaOf } from './input-schema.ts'
import { nameProblem } from './names.ts'
import { inputParameter, type GraphParameters } from './parameters.ts'
import { resultText } from './result-text.ts'
import { checkSettings, type CheckedSettings } from './settings.ts'
import type { GraphDefinition, GraphLike, GraphShape, GraphToolOptions } from './types.ts'

/** A graph ready to be offered. */
export interface PreparedGraph {
  readonly tool: ToolDefinition
  readonly parameters: ParameterJsonSchema
  readonly callable: GraphCallable
  readonly shape: GraphShape | undefined
  /** What came of deriving parameters, where the author declared none. */
  readonly derived: Derived | undefined
  /** What the factory threw while the graph's structure was to be read. */
  readonly failure: { readonly error: unknown } | undefined
}

/** What a mount gives its calls. */
export interface MountParts {
  readonly calls?: RunningCalls
  readonly services?: CallServices
}

/** What is read off the graph where the author left something open. */
interface Reading {
  readonly description: string
  readonly parameters: GraphParameters
  readonly shape: GraphShape | undefined
  readonly derived: Derived | undefined
  readonly failure: PreparedGraph['failure']
}

function read({ name, source, settings }: NamedGraph): Reading {
  const { description: ownText, parameters: declared } = settings
  if (ownText !== undefined && declared !== undefined) {
    return {
      description: ownText,
      parameters: declared,
      shape: undefined,
      derived: undefined,
      failure: undefined,
    }
  }
  const peeked = source.peek()
  const graph = peeked.kind === 'graph' ? peeked.graph : undefined
  const shape = graph && shapeOf(graph)
  const derived = declared ? undefined : deriveParameters(graph && inputSchemaOf(graph), settings.derive)
  const found = derived?.kind === 'parameters' ? derived.parameters : undefined
  return {
    description: ownText ?? (graph && ownDescription(graph)) ?? describeGraph(name, shape),
    parameters: declared ?? found ?? inputParameter(shape),
    shape,
    derived,
    failure: peeked.kind === 'failed' ? { error: peeked.error } : undefined,
  }
}

function toolOf(
  name: string,
  reading: Reading,
  settings: CheckedSettings,
  callable: GraphCallable,
): ToolDefinition {
  const { description, parameters } = reading
  return {
    name,
    description,
    parameters: { ...parameters.schema },
    output: {
      schema: settings.outputSchema ?? {},
      render: (_args, value) => [{ type: 'text', text: resultText(value, settings.maxResultChars) }],
    },
    execute: (args, exec) =>
      callable.run(args, {
        signal: exec.signal,
        callId: exec.callId,
        ...(exec.agent === undefined ? {} : { agent: exec.agent }),
      }),
    presentCall: (args) => callCard(name, reading.shape, args),
    ...(settings.timeoutMs === undefined ? {} : { timeoutMs: settings.timeoutMs }),
    ...(settings.concurrencySafe ? { isConcurrencySafe: () => true } : {}),
  }
}

/** Finishes the declaration from the graph itself, where that is needed, and makes the tool. */
export function prepareGraph(named: NamedGraph, mount: MountParts = {}): PreparedGraph {
  const { name, source, settings } = named
  const reading = read(named)
  const { parameters, shape, derived, failure } = reading
  const callable = new GraphCallable({ name, source, parameters, settings, ...mount })
  const tool = toolOf(name, reading, settings, callable)
  return { tool, parameters: parameters.schema, callable, shape, derived, failure }
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
