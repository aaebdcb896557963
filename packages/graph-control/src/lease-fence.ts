/**
 * Fencing by the stream itself: the first commit under a newer lease says so in the graph, and from
 * then on nothing of an older lease fits any more, however late its holder wakes up.
 */
import { type GraphEntry, graphEntry } from './entries.ts'
import { GraphControlError } from './errors.ts'
import type { FoldedGraph } from './graph-state.ts'
import type { GraphLease } from './port.ts'
import { id, requireShape } from './request-shapes.ts'
import { integer, object } from './shape.ts'

const shape = object({ rootSessionId: id, epoch: integer(1), holderId: id })

/**
 * A lease as the store keeps it: what is written of it was checked, and does not change any more.
 *
 * @throws GraphControlError `invalid`.
 */
export function checkedLease(lease: GraphLease): GraphLease {
  if (typeof lease !== 'object' || lease === null || typeof lease.assertHeld !== 'function') {
    throw new GraphControlError('invalid', 'leased refused: the lease must be an object with assertHeld()')
  }
  const { rootSessionId, epoch, holderId } = lease
  const checked = requireShape('leased', shape, { rootSessionId, epoch, holderId })
  return Object.freeze({ ...checked, assertHeld: () => lease.assertHeld() })
}

/** @throws GraphControlError `invalid`; what the lease throws when it is not held. */
export function requireLeaseOf(lease: GraphLease, rootSessionId: string): void {
  lease.assertHeld()
  if (rootSessionId === lease.rootSessionId) return
  throw new GraphControlError('invalid', `the lease is for root ${lease.rootSessionId}, not ${rootSessionId}`)
}

/** @throws GraphControlError `lease-lost`, `invalid`; what the lease throws when it is not held. */
export function requireLease(state: FoldedGraph, lease: GraphLease): void {
  lease.assertHeld()
  const { graphId, rootSessionId, fence } = state
  if (rootSessionId !== undefined && rootSessionId !== lease.rootSessionId) {
    throw new GraphControlError(
      'invalid',
      `graph ${graphId} belongs to root ${rootSessionId}; the lease is for root ${lease.rootSessionId}`,
    )
  }
  if (fence !== undefined && fence.epoch > lease.epoch) {
    throw new GraphControlError(
      'lease-lost',
      `holder ${fence.holderId} took graph ${graphId} over in epoch ${fence.epoch}; this lease is of epoch ${lease.epoch}`,
    )
  }
}

/** The entries, after the one that tells of the lease where the graph does not know it yet. */
export function fenced(
  state: FoldedGraph,
  lease: GraphLease,
  entries: readonly GraphEntry[],
): readonly GraphEntry[] {
  if (isTaken(state, lease)) return entries
  const at = entries[0]?.data.at ?? 0
  // A graph that is opened by these entries is opened first.
  const opening = entries.filter((entry) => entry.type === 'graph/opened')
  const rest = entries.filter((entry) => entry.type !== 'graph/opened' && entry.type !== 'fence')
  return [...opening, fenceEntry(lease, at), ...rest]
}

export function isTaken({ fence }: FoldedGraph, { epoch }: GraphLease): boolean {
  return fence !== undefined && fence.epoch >= epoch
}

export function fenceEntry({ epoch, holderId }: GraphLease, at: number): GraphEntry {
  return graphEntry('fence', { at, epoch, holderId })
}
