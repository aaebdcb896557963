/**
 * `ctx.graphTools`: which graphs there are, and who sees them. One global layer and one per agent
 * scope, as in `ctx.tools`; nearest wins. Names are unique within a layer. The registry and
 * `ctx.tools` are independent of each other: a mount may enter both, and each is left by itself.
 *
 * The service is one plain object for everybody, so each registration says whose it is.
 */
import { Context } from '@deepseek-ai/cordis'
import { scopeOf, type ScopeKey } from '@deepseek-ai/dsh-scope'
import type { ToolDefinition } from '@deepseek-ai/dsh-tools'
import { RunningCalls } from './call-scope.ts'
import { servicesOf } from './call-services.ts'
import { recordOf, type NamedGraph } from './definition-record.ts'
import { GraphDefinitionError, GraphDuplicateError, GraphError, messageOf } from './errors.ts'
import { GraphLayers } from './graph-layers.ts'
import { isBuilder, isInvocable, type GraphSource } from './graph-source.ts'
import { mountRemarks } from './mount-remarks.ts'
import { pictureOf, type GraphPicture } from './picture.ts'
import { createGraphTool, nameGraph, prepareGraph } from './tool.ts'
import type { GraphDefinition, GraphEntry, GraphLike, GraphToolOptions } from './types.ts'

/** What a mount enters. */
interface Registration {
  readonly ctx: Context
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

export class GraphTools {
  private readonly layers = new GraphLayers()
  private readonly log: Context

  /** @param log context whose logger gets the warnings. */
  constructor(log: Context) {
    this.log = log
  }

  /**
   * Mounts a definition as it declares itself: into this registry, into `ctx.tools`, or both.
   *
   * @param definition from `createGraphDefinition`. One from `defineGraph` mounts by itself, so
   *   mounting it again in the same layer is a duplicate.
   * @param ctx owner of the mount, which ends with it, and the layer it is seen in.
   * @throws {GraphDefinitionError} an invalid declaration, or no definition at all;
   *   {@link GraphDuplicateError} a name that is taken. Nothing is left half registered.
   */
  mount(definition: GraphDefinition, ctx: Context): GraphEntry {
    const record = recordOf(definition)
    if (record === undefined) throw notADefinition(definition)
    if (record.problem !== undefined) throw record.problem
    // A record without a problem has a graph.
    const named = record.named as NamedGraph
    const { asTool, asGraphTool } = definition
    const owner = requireContext('mount', named.name, ctx)
    return this.enter({ ctx: owner, named, definition, asTool, listed: asGraphTool })
  }

  /**
   * Lists a graph that has no definition. It does not become a tool.
   *
   * @param graph a compiled graph, a builder, or any object with `invoke`.
   * @param ctx owner of the listing, and the layer it is seen in.
   * @param options `name` is required unless the graph was compiled with one.
   * @throws {GraphDefinitionError} a definition (mount that), no graph, or wrong options;
   *   {@link GraphDuplicateError} a name that is taken.
   */
  register(graph: GraphLike, ctx: Context, options: GraphToolOptions = {}): GraphEntry {
    if (recordOf(graph) !== undefined) {
      const name: unknown = Reflect.get(graph, 'name')
      throw new GraphDefinitionError(typeof name === 'string' ? name : undefined, [
        'register takes a graph; a definition declares how it is registered, so use mount(definition, ctx)',
      ])
    }
    const named = nameGraph(graph, options)
    return this.enter({
      ctx: requireContext('register', named.name, ctx),
      named,
      asTool: false,
      listed: true,
    })
  }

  /** Converts a graph into a DSH tool without registering it; see {@link createGraphTool}. */
  create(graph: GraphLike | GraphDefinition, options: GraphToolOptions = {}): ToolDefinition {
    return createGraphTool(graph, options)
  }

  /** The graph of that name as `scope` sees it; without a scope, in the global layer. */
  get(name: string, scope?: ScopeKey): GraphEntry | undefined {
    return this.layers.resolve(name, scope)
  }

  /** All graphs that `scope` sees, in order of registration; without a scope, the global layer. A frozen snapshot. */
  list(scope?: ScopeKey): readonly GraphEntry[] {
    return Object.freeze(this.layers.visible(scope))
  }

  /**
   * The structure of a graph, with a drawing. Nothing is compiled; a graph whose structure had not to be
   * read so far is built for it.
   *
   * @returns `undefined` for a name that `scope` does not see.
   */
  describe(name: string, scope?: ScopeKey): GraphPicture | undefined {
    const entry = this.get(name, scope)
    const source = entry && sources.get(entry)
    return entry && source && pictureOf(entry.name, entry.description, source)
  }

  /**
   * Takes a graph off this registry; its tool, if it has one, stays. Idempotent.
   *
   * @param graph a name in the layer of `scope`, or an entry, which takes off that registration only
   *   and never a successor of the same name.
   * @returns whether something was taken off.
   */
  unregister(graph: string | GraphEntry, scope?: ScopeKey): boolean {
    const entry = typeof graph === 'string' ? this.layers.own(graph, scope) : graph
    return entry !== undefined && this.layers.remove(entry)
  }

  /** The one way in: all checks first, then the registry, then `ctx.tools`. */
  private enter(registration: Registration): GraphEntry {
    const { ctx, named, definition, listed } = registration
    // Before the author's factory runs.
    if (listed) this.layers.refuseTaken(named.name, scopeOf(ctx))
    const calls = new RunningCalls(named.name)
    const prepared = prepareGraph(named, { calls, services: servicesOf(ctx) })
    const entry: GraphEntry = Object.freeze({
      name: named.name,
      description: prepared.tool.description,
      parameters: prepared.parameters,
      tool: Object.freeze(prepared.tool),
      ...(definition === undefined ? {} : { definition }),
      ...(prepared.shape === undefined ? {} : { shape: prepared.shape }),
      asOperator: definition?.asOperator === true,
      check: (args: unknown) => prepared.callable.check(args),
      run: (args: unknown, call) => prepared.callable.run(args, call),
      dispose: async () => leave(),
    } satisfies GraphEntry)
    const leave = ctx.effect(() => this.hold(entry, calls, registration), `graphTools: ${named.name}`)
    sources.set(entry, named.source)
    for (const { level, text } of mountRemarks(named, prepared, registration)) {
      this.log.logger('graph-runtime')[level]('%s', text)
    }
    return entry
  }

  /**
   * Enters both registries, or neither.
   *
   * @returns leaves them at once, so that the names are free, then ends the running calls.
   */
  private hold(entry: GraphEntry, calls: RunningCalls, registration: Registration): () => Promise<void> {
    const { ctx, asTool, listed } = registration
    if (listed) this.layers.insert(entry, scopeOf(ctx))
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
      {
        cause: error,
      },
    )
  }
}

function requireContext(verb: string, graph: string, ctx: Context): Context {
  if (Context.is(ctx)) return ctx
  throw new GraphDefinitionError(graph, [
    `${verb} needs the context that owns the graph as its second argument`,
  ])
}

function notADefinition(value: unknown): GraphDefinitionError {
  const graph = isInvocable(value) || isBuilder(value)
  return new GraphDefinitionError(undefined, [
    graph
      ? 'mount takes a definition; use register(graph, ctx) for a graph'
      : 'mount takes what createGraphDefinition returned',
  ])
}
