/**
 * A graph on one screen: how many works stand how, then the works that need a look, those that run,
 * those that wait, and those that ended last. What does not fit is counted.
 */
import { endedWorks, pendingWorks, type GraphState, type Work } from 'dsh-graph-control'
import { paint, type Look } from './look.ts'
import { cleanLine, cutTo } from './text-width.ts'
import { rootWaitOf, waitOf, type WaitOptions } from './waits.ts'
import { workLine, type ShownStatus, type WorkLine } from './work-line.ts'

const STATUS_ORDER: readonly ShownStatus[] = [
  'held',
  'failed',
  'running',
  'claimed',
  'ready',
  'waiting',
  'completed',
  'stopped',
  'cancelled',
  'skipped',
  'superseded',
]

/** Lines around the works: head, counts, root, remainder. */
const FRAME_ROWS = 5
const LEAST_WORKS = 5
/** Pending works that are looked at for one screen. */
const LOOKED_AT = 512

export type StatusCounts = Readonly<Partial<Record<ShownStatus, number>>>

export function shownStatus(state: GraphState, { claimId, status, endedAt }: Work): ShownStatus {
  const held = endedAt === undefined && claimId !== undefined && state.claims.get(claimId)?.hold !== undefined
  return held ? 'held' : status
}

/** How many works stand how. */
export function countStatuses(state: GraphState): StatusCounts {
  const counts: Partial<Record<ShownStatus, number>> = {}
  for (const work of state.works.values()) {
    const status = shownStatus(state, work)
    counts[status] = (counts[status] ?? 0) + 1
  }
  return counts
}

/** `5 works: 2 running, 3 completed`, in the order of urgency. */
export function countsText(state: GraphState): string {
  const counts = countStatuses(state)
  const parts = STATUS_ORDER.flatMap((status) =>
    counts[status] === undefined ? [] : [`${counts[status]} ${status}`],
  )
  const { works } = state.counts
  return `${works} ${works === 1 ? 'work' : 'works'}${parts.length === 0 ? '' : `: ${parts.join(', ')}`}`
}

export function headLine({ graphId, phase, revision, finish }: GraphState, look: Look): string {
  const stands = finish === undefined ? phase : `finished: ${cleanLine(finish.reason)}`
  return paint(
    cutTo(`agent graph ${cleanLine(graphId)}  ${stands}  revision ${revision}`, look.columns),
    'bold',
    look,
  )
}

export function boardLines(state: GraphState, look: Look, options: WaitOptions): readonly string[] {
  const room = Math.max(LEAST_WORKS, look.rows - FRAME_ROWS)
  const works = pick(state, room)
  const left = state.counts.works - works.length
  const root = rootWaitOf(state, options.now)
  return [
    headLine(state, look),
    cutTo(countsText(state), look.columns),
    ...works.map((work) => workLine(lineOf(state, work, options), look)),
    ...(left > 0
      ? [cutTo(`  … ${left} more; dsh-graph show ${state.graphId} --all lists them`, look.columns)]
      : []),
    ...(root === undefined ? [] : [cutTo(cleanLine(root), look.columns)]),
  ]
}

/** Every work, in order of addition. */
export function workLines(state: GraphState, look: Look, options: WaitOptions): readonly string[] {
  return [...state.works.values()].map((work) => workLine(lineOf(state, work, options), look))
}

function pick(state: GraphState, room: number): readonly Work[] {
  const pending = pendingWorks(state, { limit: LOOKED_AT })
  const ended = endedWorks(state, { limit: room })
  const place = (work: Work): number => STATUS_ORDER.indexOf(shownStatus(state, work))
  // A stable sort: within a status pending works keep their order, and the newest end comes first.
  return [...pending, ...ended].sort((a, b) => place(a) - place(b)).slice(0, room)
}

export function lineOf(state: GraphState, work: Work, options: WaitOptions): WorkLine {
  const { workId, title, startedAt, endedAt, reason } = work
  const status = shownStatus(state, work)
  return {
    workId,
    title,
    status,
    elapsedMs: startedAt === undefined ? undefined : (endedAt ?? options.now) - startedAt,
    note:
      endedAt === undefined
        ? waitText(status, waitOf(state, work, options))
        : (reason ?? resultText(state, work)),
  }
}

function waitText(status: ShownStatus, wait: string | undefined): string | undefined {
  return wait === undefined ? undefined : `${status === 'held' ? 'needs' : 'waits for'} ${wait}`
}

function resultText({ records }: GraphState, { recordIds, usage }: Work): string | undefined {
  const [first] = recordIds
  const summary = first === undefined ? '' : (records.get(first)?.summary ?? '')
  const tokens = usage === undefined ? '' : `${usage.inputTokens + usage.outputTokens} tokens `
  return tokens + summary === '' ? undefined : tokens + summary
}
