/** How a graph stood after an event of its history. Pure. */
import type { TimelineCard, WorkCard } from '../src/feed/wire.ts'
import { isEnded } from './graph-model.ts'

/**
 * The works as they were after the event at `index`: those that were not there yet are left out. An
 * end that follows from another work's end has no event of its own; there the time of the end tells.
 */
export function worksAt(
  works: ReadonlyMap<string, WorkCard>,
  events: readonly TimelineCard[],
  index: number,
): ReadonlyMap<string, WorkCard> {
  const at = events[index]?.at ?? 0
  const statuses = new Map<string, WorkCard['status']>()
  for (const event of events.slice(0, index + 1))
    if (event.status !== undefined) for (const id of event.workIds) statuses.set(id, event.status)
  const then = new Map<string, WorkCard>()
  for (const work of works.values()) {
    if (work.addedAt > at) continue
    const told = statuses.get(work.id) ?? 'waiting'
    const isOver = work.endedAt !== undefined && work.endedAt <= at
    const status = isOver && !isEnded(told) ? work.status : told
    const { waits: _, endedAt, startedAt, ...rest } = work
    then.set(work.id, {
      ...rest,
      status,
      ...(startedAt !== undefined && startedAt <= at ? { startedAt } : {}),
      ...(isEnded(status) && endedAt !== undefined ? { endedAt } : {}),
    })
  }
  return then
}
