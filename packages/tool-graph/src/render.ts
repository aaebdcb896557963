/**
 * The text of the tools' answers. A text-only model finds in it everything the structured value
 * holds; what operators wrote stands in delimited blocks.
 */
import type { ResultPage } from 'dsh-graph-control'
import { dataBlock, escapeData } from './data-text.ts'
import type { UpdateAnswer, YieldAnswer } from './types.ts'
import type { GraphView, WorkView } from './view.ts'

function renderWork(work: WorkView): string[] {
  const head = [
    `- ${work.workId} [${work.status}]`,
    work.title === undefined ? '' : ` ${escapeData(work.title)}`,
    work.operatorId === undefined ? '' : ` operator=${work.operatorId}`,
    work.inputIds.length === 0 ? '' : ` inputs=${work.inputIds.join(',')}`,
    work.waitingFor === undefined ? '' : ` waits for ${work.waitingFor.join(', ')}`,
    work.reason === undefined ? '' : ` (${escapeData(work.reason)})`,
  ].join('')
  const results = work.results.map((result) =>
    dataBlock('summary', { record: result.recordId, bytes: String(result.bytes) }, result.summary),
  )
  return [head, ...results]
}

export function renderView(view: GraphView): string {
  if (!view.known) return 'No graph yet. The first update_agent_graph with addWork opens one.'
  const { works, pending, terminal } = view.counts
  return [
    `Graph ${view.graphId} ${view.closed ? 'finished' : 'open'}, revision ${view.revision}: ${terminal}/${works} ended, ${pending} pending.`,
    ...(view.live.length === 0 ? [] : ['Live:', ...view.live.flatMap(renderWork)]),
    ...(view.omitted.live === 0 ? [] : [`… ${view.omitted.live} more; cursor ${view.nextCursor}`]),
    ...(view.ended.length === 0 ? [] : ['Ended:', ...view.ended.flatMap(renderWork)]),
    ...(view.omitted.ended === 0 ? [] : [`… ${view.omitted.ended} earlier ones left out`]),
    ...(view.finish === undefined ? [] : [`Finished with ${view.finish.resultIds.join(', ')}`]),
  ].join('\n')
}

export function renderResults(results: readonly ResultPage[]): string {
  return results
    .map((result) =>
      dataBlock(
        'result',
        {
          record: result.recordId,
          ...(result.nextOffset === undefined
            ? {}
            : { shown: `${result.nextOffset} of ${result.totalChars} characters` }),
        },
        result.text,
      ),
    )
    .join('\n')
}

export function renderUpdate(answer: UpdateAnswer, view: GraphView): string {
  const { created, revision, workIds } = answer.update
  return [
    `${created ? 'Committed' : 'Already committed'} as revision ${revision}.${workIds.length === 0 ? '' : ` Works: ${workIds.join(', ')}.`}`,
    renderView(view),
  ].join('\n')
}

export function renderYield(answer: YieldAnswer): string {
  const when = answer.until === 'all' ? 'nothing is pending any more' : 'something changed'
  return `Yielded: ${answer.pendingWorkCount} pending (${answer.waitingFor.join(', ')}). You are woken when ${when}.`
}
