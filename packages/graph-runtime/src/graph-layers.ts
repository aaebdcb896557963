/**
 * Which graph is listed under which name, for whom: a global layer and one per agent scope, looked up
 * as `ctx.tools` looks up its tools. Owns the names, not the lifetimes: whoever lists a graph takes it
 * off again.
 */
import { scopeChainOf, type ScopeKey } from '@deepseek-ai/dsh-scope'
import { GraphDuplicateError } from './errors.ts'
import type { GraphEntry } from './types.ts'

type Layer = Map<string, GraphEntry>

export class GraphLayers {
  private readonly global: Layer = new Map()
  private readonly scoped = new WeakMap<ScopeKey, Layer>()
  /** How each listed entry comes off. */
  private readonly removals = new WeakMap<GraphEntry, () => void>()

  /** The entry of that name as `scope` sees it, nearest layer first; without a scope, the global one. */
  resolve(name: string, scope: ScopeKey | undefined): GraphEntry | undefined {
    for (const key of scopeChainOf(scope)) {
      const entry = this.scoped.get(key)?.get(name)
      if (entry !== undefined) return entry
    }
    return this.global.get(name)
  }

  /** All entries that `scope` sees, in the order in which their names were first listed. */
  visible(scope: ScopeKey | undefined): GraphEntry[] {
    const merged: Layer = new Map(this.global)
    for (const key of scopeChainOf(scope).toReversed()) {
      for (const [name, entry] of this.scoped.get(key) ?? []) merged.set(name, entry)
    }
    return Array.from(merged.values())
  }

  /** The entry listed under the name in the layer of exactly this scope. */
  own(name: string, scope: ScopeKey | undefined): GraphEntry | undefined {
    return (scope === undefined ? this.global : this.scoped.get(scope))?.get(name)
  }

  /** @throws {GraphDuplicateError} when the name is taken in the layer of exactly this scope. */
  refuseTaken(name: string, scope: ScopeKey | undefined): void {
    if (this.own(name, scope) === undefined) return
    throw new GraphDuplicateError(
      name,
      scope === undefined ? 'listed in graphTools' : 'listed in graphTools for this scope',
      'choose another name, or unmount that one first; a defineGraph definition mounts by itself, use createGraphDefinition to mount one by hand',
    )
  }

  /**
   * Lists an entry under its name.
   *
   * @throws {GraphDuplicateError} a name that is taken in that layer.
   */
  insert(entry: GraphEntry, scope: ScopeKey | undefined): void {
    this.refuseTaken(entry.name, scope)
    const layer = scope === undefined ? this.global : (this.scoped.get(scope) ?? new Map())
    if (scope !== undefined) this.scoped.set(scope, layer)
    layer.set(entry.name, entry)
    this.removals.set(entry, () => void layer.delete(entry.name))
  }

  /** Takes an entry off. Once: a successor of the same name stays. Tells whether it was listed. */
  remove(entry: GraphEntry): boolean {
    const removal = this.removals.get(entry)
    this.removals.delete(entry)
    removal?.()
    return removal !== undefined
  }
}
