/**
 * Enters graphs into the registry and into `ctx.tools`, and takes them out again: both or neither, and
 * running calls end with the mount. Who asks for a mount, and in which words, is not this file's matter.
 */
import type { Context } from '@deepseek-ai/cordis'
import { scopeOf, type ScopeKey } from '@deepseek-ai/dsh-scope'
import type { ToolDefinition } from '@deepseek-ai/dsh-tools'
import { RunningCalls } from './call-scope.ts'
import { servicesOf } from './call-services.ts'
import { recordOf, type NamedGraph } from './definition-record.ts'
import { GraphDefinitionError, GraphDuplicateError, GraphError, messageOf } from './errors.ts'
import { GraphLayers } from './graph-layers.ts'
import { isBuilder, isInvocable, type GraphSource } from './graph-source.ts'
import { mountRemarks } from './mount-remarks.ts'
import { prepareGraph, type PreparedGraph } from './tool.ts'
import type { GraphDefinition, GraphEntry } from './types.ts'

/** What a mount enters. */
export interface Registration {
  readonly named: NamedGraph
  readonly definition?: GraphDefinition
  readonly asTool: boolean
  readonly listed: boolean
}

/** Where the graph of each entry comes from. */
const sources = new WeakMap<GraphEntry, GraphSource>()

/** Where the graph of an entry comes from. */
export function sourceOf(entry: GraphEntry): GraphSource | undefined {
  return sources.get(entry)
}

/** @throws {GraphDefinitionError} an invalid declaration, or no definition at all. */
export function registrationOf(definition: GraphDefinition): Registration {
  const record = recordOf(definition)
  if (record === undefined) throw notADefinition(definition)
  if (record.problem !== undefined) throw record.problem
  // A record without a problem has a graph.
  const named = record.named as NamedGraph
  return { named, definition, asTool: definition.asTool, listed: definition.asGraphTool }
}

function notADefinition(value: unknown): GraphDefinitionError {
  const graph = isInvocable(value) || isBuilder(value)
  return new GraphDefinitionError(undefined, [
    graph
      ? 'mount takes a definition; use register(graph, ctx) for a graph'
      : 'mount takes what createGraphDefinition returned',
  ])
}

/** A graph between its preparation and its entry. */
interface Entering {
  readonly entry: GraphEntry
  readonly calls: RunningCalls
  readonly prepared: PreparedGraph
  readonly registration: Registration
  readonly scope: ScopeKey | undefined
}

export class GraphMounts {
  readonly layers = new GraphLayers()
  private readonly log: Context

  /** @param log context whose logger gets the remarks. */
  constructor(log: Context) {
    this.log = log
  }

  /**
   * Mounts a graph until its entry is disposed or `ctx` ends.
   *
   * @throws {GraphDuplicateError} a name that is taken. Nothing is left half registered.
   */
  mount(registration: Registration, ctx: Context): GraphEntry {
    let leave: () => unknown = () => undefined
    const entering = this.prepare(registration, ctx, async () => void (await leave()))
    leave = ctx.effect(() => this.hold(entering, ctx), `graphTools: ${entering.entry.name}`)
    return this.announce(entering)
  }

  /**
   * Mounts a graph until its entry is disposed: the caller must dispose it before `ctx` has ended. For
   * many mounts of one owner, which would otherwise each be an effect of their own.
   *
   * @throws as {@link mount}.
   */
  adopt(registration: Registration, ctx: Context): GraphEntry {
    let left: Promise<void> | undefined
    let leave = async (): Promise<void> => undefined
    const entering = this.prepare(registration, ctx, () => (left ??= leave()))
    leave = this.hold(entering, ctx)
    return this.announce(entering)
  }

  /** All that can fail because of the graph or its name, before anything is entered. */
  private prepare(registration: Registration, ctx: Context, dispose: () => Promise<void>): Entering {
    const { named, definition, listed } = registration
    const scope = scopeOf(ctx)
    // Before the author's factory runs.
    if (listed) this.layers.refuseTaken(named.name, scope)
    const calls = new RunningCalls(named.name)
    const prepared = prepareGraph(named, { calls, services: servicesOf(ctx) })
    const { tool, parameters, shape, callable } = prepared
    const entry: GraphEntry = Object.freeze({
      name: named.name,
      description: tool.description,
      parameters,
      tool: Object.freeze(tool),
      ...(definition === undefined ? {} : { definition }),
      ...(shape === undefined ? {} : { shape }),
      asOperator: definition?.asOperator === true,
      check: (args: unknown) => callable.check(args),
      run: (args: unknown, call) => callable.run(args, call),
      dispose,
    } satisfies GraphEntry)
    sources.set(entry, named.source)
    return { entry, calls, prepared, registration, scope }
  }

  /**
   * Enters both registries, or neither.
   *
   * @returns leaves them at once, so that the names are free, then ends the running calls.
   */
  private hold({ entry, calls, registration, scope }: Entering, ctx: Context): () => Promise<void> {
    const { asTool, listed } = registration
    if (listed) this.layers.insert(entry, scope)
    let removeTool: (() => void) | undefined
    try {
      if (asTool) removeTool = registerTool(ctx, entry.tool)
    } catch (error) {
      this.layers.remove(entry)
      throw error
    }
    return () => {
      this.layers.remove(entry)
      removeTool?.()
      return calls.close()
    }
  }

  private announce({ entry, prepared, registration }: Entering): GraphEntry {
    for (const { level, text } of mountRemarks(registration.named, prepared, registration)) {
      this.log.logger('graph-runtime')[level]('%s', text)
    }
    return entry
  }
}

/** Registers in the layer of `ctx`, whatever that context injects. */
function registerTool(ctx: Context, tool: ToolDefinition): () => void {
  const tools = ctx.get('tools')
  if (tools === undefined) {
    throw new GraphError(
      'GRAPH_UNAVAILABLE',
      tool.name,
      `graph "${tool.name}" is declared asTool, but there is no ctx.tools`,
    )
  }
  try {
    return tools.register(tool)
  } catch (error) {
    throw new GraphDuplicateError(
      tool.name,
      `refused by ctx.tools: ${messageOf(error)}`,
      'choose another name',
      { cause: error },
    )
  }
}
