/**
 * What `view_agent_graph` shows: a bounded picture of one graph, made from the folded state. Pure,
 * and at the cost of what is shown. Every list has at most 64 entries, the whole at most
 * {@link VIEW_BYTES}; what is left out is counted, and a cursor leads on.
 */
import { changedWorks, endedWorks, pendingWorks, type GraphState, type Work } from 'dsh-graph-control'
import { brief } from './data-text.ts'
import { renderWork } from './render-work.ts'
import { cursorFor, readCursor, sinceCursor } from './view-cursor.ts'
import { workView, type Standing, type WorkView } from './work-view.ts'

export const VIEW_PAGE = 64
/**
 * Bytes of the works of one view, as JSON or as text, whichever is more. With head, cursors, results
 * of the finish and adjustments an answer stays under 16 KiB in both forms.
 */
export const VIEW_BYTES = 9 * 1024
/** Of those, what works that have ended may take while others wait to be shown. */
const ENDED_BYTES = 5 * 1024
const REASON_CHARS = 240

export interface GraphView {
  /** False for a graph that this session does not have; every list is then empty. */
  readonly known: boolean
  readonly graphId: string | null
  readonly phase: 'draft' | 'open' | 'closed'
  readonly closed: boolean
  readonly revision: number
  /** Give it as `since` to see only what changed after this view. */
  readonly seq: number
  readonly counts: { readonly works: number; readonly pending: number; readonly terminal: number }
  /** Works that have not ended, a page. */
  readonly live: readonly WorkView[]
  /** The newest works that have ended. */
  readonly ended: readonly WorkView[]
  readonly finish?: { readonly resultIds: readonly string[]; readonly reason: string }
  readonly omitted: { readonly live: number; readonly ended: number }
  /** To the pending works that follow; of a view of changes, to the changed ones that follow. */
  readonly nextCursor?: string
  /** To the works that ended before those shown. */
  readonly endedCursor?: string
  /** The position that this view shows the changes since. */
  readonly since?: number
  /** Works that are meant and not shown: changed ones, or those of a large update. */
  readonly moreChanged?: number
  /** Wakes that were given up, so that the root is not woken for them. */
  readonly exhaustedWakes?: readonly string[]
}

/** A view of changes where there are none. */
export type UnchangedView = Pick<GraphView, 'known' | 'graphId' | 'phase' | 'seq' | 'counts'> & {
  readonly since: number
}

/** A graph that is not there: the view is total. */
export function emptyView(graphId: string | null): GraphView {
  return {
    known: false,
    graphId,
    phase: 'open',
    closed: false,
    revision: 0,
    seq: 0,
    counts: { works: 0, pending: 0, terminal: 0 },
    live: [],
    ended: [],
    omitted: { live: 0, ended: 0 },
  }
}

interface Shown {
  readonly live: readonly WorkView[]
  readonly ended: readonly WorkView[]
  readonly nextCursor?: string | undefined
  readonly endedCursor?: string | undefined
}

function viewWith(state: GraphState, shown: Shown): GraphView {
  const { graphId, phase, closed, revision, seq, counts, finish } = state
  const exhausted = exhaustedWakes(state)
  const { live, ended, nextCursor, endedCursor } = shown
  return {
    known: true,
    graphId,
    phase,
    closed,
    revision,
    seq,
    counts,
    live,
    ended,
    ...(finish === undefined
      ? {}
      : { finish: { resultIds: finish.resultIds, reason: brief(finish.reason, REASON_CHARS) } }),
    omitted: { live: counts.pending - live.length, ended: counts.terminal - ended.length },
    ...(nextCursor === undefined ? {} : { nextCursor }),
    ...(endedCursor === undefined ? {} : { endedCursor }),
    ...(exhausted.length === 0 ? {} : { exhaustedWakes: exhausted }),
  }
}

/** The newest wake, if it was given up and reported what nobody has seen. */
function exhaustedWakes(state: GraphState): readonly string[] {
  if (state.live.openWakeId !== undefined || state.live.wokenChangeSeq <= state.seenChangeSeq) return []
  let newest: { wakeId: string; status: string } | undefined
  for (const wake of state.wakes.values()) if (wake.dueAt === undefined) newest = wake
  return newest?.status === 'exhausted' ? [newest.wakeId] : []
}

/** As many of the works as fit, at least one. */
function fit(
  state: GraphState,
  works: readonly Work[],
  bytes: number,
  standing: Standing = {},
): { views: readonly WorkView[]; bytesLeft: number } {
  const views: WorkView[] = []
  let [json, text] = [bytes, bytes]
  for (const work of works) {
    const view = workView(state, work, standing)
    json -= Buffer.byteLength(JSON.stringify(view)) + 1
    text -= Buffer.byteLength(renderWork(view)) + 1
    if (Math.min(json, text) < 0 && views.length > 0) return { views, bytesLeft: 0 }
    views.push(view)
  }
  return { views, bytesLeft: Math.max(0, Math.min(json, text)) }
}

/**
 * One page of a graph: works that are pending, in order of addition, and on the first page the
 * newest ones that ended. Each list has a cursor of its own to what it leaves out.
 *
 * @returns `undefined` for a cursor that is none of this graph.
 */
