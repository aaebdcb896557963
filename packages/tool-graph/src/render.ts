/**
 * The text of the tools' answers. A text-only model finds in it what the structured value holds;
 * what operators wrote stands in delimited blocks.
 */
import type { ResultPage } from 'dsh-graph-control'
import { dataBlock, escapeData } from './data-text.ts'
import { renderWork } from './render-work.ts'
import type { ViewAnswer } from './controller.ts'
import type { UpdateAnswer, YieldAnswer } from './types.ts'
import type { GraphView, UnchangedView } from './view.ts'

function renderHead(view: GraphView | UnchangedView): string {
  const { works, pending, terminal } = view.counts
  const state = view.phase === 'closed' ? 'finished' : view.phase
  const revision = 'revision' in view ? `, revision ${view.revision}` : ''
  return `Graph ${view.graphId} ${state}${revision}, seq ${view.seq}: ${terminal}/${works} ended, ${pending} pending.`
}

function renderLists(view: GraphView): string[] {
  return [
    ...(view.live.length === 0 ? [] : ['Live:', ...view.live.map(renderWork)]),
    ...(view.omitted.live === 0 ? [] : [`… ${view.omitted.live} pending not shown${more(view.nextCursor)}`]),
    ...(view.ended.length === 0 ? [] : ['Ended:', ...view.ended.map(renderWork)]),
    ...(view.omitted.ended === 0 ? [] : [`… ${view.omitted.ended} ended not shown${more(view.endedCursor)}`]),
    ...renderEnd(view),
  ]
}

function renderEnd({ finish, exhaustedWakes }: GraphView): string[] {
  return [
    ...(finish === undefined
      ? []
      : [`Finished with ${finish.resultIds.join(', ') || 'no results'} (${escapeData(finish.reason)})`]),
    ...(exhaustedWakes === undefined
      ? []
      : ['The last wake of this session was given up; read what changed.']),
  ]
}

function more(cursor: string | undefined): string {
  return cursor === undefined ? '' : `; cursor ${cursor}`
}

function renderAdjusted(adjusted: readonly string[] | undefined): string[] {
  return adjusted === undefined ? [] : [`Adjusted: ${adjusted.map(escapeData).join('; ')}`]
}

/** A view as text. */
export function renderView(view: GraphView | UnchangedView): string {
  if (!view.known) return 'No graph yet. The first update_agent_graph with addWork opens one.'
  if (!('live' in view)) return `Nothing changed since ${view.since}. ${renderHead(view)}`
  if (view.since === undefined) return [renderHead(view), ...renderLists(view)].join('\n')
  return [
    renderHead(view),
    `Changed since ${view.since}:`,
    ...renderSelection(view),
    ...renderEnd(view),
  ].join('\n')
}

function renderSelection(view: GraphView): string[] {
  const { moreChanged, nextCursor } = view
  return [
    ...[...view.live, ...view.ended].map(renderWork),
    ...(moreChanged === undefined ? [] : [`… ${moreChanged} more not shown${more(nextCursor)}`]),
  ]
}

/** What `view_agent_graph` says: the conclusions that were asked for, or the works. */
export function renderAnswer(answer: ViewAnswer): string {
  const { results, moreResults, unanswered, adjusted } = answer
  const lines =
    results === undefined
      ? [renderView(answer)]
      : [
          renderHead(answer),
          ...renderResults(results),
          ...(moreResults === undefined
            ? []
            : [
                `… more records: ask for ${moreResults.map(escapeData).join(', ')}${unanswered === undefined ? '' : `, and again for the ${unanswered} names after it`}`,
              ]),
        ]
  return [...lines, ...renderAdjusted(adjusted)].join('\n')
}

function renderResults(results: readonly ResultPage[]): readonly string[] {
  return results.map(({ recordId, text, offset, nextOffset, totalChars }) =>
    dataBlock(
      'result',
      {
        record: recordId,
        ...(offset === 0 && nextOffset === undefined
          ? {}
          : { characters: `${offset}-${offset + text.length} of ${totalChars}` }),
        ...(nextOffset === undefined ? {} : { next: `${recordId}@${nextOffset}` }),
      },
      text,
    ),
  )
}

export function renderUpdate(answer: UpdateAnswer, view: GraphView): string {
  const { created, revision } = answer.update
  return [
    `${created ? 'Committed' : 'Already committed'} as revision ${revision}. ${renderHead(view)}`,
    ...renderSelection(view),
    ...renderEnd(view),
    ...renderAdjusted(answer.adjusted),
  ].join('\n')
}

export function renderYield(answer: YieldAnswer, changed: GraphView | undefined): string {
  const { deliveredOnIdle, pendingWorkCount, waitingFor, moreWaiting, until } = answer
  const adjusted = renderAdjusted(answer.adjusted)
  if (!deliveredOnIdle && changed !== undefined)
    return [
      'Not waiting: something changed already. Decide on it, then yield again.',
      renderHead(changed),
      ...renderSelection(changed),
      ...renderEnd(changed),
      ...adjusted,
    ].join('\n')
  const when = until === 'all' ? 'nothing is pending any more' : 'something changed'
  const rest = moreWaiting === undefined ? '' : `; and ${moreWaiting} more`
  const what = waitingFor.length === 0 ? '' : ` (${escapeData(waitingFor.join('; '))}${rest})`
  return [`Yielded: ${pendingWorkCount} pending${what}. You are woken when ${when}.`, ...adjusted].join('\n')
}
