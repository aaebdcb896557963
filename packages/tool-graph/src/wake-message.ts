/** The short account that a wake brings: what changed since the root last looked. Pure. */
import { endedWorks, type GraphState, type Wake, type Work } from 'dsh-graph-control'
import { dataBlock, escapeData, brief } from './data-text.ts'
import { waitsForOf } from './work-view.ts'

const SHOWN_WORKS = 16
const SUMMARY_CHARS = 200
/** Of the account of what ended, and of what is held. */
const ACCOUNT_BYTES = 6 * 1024

/**
 * One turn's message for the root session. It tells what the wake reports and nothing later: that is
 * for the next wake, and nothing is told twice.
 *
 * @param wake as it stands in `state`. After its first attempt the root may have looked in a turn that
 *   was cut off, so the account goes back to the last wake that was delivered.
 */
export function wakeMessage(state: GraphState, { attempts, snapshotVersion }: Wake): string {
  const known = attempts > 1 ? lastDelivered(state) : state.seenChangeSeq
  const unseen = endedWorks(state, { beforeChangeSeq: snapshotVersion + 1, limit: SHOWN_WORKS + 1 }).filter(
    (work) => (work.endedChangeSeq ?? 0) > known,
  )
  const ended = unseen.slice(0, SHOWN_WORKS).toReversed()
  const accounts = [...ended.map((work) => linesOf(state, work)), ...heldWorks(state).slice(0, SHOWN_WORKS)]
  const told = fitting(accounts)
  const isMore = unseen.length > SHOWN_WORKS || told.length < accounts.length
  const { pending, terminal, works } = state.counts
  return [
    `Agent graph ${state.graphId}: ${terminal}/${works} works ended, ${pending} pending.${accounts.length === 0 ? '' : ' Since you last looked:'}`,
    ...told,
    ...(isMore ? ['… and more; view_agent_graph shows them'] : []),
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

function fitting(accounts: readonly string[]): readonly string[] {
  let left = ACCOUNT_BYTES
  return accounts.filter((account) => (left -= Buffer.byteLength(account)) >= 0)
}

function linesOf(state: GraphState, work: Work): string {
  const why = work.reason === undefined ? '' : `: ${escapeData(brief(work.reason, SUMMARY_CHARS))}`
  const records = work.recordIds.slice(0, 4).flatMap((recordId) => {
    const record = state.records.get(recordId)
    return record === undefined
      ? []
      : [dataBlock('summary', { record: recordId }, brief(record.summary, SUMMARY_CHARS))]
  })
  return [`- ${escapeData(work.workId)} ${work.status}${why}`, ...records].join('\n')
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
