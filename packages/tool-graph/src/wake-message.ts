/** The short account that a wake brings: what changed since the root last looked. Pure. */
import { endedWorks, type GraphState, type Wake, type Work } from 'dsh-graph-control'
import { dataBlock, escapeData, oneLine } from './data-text.ts'
import { waitsForOf } from './work-view.ts'

const SHOWN_WORKS = 16
const SUMMARY_CHARS = 200

/**
 * One turn's message for the root session. It tells what the wake reports and nothing later: that is
 * for the next wake, and nothing is told twice.
 *
 * @param wake as it stands in `state`. After its first attempt the root may have looked in a turn that
 *   was cut off, so the account goes back to the last wake that was delivered.
 */
export function wakeMessage(state: GraphState, { attempts, snapshotVersion }: Wake): string {
  const told = attempts > 1 ? lastDelivered(state) : state.seenChangeSeq
  const unseen = endedWorks(state, { beforeChangeSeq: snapshotVersion + 1, limit: SHOWN_WORKS + 1 }).filter(
    (work) => (work.endedChangeSeq ?? 0) > told,
  )
  const held = heldWorks(state)
  const lines = unseen
    .slice(0, SHOWN_WORKS)
    .toReversed()
    .flatMap((work) => linesOf(state, work))
  const { pending, terminal, works } = state.counts
  const nothing = lines.length === 0 && held.length === 0
  return [
    `Agent graph ${state.graphId}: ${terminal}/${works} works ended, ${pending} pending.${nothing ? '' : ' Since you last looked:'}`,
    ...lines,
    ...(unseen.length > SHOWN_WORKS ? ['… and more; view_agent_graph shows them'] : []),
    ...held.slice(0, SHOWN_WORKS),
    pending === 0
      ? 'Nothing is pending: read the results you need, then finish the graph or add work.'
      : 'Read what you need with view_agent_graph, decide, and yield again while work is pending.',
  ].join('\n')
}

function lastDelivered(state: GraphState): number {
  let told = 0
  for (const wake of state.wakes.values())
    if (wake.status === 'delivered') told = Math.max(told, wake.snapshotVersion)
  return told
}

function linesOf(state: GraphState, work: Work): readonly string[] {
  const why = work.reason === undefined ? '' : `: ${escapeData(oneLine(work.reason, SUMMARY_CHARS))}`
  const records = work.recordIds.slice(0, 4).flatMap((recordId) => {
    const record = state.records.get(recordId)
    return record === undefined
      ? []
      : [dataBlock('summary', { record: recordId }, oneLine(record.summary, SUMMARY_CHARS))]
  })
  return [`- ${escapeData(work.workId)} ${work.status}${why}`, ...records]
}

/** Works that go on only when somebody says so. */
function heldWorks(state: GraphState): readonly string[] {
  const held: string[] = []
  for (const claimId of state.live.claims.keys()) {
    const claim = state.claims.get(claimId)
    const work = claim?.hold === undefined ? undefined : state.works.get(claim.workId)
    if (work !== undefined)
      held.push(`- ${escapeData(work.workId)} waits for ${escapeData(waitsForOf(state, work).join(', '))}`)
  }
  return held
}
