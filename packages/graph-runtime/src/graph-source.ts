/**
 * Where a graph comes from: the factory, called once; the builder, compiled once, at the first call.
 * Owns both memos; a failure is never kept, so the next call tries again. Graphs are told apart by
 * shape, since the author's copy of LangGraph need not be ours.
 */
import { GraphDefinitionError } from './errors.ts'
import type { GraphBuilder, GraphInvocable, GraphLike } from './types.ts'

function hasMethod(value: unknown, method: string): boolean {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false
  return typeof Reflect.get(value, method) === 'function'
}

/** Whether the value runs as it is: it has `invoke`. */
export function isInvocable(value: unknown): value is GraphInvocable {
  return hasMethod(value, 'invoke')
}

/** Whether the value is a builder: it has `compile`, and no `invoke`. */
export function isBuilder(value: unknown): value is GraphBuilder {
  return !isInvocable(value) && hasMethod(value, 'compile')
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return hasMethod(value, 'then')
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return typeof value === 'object' ? 'an object with neither compile nor invoke' : String(typeof value)
}

/** What {@link GraphSource.peek} found. */
export type Peeked =
  | { readonly kind: 'graph'; readonly graph: GraphLike }
  /** The factory is async; nothing can be read before a call. */
  | { readonly kind: 'pending' }
  | { readonly kind: 'failed'; readonly error: unknown }

export class GraphSource {
  private readonly graphName: string
  private readonly build: () => unknown
  private built: GraphLike | undefined
  private building: Promise<GraphLike> | undefined
  private compiled: GraphInvocable | undefined
  private compiling: Promise<GraphInvocable> | undefined

  constructor(graphName: string, build: () => unknown) {
    this.graphName = graphName
    this.build = build
  }

  /** Reads the uncompiled graph if that takes no waiting. Runs the factory when it has not run yet. */
  peek(): Peeked {
    if (this.built !== undefined) return { kind: 'graph', graph: this.built }
    try {
      const graph = this.take()
      return isPromise(graph) ? { kind: 'pending' } : { kind: 'graph', graph }
    } catch (error) {
      return { kind: 'failed', error }
    }
  }

  /**
   * The graph as the factory gave it. Callers that wait for an async factory share its run and its failure.
   *
   * @throws what the factory threw, unchanged; {@link GraphDefinitionError} when it gave no graph.
   */
  load(): GraphLike | Promise<GraphLike> {
    return this.built ?? this.take()
  }

  /** Resolves when an async factory that runs has ended, however it did. Starts nothing. */
  async settled(): Promise<void> {
    await this.building?.catch(() => undefined)
  }

  /** The uncompiled graph if the factory has run already. */
  get known(): GraphLike | undefined {
    return this.built
  }

  /**
   * The runnable graph, at once wherever nothing is async, so that calls keep their order. Concurrent
   * callers share one attempt and its failure.
   *
   * @throws what the factory or `compile` threw, unchanged; {@link GraphDefinitionError} when they
   *   gave no graph.
   */
  ready(): GraphInvocable | Promise<GraphInvocable> {
    if (this.compiled !== undefined) return this.compiled
    if (this.compiling !== undefined) return this.compiling
    try {
      const graph = this.load()
      if (!(graph instanceof Promise)) return this.compile(graph)
      this.compiling = graph.then((built) => this.compile(built))
    } catch (error) {
      this.compiling = Promise.reject(error)
    }
    return (this.compiling = this.compiling.finally(() => (this.compiling = undefined)))
  }

  private compile(graph: GraphLike): GraphInvocable {
    const compiled: unknown = isInvocable(graph) ? graph : graph.compile()
    if (!isInvocable(compiled)) throw this.notAGraph('compile()', compiled)
    return (this.compiled = compiled)
  }

  /** Runs the factory, or joins the async run that is under way. */
  private take(): GraphLike | Promise<GraphLike> {
    if (this.building !== undefined) return this.building
    const product = this.build()
    if (!isPromise(product)) return (this.built = this.accept(product))
    this.building = Promise.resolve(product)
      .then((value) => (this.built = this.accept(value)))
      .finally(() => (this.building = undefined))
    // A failure met while nobody waits yet is met again by the next call, which runs the factory anew.
    this.building.catch(() => undefined)
    return this.building
  }

  private accept(product: unknown): GraphLike {
    if (isInvocable(product) || isBuilder(product)) return product
    throw this.notAGraph('build()', product)
  }

  private notAGraph(call: string, value: unknown): GraphDefinitionError {
    return new GraphDefinitionError(this.graphName, [
      `${call} returned ${kindOf(value)}; return a StateGraph builder or a compiled graph`,
    ])
  }
}
