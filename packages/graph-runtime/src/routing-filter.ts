/**
 * Which graphs one routing offers. The filter is judged against the graphs that exist when it starts;
 * after that they may come and go, and the view follows.
 */
import type { ScopeKey } from '@deepseek-ai/dsh-scope'
import type { GraphTools } from './registry.ts'
import { GraphRoutingConfigError } from './routing-errors.ts'
import { listNames } from './routing-names.ts'
import type { GraphEntry } from './types.ts'

/** Whether the filter lets a graph of that name through. */
type Admits = (name: string) => boolean

/** The registry as one routing sees it. */
export interface Registry {
  readonly graphs: Pick<GraphTools, 'get' | 'list'>
  readonly scope: ScopeKey | undefined
}

export class FilteredGraphs {
  private readonly registry: Registry
  private readonly admits: Admits

  /** @throws {GraphRoutingConfigError} a filter that does not fit the graphs there are. */
  constructor(registry: Registry, filter: unknown) {
    const known = registry.graphs.list(registry.scope).map(({ name }) => name)
    this.registry = registry
    this.admits = compileFilter(filter, known)
  }

  /** The graph of that name, while it is listed and the filter lets it through. */
  get(name: string): GraphEntry | undefined {
    return this.admits(name) ? this.registry.graphs.get(name, this.registry.scope) : undefined
  }

  /** All of them at this moment, in order of registration. */
  list(): GraphEntry[] {
    return this.registry.graphs.list(this.registry.scope).filter(({ name }) => this.admits(name))
  }

  names(): string[] {
    return this.list().map(({ name }) => name)
  }
}

function namesAt(filter: object, key: 'allow' | 'deny', problems: string[]): ReadonlySet<string> | undefined {
  const names: unknown = Reflect.get(filter, key)
  if (names === undefined) return undefined
  if (Array.isArray(names) && names.every((name) => typeof name === 'string')) return new Set(names)
  problems.push(`filter.${key} must be a list of graph names`)
  return undefined
}

/**
 * Compiles a filter.
 *
 * @param filter what the router was given; `undefined` lets every graph through.
 * @param known names of the graphs there are.
 * @throws {GraphRoutingConfigError} a filter without lists, unknown names, or one that leaves no graph.
 */
function compileFilter(filter: unknown, known: readonly string[]): Admits {
  if (filter === undefined) {
    if (known.length > 0) return () => true
    throw new GraphRoutingConfigError(['there is no graph to route to; define one, or mount one'])
  }
  if (typeof filter !== 'object' || filter === null) {
    throw new GraphRoutingConfigError(['filter must be an object with allow, deny, or both'])
  }
  const problems: string[] = []
  const allow = namesAt(filter, 'allow', problems)
  const deny = namesAt(filter, 'deny', problems)
  if (problems.length > 0) throw new GraphRoutingConfigError(problems)
  if (allow === undefined && deny === undefined) {
    throw new GraphRoutingConfigError([
      'filter {} filters nothing: give allow, deny, or both, or leave it out',
    ])
  }
  refuseUnknown([...(allow ?? []), ...(deny ?? [])], known)
  const admits: Admits = (name) => (allow?.has(name) ?? true) && deny?.has(name) !== true
  if (known.some(admits)) return admits
  throw new GraphRoutingConfigError([`filter leaves no graph; there are ${listNames(known)}`])
}

function refuseUnknown(names: readonly string[], known: readonly string[]): void {
  const present = new Set(known)
  const unknown = [...new Set(names)].filter((name) => !present.has(name))
  if (unknown.length === 0) return
  const subject = unknown.length === 1 ? 'an unknown graph' : 'unknown graphs'
  throw new GraphRoutingConfigError([
    `filter names ${subject}, ${listNames(unknown)}; there are ${listNames(known)}`,
  ])
}
