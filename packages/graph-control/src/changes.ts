/**
 * Pages of a graph's works without a walk over all of them: what changed, what ended last, what is
 * pending. Pure. A state of this store answers at the cost of the page; that of another store is
 * searched.
 */
import type { FoldedGraph, GraphIndex } from './graph-state.ts'
import type { GraphState, Work } from './types.ts'
import { TERMINAL_WORK_STATUSES } from './types.ts'

function indexOf(state: GraphState): GraphIndex | undefined {
  return 'index' in state ? (state as FoldedGraph).index : undefined
}

/**
 * Each work that changed after `sinceSeq`, as it is now, newest change first.
 *
 * @returns `undefined` when that is too long ago to be known, or is to come.
 */
export function changedWorks(state: GraphState, sinceSeq: number): readonly Work[] | undefined {
  const index = indexOf(state)
  if (index === undefined || sinceSeq < index.changesFrom || sinceSeq > state.seq) return undefined
  const changed = new Map<string, Work>()
  for (let link = index.changes; link !== undefined && link.seq > sinceSeq; link = link.earlier) {
    const work = changed.has(link.workId) ? undefined : state.works.get(link.workId)
    if (work !== undefined) changed.set(work.workId, work)
  }
  return [...changed.values()]
}

/** The works that ended last, newest first, at most `limit`; those before `beforeChangeSeq` if given. */
export function endedWorks(
  state: GraphState,
  { beforeChangeSeq = Number.POSITIVE_INFINITY, limit }: { beforeChangeSeq?: number; limit: number },
): readonly Work[] {
  const index = indexOf(state)
  if (index === undefined) return searchEnded(state, beforeChangeSeq, limit)
  const ended: Work[] = []
  for (let link = index.ended; link !== undefined && ended.length < limit; link = link.earlier) {
    if (link.changeSeq >= beforeChangeSeq) continue
    const work = state.works.get(link.workId)
    // Stale where the work was retried since.
    if (work?.endedChangeSeq === link.changeSeq) ended.push(work)
  }
  const isWhole = ended.length === limit || index.endedFrom === 0
  return isWhole ? ended : searchEnded(state, beforeChangeSeq, limit)
}

function searchEnded(state: GraphState, beforeChangeSeq: number, limit: number): readonly Work[] {
  return [...state.works.values()]
    .filter((work) => work.endedChangeSeq !== undefined && work.endedChangeSeq < beforeChangeSeq)
    .sort((a, b) => (b.endedChangeSeq ?? 0) - (a.endedChangeSeq ?? 0))
    .slice(0, limit)
}

/** The works that are not over, in order of addition, at most `limit`, after a place among them. */
export function pendingWorks(
  state: GraphState,
  { afterOrdinal = 0, limit }: { afterOrdinal?: number; limit: number },
): readonly Work[] {
  if (indexOf(state) === undefined) return searchPending(state, afterOrdinal, limit)
  const { pending } = (state as FoldedGraph).live
  const page: Work[] = []
  const precedes = (id: string): boolean => (state.works.get(id)?.ordinal ?? 0) <= afterOrdinal
  for (const id of pending.keysFrom(precedes)) {
    if (page.length === limit) break
    const work = state.works.get(id)
    if (work !== undefined) page.push(work)
  }
  return page
}

function searchPending(state: GraphState, afterOrdinal: number, limit: number): readonly Work[] {
  return [...state.live.pending.keys()]
    .flatMap((id) => state.works.get(id) ?? [])
    .filter((work) => work.ordinal > afterOrdinal && !TERMINAL_WORK_STATUSES.has(work.status))
    .sort((a, b) => a.ordinal - b.ordinal)
    .slice(0, limit)
}

/** The committed records that a work's inputs stand for now, in the order of its inputs. */
export function inputRecordIds(state: GraphState, work: Work): readonly string[] {
  return work.inputIds.flatMap((id) => {
    if (state.records.has(id)) return [id]
    let input = state.works.get(id)
    while (input?.replacedBy !== undefined) input = state.works.get(input.replacedBy)
    return input?.recordIds ?? []
  })
}