export function viewOf(state: GraphState, cursor?: string, standing?: Standing): GraphView | undefined {
  if (cursor === undefined) return firstPage(state, standing)
  const place = readCursor(state.graphId, cursor)
  switch (place?.section) {
    case 'work':
      return livePage(state, place.key, standing)
    case 'ended':
      return endedPage(state, place.key)
    case 'since':
      return changesPage(state, { since: place.since, afterOrdinal: place.key, standing })
    case undefined:
      return undefined
  }
}

function firstPage(state: GraphState, standing?: Standing): GraphView {
  const ended = endedOf(state, Number.POSITIVE_INFINITY, ENDED_BYTES)
  const bytes = VIEW_BYTES - ENDED_BYTES + ended.bytesLeft
  const live = liveOf(state, { afterOrdinal: 0, bytes, standing })
  return viewWith(state, {
    live: live.views,
    ended: ended.views,
    nextCursor: live.next,
    endedCursor: ended.next,
  })
}

function livePage(state: GraphState, afterOrdinal: number, standing?: Standing): GraphView {
  const { views, next } = liveOf(state, { afterOrdinal, bytes: VIEW_BYTES, standing })
  return viewWith(state, { live: views, ended: [], nextCursor: next })
}

function endedPage(state: GraphState, beforeChangeSeq: number): GraphView {
  const { views, next } = endedOf(state, beforeChangeSeq, VIEW_BYTES)
  return viewWith(state, { live: [], ended: views, endedCursor: next })
}

interface LivePage {
  readonly afterOrdinal: number
  readonly bytes: number
  readonly standing: Standing | undefined
}

function liveOf(state: GraphState, { afterOrdinal, bytes, standing }: LivePage) {
  const works = pendingWorks(state, { afterOrdinal, limit: VIEW_PAGE + 1 })
  const { views, bytesLeft } = fit(state, works.slice(0, VIEW_PAGE), bytes, standing)
  const last = works[views.length - 1]
  const hasMore = works.length > views.length && last !== undefined
  return { views, bytesLeft, next: hasMore ? cursorFor(state.graphId, 'work', last.ordinal) : undefined }
}

function endedOf(state: GraphState, beforeChangeSeq: number, bytes: number) {
  const works = endedWorks(state, { beforeChangeSeq, limit: VIEW_PAGE + 1 })
  const { views, bytesLeft } = fit(state, works.slice(0, VIEW_PAGE), bytes)
  const last = works[views.length - 1]?.endedChangeSeq
  const hasMore = works.length > views.length && last !== undefined
  return { views, bytesLeft, next: hasMore ? cursorFor(state.graphId, 'ended', last) : undefined }
}

/** Counts, what runs and what is next: nothing of what ended. */
export function summaryOf(state: GraphState, standing?: Standing): GraphView {
  const works = pendingWorks(state, { limit: VIEW_PAGE })
  const frontier = works.filter((work) => work.status !== 'waiting').slice(0, 16)
  const { views } = fit(state, frontier, VIEW_BYTES / 2, standing)
  return viewWith(state, { live: views, ended: [] })
}

/** What changed since an earlier view; the whole first page where that is not known any more. */
export function changesSince(
  state: GraphState,
  since: number,
  standing?: Standing,
): GraphView | UnchangedView {
  const view = changesPage(state, { since, afterOrdinal: 0, standing })
  const { known, graphId, phase, seq, counts } = view
  const isNew = view.since === undefined || view.live.length + view.ended.length > 0
  return isNew || view.exhaustedWakes !== undefined ? view : { known, graphId, phase, seq, counts, since }
}

/**
 * The changed works in order of addition, so that a page has a place to go on from: a work that
 * changes meanwhile is shown as it is then, or by the next view since this one's `seq`.
 */
function changesPage(
  state: GraphState,
  { since, afterOrdinal, standing }: { since: number; afterOrdinal: number; standing: Standing | undefined },
): GraphView {
  const changed = changedWorks(state, since)
  if (changed === undefined) return firstPage(state, standing)
  const works = changed
    .filter((work) => work.ordinal > afterOrdinal)
    .toSorted((a, b) => a.ordinal - b.ordinal)
  const view = selectionOf(state, works, standing)
  const last = works[view.live.length + view.ended.length - 1]
  return {
    ...view,
    since,
    ...(view.moreChanged === undefined || last === undefined
      ? {}
      : { nextCursor: sinceCursor(state.graphId, since, last.ordinal) }),
  }
}

/** A view of some works only, with the counts of all; `omitted` counts the rest of the graph. */
export function selectionOf(state: GraphState, works: readonly Work[], standing?: Standing): GraphView {
  const { views } = fit(state, works.slice(0, VIEW_PAGE), VIEW_BYTES, standing)
  const isOver = (at: number): boolean => works[at]?.endedAt !== undefined
  return {
    ...viewWith(state, {
      live: views.filter((_, at) => !isOver(at)),
      ended: views.filter((_, at) => isOver(at)),
    }),
    ...(works.length > views.length ? { moreChanged: works.length - views.length } : {}),
  }
}
