/**
 * The text of the tools' answers. A text-only model finds in it what the structured value holds;
 * what operators wrote stands in delimited blocks.
 */
import type { ResultPage } from 'dsh-graph-control'
import { dataBlock, escapeData } from './data-text.ts'
import type { UpdateAnswer, YieldAnswer } from './types.ts'
import type { GraphView } from './view.ts'
import type { WorkView } from './work-view.ts'

function renderWork(work: WorkView): string[] {
  const { workId, status, title, instruction, inputIds, waitsFor, items, claim, reason, replacedBy } = work
  const head = [
    `- ${escapeData(workId)} [${status}${claim !== undefined && claim.attempt > 1 ? `, attempt ${claim.attempt}` : ''}]`,
    ` ${escapeData(title ?? instruction ?? '')}`,
    inputIds === undefined ? '' : `; inputs ${escapeData(inputIds.join(', '))}`,
    items === undefined ? '' : `; ${items.total - items.pending}/${items.total} items`,
    waitsFor === undefined ? '' : `; waits for ${escapeData(waitsFor.join(', '))}`,
    reason === undefined ? '' : ` (${escapeData(reason)})`,
    replacedBy === undefined ? '' : `; replaced by ${escapeData(replacedBy)}`,
  ].join('')
  const results = work.results ?? []
  const blocks = results.map((result) =>
    dataBlock(
      'summary',
      {
        // The work's own id gives its conclusion; of several records each is named.
        ...(results.length === 1 ? {} : { record: result.recordId }),
        ...(result.name === undefined ? {} : { name: result.name }),
        bytes: String(result.bytes),
      },
      result.summary,
    ),
  )
  return [
    head,
    ...blocks,
    ...(work.moreResults === undefined ? [] : [`  … ${work.moreResults} more records`]),
  ]
}

function renderHead({ graphId, phase, revision, seq, counts }: GraphView): string {
  const { works, pending, terminal } = counts
  const state = phase === 'closed' ? 'finished' : phase
  return `Graph ${graphId} ${state}, revision ${revision}, seq ${seq}: ${terminal}/${works} ended, ${pending} pending.`
}

function renderLists(view: GraphView): string[] {
  return [
    ...(view.live.length === 0 ? [] : ['Live:', ...view.live.flatMap(renderWork)]),
    ...(view.omitted.live === 0 ? [] : [`… ${view.omitted.live} pending not shown${more(view.nextCursor)}`]),
    ...(view.ended.length === 0 ? [] : ['Ended:', ...view.ended.flatMap(renderWork)]),
    ...(view.omitted.ended === 0 ? [] : [`… ${view.omitted.ended} ended not shown${more(view.endedCursor)}`]),
    ...(view.finish === undefined
      ? []
      : [`Finished with ${view.finish.resultIds.join(', ') || 'no results'}`]),
    ...(view.exhaustedWakes === undefined
      ? []
      : ['The last wake of this session was given up; read what changed.']),
  ]
}

function more(cursor: string | undefined): string {
  return cursor === undefined ? '' : `; cursor ${cursor}`
}

export function renderView(view: GraphView): string {
  if (!view.known) return 'No graph yet. The first update_agent_graph with addWork opens one.'
  if (view.since === undefined) return [renderHead(view), ...renderLists(view)].join('\n')
  if (view.live.length + view.ended.length === 0)
    return `Nothing changed since ${view.since}. ${renderHead(view)}`
  return [
    renderHead(view),
    `Changed since ${view.since}:`,
    ...[...view.live, ...view.ended].flatMap(renderWork),
    ...(view.moreChanged === undefined
      ? []
      : [`… ${view.moreChanged} more changed; a view without since shows them`]),
  ].join('\n')
}

export function renderResults(results: readonly ResultPage[]): string {
  return results
    .map(({ recordId, text, offset, nextOffset, totalChars }) =>
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
    .join('\n')
}

export function renderUpdate(answer: UpdateAnswer, view: GraphView): string {
  const { created, revision } = answer.update
  return [
    `${created ? 'Committed' : 'Already committed'} as revision ${revision}. ${renderHead(view)}`,
    ...[...view.live, ...view.ended].flatMap(renderWork),
    ...(answer.adjusted === undefined ? [] : [`Adjusted: ${answer.adjusted.map(escapeData).join('; ')}`]),
  ].join('\n')
}

export function renderYield(answer: YieldAnswer, changed: GraphView | undefined): string {
  const { deliveredOnIdle, pendingWorkCount, waitingFor, until } = answer
  if (!deliveredOnIdle && changed !== undefined) {
    return `Not waiting: something changed already. Decide on it, then yield again.\n${renderView(changed)}`
  }
  const when = until === 'all' ? 'nothing is pending any more' : 'something changed'
  const what = waitingFor.length === 0 ? '' : ` (${escapeData(waitingFor.join('; '))})`
  return `Yielded: ${pendingWorkCount} pending${what}. You are woken when ${when}.`
}
