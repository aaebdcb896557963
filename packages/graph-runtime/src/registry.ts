/**
 * `ctx.graphTools`: which graphs there are, and who sees them. One global layer and one per agent
 * scope, as in `ctx.tools`; nearest wins. Names are unique within a layer. The registry and
 * `ctx.tools` are independent of each other: a mount may enter both, and each is left by itself.
 *
 * The service is one plain object for everybody, so each registration says whose it is.
 */
import { Context } from '@deepseek-ai/cordis'
import type { ScopeKey } from '@deepseek-ai/dsh-scope'
import type { ToolDefinition } from '@deepseek-ai/dsh-tools'
import { recordOf } from './definition-record.ts'
import { GraphDefinitionError } from './errors.ts'
import { registrationOf, sourceOf, type GraphMounts } from './mounts.ts'
import type { GraphPicture } from './picture-types.ts'
import { pictureOf } from './picture.ts'
import { createGraphTool, nameGraph } from './tool.ts'
import type { GraphDefinition, GraphEntry, GraphLike, GraphToolOptions } from './types.ts'

export class GraphTools {
  private readonly mounts: GraphMounts

  constructor(mounts: GraphMounts) {
    this.mounts = mounts
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
    const registration = registrationOf(definition)
    return this.mounts.mount(registration, requireContext('mount', registration.named.name, ctx))
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
    const owner = requireContext('register', named.name, ctx)
    return this.mounts.mount({ named, asTool: false, listed: true }, owner)
  }

  /** Converts a graph into a DSH tool without registering it; see {@link createGraphTool}. */
  create(graph: GraphLike | GraphDefinition, options: GraphToolOptions = {}): ToolDefinition {
    return createGraphTool(graph, options)
  }

  /** The graph of that name as `scope` sees it; without a scope, in the global layer. */
  get(name: string, scope?: ScopeKey): GraphEntry | undefined {
    return this.mounts.layers.resolve(name, scope)
  }

  /** All graphs that `scope` sees, in order of registration; without a scope, the global layer. A frozen snapshot. */
  list(scope?: ScopeKey): readonly GraphEntry[] {
    return Object.freeze(this.mounts.layers.visible(scope))
  }

  /**
   * The structure of a graph, with a drawing. Nothing is compiled; a graph whose structure had not to be
   * read so far is built for it.
   *
   * @returns `undefined` for a name that `scope` does not see.
   */
  describe(name: string, scope?: ScopeKey): GraphPicture | undefined {
    const entry = this.get(name, scope)
    const source = entry && sourceOf(entry)
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
    const entry = typeof graph === 'string' ? this.mounts.layers.own(graph, scope) : graph
    return entry !== undefined && this.mounts.layers.remove(entry)
  }
}

function requireContext(verb: string, graph: string, ctx: Context): Context {
  if (Context.is(ctx)) return ctx
  throw new GraphDefinitionError(graph, [
    `${verb} needs the context that owns the graph as its second argument`,
  ])
}
