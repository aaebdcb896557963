/** The history of a graph as lines: position, time, what happened, to which work. */
import type { GraphState, JsonValue, TimelineEvent } from 'dsh-graph-control'
import { timeText } from './durations.ts'
import type { Look } from './look.ts'
import { cleanLine, cutTo, fill } from './text-width.ts'

const KIND_COLUMNS = 24

/** @param state the graph, from which claims get the names of their works; without it they keep their ids. */
export function timelineLines(
  events: readonly TimelineEvent[],
  state: GraphState | undefined,
  look: Look,
): readonly string[] {
  return events.map(({ seq, at, kind, detail }) =>
    cutTo(
      `${String(seq).padStart(5)}  ${timeText(at)}  ${fill(kind.replaceAll('_', ' '), KIND_COLUMNS)}  ${cleanLine(detailText(detail, state))}`.trimEnd(),
      look.columns,
    ),
  )
}

function detailText(detail: TimelineEvent['detail'], state: GraphState | undefined): string {
  const { claimId, workId, recordIds, ...rest } = detail
  const claimed = typeof claimId === 'string' ? (state?.claims.get(claimId)?.workId ?? claimId) : undefined
  const subject = typeof workId === 'string' ? workId : claimed
  const parts = Object.entries(rest).flatMap(([key, value]) => {
    const text = valueText(value)
    return text === '' || isOwnId(key) ? [] : [`${key} ${text}`]
  })
  const records = Array.isArray(recordIds) && recordIds.length > 0 ? [`${recordIds.length} records`] : []
  return [...(subject === undefined ? [] : [subject]), ...parts, ...records].join(', ')
}

/** Ids that the store derives say nothing to a person. */
function isOwnId(key: string): boolean {
  return [
    'runId',
    'turnId',
    'operatorId',
    'updateId',
    'toolCallId',
    'wakeId',
    'attemptId',
    'targetSessionId',
  ].includes(key)
}

function valueText(value: JsonValue): string {
  if (Array.isArray(value)) return value.map((item) => valueText(item as JsonValue)).join(', ')
  if (typeof value === 'object' && value !== null) return JSON.stringify(value)
  return String(value)
}
