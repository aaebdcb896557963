/**
 * Updates as a state keeps them. The works of an update stand in the state already, so it keeps their ids
 * and not what was asked for a second time.
 */
import type { ScheduleUpdate, Work, WorkRequest } from './types.ts'

export interface KeptUpdate extends Omit<ScheduleUpdate, 'addWork'> {
  /** The ids of the works, in order. */
  readonly added: readonly string[]
}

export function keptUpdateOf({ addWork, ...rest }: ScheduleUpdate): KeptUpdate {
  return Object.freeze({ ...rest, added: Object.freeze(addWork.map(({ workId }) => workId)) })
}

/** The update as it was committed: what only the fold knows is no part of what was asked for. */
export function updateOf({ added, ...rest }: KeptUpdate, works: ReadonlyMap<string, Work>): ScheduleUpdate {
  const addWork = added.map((workId) => {
    const work = works.get(workId)
    if (work === undefined) throw new Error(`update ${rest.updateId} is kept without its work ${workId}`)
    return requestOf(work)
  })
  return Object.freeze({ ...rest, addWork: Object.freeze(addWork) })
}

function requestOf(work: Work): WorkRequest {
  const {
    status: _1,
    ordinal: _2,
    revision: _3,
    addedAt: _4,
    waitingFor: _5,
    retries: _6,
    reason: _7,
    retryReason: _8,
    claimId: _9,
    operatorId: _10,
    recordIds: _11,
    itemWorkIds: _12,
    joinedBy: _13,
    replacedBy: _14,
    usage: _15,
    startedAt: _16,
    endedAt: _17,
    endedChangeSeq: _18,
    ...request
  } = work
  return Object.freeze(request)
}
