/**
 * `forEach`: which items a work has, and how the works of the items are joined.
 *
 * Pure; the works themselves are added and ended by work-states.
 */
import { type Draft, NOTHING } from './graph-state.ts'
import { LIMITS, type Work } from './types.ts'

/** The work of item `index`, counted from 1. The mark `#` is reserved for this. */
export function itemWorkId(workId: string, index: number): string {
  return `${workId}#${index}`
}

/**
 * The works of the items: one for each artifact of the input, or for each of its conclusions where
 * it left no artifacts. A text: why there are none to be made.
 */
export function itemsOf(graph: Pick<Draft, 'works' | 'records'>, work: Work): readonly ItemWork[] | string {
  const { forEach: input = '' } = work
  const recordIds = recordsOf(graph, input)
  if (recordIds.length > LIMITS.items) {
    return `input ${input} has ${recordIds.length} records; at most ${LIMITS.items} are worked on one by one`
  }
  const others = work.inputIds.filter((id) => id !== input)
  return recordIds.map((recordId, at) => ({
    ...sharedWith(work),
    workId: itemWorkId(work.workId, at + 1),
    inputIds: Object.freeze([recordId, ...others]),
    joinedBy: work.workId,
    status: 'waiting',
    waitingFor: NOTHING,
    recordIds: NOTHING,
    retries: 0,
    ...(work.title === undefined ? {} : { title: `${work.title} ${at + 1}/${recordIds.length}` }),
  }))
}

/** A work of an item, but for its place in the graph. */
export type ItemWork = Omit<Work, 'revision' | 'addedAt' | 'ordinal'>

/** What every item has in common with the work it is an item of. */
function sharedWith(work: Work) {
  const { target, instruction, selectedResultInputs, when, replay, model, effort, args, operatorId } = work
  return {
    target,
    instruction,
    ...(selectedResultInputs === undefined ? {} : { selectedResultInputs }),
    ...(when === undefined ? {} : { when }),
    ...(replay === undefined ? {} : { replay }),
    ...(model === undefined ? {} : { model }),
    ...(effort === undefined ? {} : { effort }),
    ...(args === undefined ? {} : { args }),
    ...(operatorId === undefined ? {} : { operatorId }),
  }
}

function recordsOf(graph: Pick<Draft, 'works' | 'records'>, input: string): readonly string[] {
  if (graph.records.has(input)) return [input]
  let work = graph.works.get(input)
  while (work?.replacedBy !== undefined) work = graph.works.get(work.replacedBy)
  const recordIds = work?.recordIds ?? []
  const artifacts = recordIds.filter((id) => graph.records.get(id)?.kind === 'artifact')
  return artifacts.length > 0 ? artifacts : recordIds
}

/** How a work whose items have all ended ends itself: completed if all of them did. */
export function joinEnding(
  graph: Pick<Draft, 'works'>,
  work: Work,
  at: number,
): {
  recordIds: readonly string[]
  ending: { status: 'completed' | 'failed'; reason?: string; at: number }
} {
  const items = (work.itemWorkIds ?? []).flatMap((id) => graph.works.get(id) ?? [])
  const recordIds = Object.freeze(items.flatMap((item) => item.recordIds))
  const lost = items.filter((item) => item.status !== 'completed')
  if (lost.length === 0) return { recordIds, ending: { status: 'completed', at } }
  const named = lost.slice(0, 8).map((item) => `${item.workId} ${item.status}`)
  const more = lost.length > named.length ? ` and ${lost.length - named.length} more` : ''
  const reason = `${lost.length} of ${items.length} items did not complete: ${named.join(', ')}${more}`
  return { recordIds, ending: { status: 'failed', reason, at } }
}
