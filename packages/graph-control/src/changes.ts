/** Which works changed since a position: a walk from the newest change back. Pure. */
import type { FoldedGraph } from './graph-state.ts'
import type { Work } from './types.ts'

/**
 * Each work that changed after `sinceSeq`, as it is now, newest change first.
 *
 * @returns `undefined` when the position lies before what a snapshot kept, or is to come.
 */
export function changedWorks(state: FoldedGraph, sinceSeq: number): readonly Work[] | undefined {
  if (sinceSeq < state.index.changesFrom || sinceSeq > state.seq) return undefined
  const changed = new Map<string, Work>()
  for (let link = state.index.changes; link !== undefined && link.seq > sinceSeq; link = link.earlier) {
    const work = changed.has(link.workId) ? undefined : state.works.get(link.workId)
    if (work !== undefined) changed.set(work.workId, work)
  }
  return [...changed.values()]
}

/** The works that ended last, newest first, at most `limit`, at the cost of those. */
export function lastEnded(state: FoldedGraph, limit: number): readonly Work[] {
  const ended: Work[] = []
  for (let link = state.index.ended; link !== undefined && ended.length < limit; link = link.earlier) {
    const work = state.works.get(link.workId)
    // Stale where the work was retried since.
    if (work?.endedChangeSeq === link.changeSeq) ended.push(work)
  }
  return ended
}

/** A page of the works that are not over, by their place in the graph; `afterOrdinal` 0 begins. */
export function pendingAfter(state: FoldedGraph, afterOrdinal: number, limit: number): readonly Work[] {
  const page: Work[] = []
  const precedes = (id: string): boolean => (state.works.get(id)?.ordinal ?? 0) <= afterOrdinal
  for (const id of state.live.pending.keysFrom(precedes)) {
    if (page.length === limit) break
    const work = state.works.get(id)
    if (work !== undefined) page.push(work)
  }
  return page
}
