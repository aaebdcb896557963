/** The short account that a wake brings: what ended since the root last looked. Pure. */
import { TERMINAL_WORK_STATUSES, type GraphState } from 'dsh-graph-control'
import { dataBlock, oneLine } from './data-text.ts'

const SHOWN_WORKS = 16
const SUMMARY_CHARS = 200

/** One turn's message for the root session. */
export function wakeMessage(state: GraphState): string {
  const changed = [...state.works.values()].filter(
    (work) => TERMINAL_WORK_STATUSES.has(work.status) && (work.endedChangeSeq ?? 0) > state.seenChangeSeq,
  )
  const lines = changed.slice(0, SHOWN_WORKS).flatMap((work) => {
    const head = `- ${work.workId} ${work.status}${work.reason === undefined ? '' : `: ${oneLine(work.reason, SUMMARY_CHARS)}`}`
    const records = work.recordIds.flatMap((recordId) => {
      const record = state.records.get(recordId)
      return record === undefined
        ? []
        : [dataBlock('summary', { record: recordId }, oneLine(record.summary, SUMMARY_CHARS))]
    })
    return [head, ...records]
  })
  const { pending, terminal, works } = state.counts
  return [
    `Agent graph ${state.graphId}: ${terminal}/${works} works ended, ${pending} pending. Since you last looked:`,
    ...lines,
    ...(changed.length > SHOWN_WORKS ? [`… and ${changed.length - SHOWN_WORKS} more`] : []),
    pending === 0
      ? 'Nothing is pending: read the results you need, then finish the graph or add work.'
      : 'Read what you need with view_agent_graph, decide, and yield again while work is pending.',
  ].join('\n')
}
