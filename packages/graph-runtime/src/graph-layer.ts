/** One layer of the registry: what is listed under which name, and how each listing comes off again. */
import { NamedEntries, type ScopeLayer } from '@deepseek-ai/dsh-scope'
import { GraphDuplicateError } from './errors.ts'
import type { GraphEntry } from './types.ts'

/** One listing and how to take it off. */
export interface Listing {
  readonly entry: GraphEntry
  readonly remove: () => void
}

export class GraphLayer implements ScopeLayer {
  readonly listings = new NamedEntries<Listing>(
    (name) =>
      new GraphDuplicateError(name, 'listed here', 'choose another name, or unregister that one first'),
  )

  isEmpty(): boolean {
    return this.listings.isEmpty()
  }
}

/**
 * Lists an entry.
 *
 * @param listed learns of the listing for as long as it lasts.
 * @returns takes it off, once; a successor of the same name stays.
 * @throws {GraphDuplicateError} a name that is taken in this layer.
 */
export function insertListing(
  layer: GraphLayer,
  entry: GraphEntry,
  listed: WeakMap<GraphEntry, Listing>,
): () => void {
  const listing: Listing = {
    entry,
    remove: () => {
      listed.delete(entry)
      undo()
    },
  }
  const undo = layer.listings.insert(entry.name, listing)
  listed.set(entry, listing)
  return listing.remove
}
