/**
 * What `view_agent_graph` shows: a bounded picture of one graph, made from the folded state. Pure.
 * Every list has at most 64 entries and says how many it leaves out.
 */
import { TERMINAL_WORK_STATUSES, type GraphState, type Work } from 'dsh-graph-control'
import { oneLine } from './data-text.ts'

export const VIEW_PAGE = 64
const INSTRUCTION_PREVIEW_CHARS = 160
const SUMMARY_PREVIEW_CHARS = 400

export interface WorkView {
  readonly workId: string
  readonly title?: string
  readonly status: string
  readonly target: string
  readonly instruction: string
  readonly inputIds: readonly string[]
  readonly waitingFor?: readonly string[]
  readonly operatorId?: string
  readonly reason?: string
  readonly results: readonly { readonly recordId: string; readonly summary: string; readonly bytes: number }[]
}

export interface GraphView {
  /** False for a graph that this session does not have; every list is then empty. */
  readonly known: boolean
  readonly graphId: string | null
  readonly closed: boolean
  readonly revision: number
  readonly seq: number
  readonly counts: { readonly works: number; readonly pending: number; readonly terminal: number }
  /** Works that have not ended, a page. */
  readonly live: readonly WorkView[]
  /** The newest works that have ended. */
  readonly ended: readonly WorkView[]
  readonly finish?: { readonly resultIds: readonly string[]; readonly reason: string }
  readonly omitted: { readonly live: number; readonly ended: number }
  readonly nextCursor?: string
}

/** A graph that is not there: the view is total. */
export function emptyView(graphId: string | null): GraphView {
  return {
    known: false,
    graphId,
    closed: false,
    revision: 0,
    seq: 0,
    counts: { works: 0, pending: 0, terminal: 0 },
    live: [],
    ended: [],
    omitted: { live: 0, ended: 0 },
  }
}

function workView(state: GraphState, work: Work): WorkView {
  return {
    workId: work.workId,
    ...(work.title === undefined ? {} : { title: oneLine(work.title, INSTRUCTION_PREVIEW_CHARS) }),
    status: work.status,
    target: `${work.target.kind}:${work.target.id}`,
    instruction: oneLine(work.instruction, INSTRUCTION_PREVIEW_CHARS),
    inputIds: work.inputIds,
    ...(work.waitingFor.length === 0 ? {} : { waitingFor: work.waitingFor }),
    ...(work.operatorId === undefined ? {} : { operatorId: work.operatorId }),
    ...(work.reason === undefined ? {} : { reason: oneLine(work.reason, SUMMARY_PREVIEW_CHARS) }),
    results: work.recordIds.flatMap((recordId) => {
      const record = state.records.get(recordId)
      if (record === undefined) return []
      return [{ recordId, summary: oneLine(record.summary, SUMMARY_PREVIEW_CHARS), bytes: record.bytes }]
    }),
  }
}

const CURSOR = /^work:(?<workId>.+)$/u

/**
 * One page of a graph. The cursor names the last work shown; works are never removed, so it stays
 * valid when that work has ended meanwhile.
 *
 * @returns `undefined` for a cursor that names no work of this graph.
 */
export function viewOf(state: GraphState, cursor?: string): GraphView | undefined {
  const works = [...state.works.values()]
  const after = cursor === undefined ? undefined : CURSOR.exec(cursor)?.groups?.['workId']
  if (cursor !== undefined && (after === undefined || !state.works.has(after))) return undefined
  const from = after === undefined ? 0 : works.findIndex((work) => work.workId === after) + 1
  const live = works.slice(from).filter((work) => !TERMINAL_WORK_STATUSES.has(work.status))
  const ended = works.filter((work) => TERMINAL_WORK_STATUSES.has(work.status))
  const page = live.slice(0, VIEW_PAGE)
  const last = page.at(-1)
  return {
    known: true,
    graphId: state.graphId,
    closed: state.closed,
    revision: state.revision,
    seq: state.seq,
    counts: state.counts,
    live: page.map((work) => workView(state, work)),
    ended: ended.slice(-VIEW_PAGE).map((work) => workView(state, work)),
    ...(state.finish === undefined
      ? {}
      : { finish: { resultIds: state.finish.resultIds, reason: state.finish.reason } }),
    omitted: { live: live.length - page.length, ended: Math.max(0, ended.length - VIEW_PAGE) },
    ...(live.length > page.length && last !== undefined ? { nextCursor: `work:${last.workId}` } : {}),
  }
}
