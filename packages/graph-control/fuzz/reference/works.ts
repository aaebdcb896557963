/**
 * The reference: how works move. Each step looks at all works again and again until nothing moves.
 */
import {
  claimOf,
  inputsOf,
  isLive,
  itemsOf,
  letGo,
  recordIdsOf,
  type RefEnd,
  type RefGraph,
  type RefWork,
  standsFor,
  workOf,
} from './graph.ts'

export function end(graph: RefGraph, work: RefWork, over: RefEnd): void {
  if (work.over !== undefined) return
  const claim = claimOf(graph, work.claimId)
  work.over = over
  work.endings += 1
  if ((over.status === 'stopped' || over.status === 'superseded') && claim?.status === 'claimed') {
    claim.status = 'cancelled'
    delete claim.hold
    if (over.reason !== undefined) claim.cancellationReason = over.reason
  }
  for (const item of itemsOf(graph, work)) end(graph, item, over)
}

/** Lets everything move that can. */
export function settle(graph: RefGraph, at: number): void {
  for (let moved = true; moved;) {
    moved = false
    for (const work of graph.works.slice()) {
      if (work.over === undefined && !work.isAdmitted && move(graph, work, at)) moved = true
    }
  }
}

/** @returns whether it moved. */
function move(graph: RefGraph, work: RefWork, at: number): boolean {
  if (work.items !== undefined) return join(graph, work, at)
  const inputs = inputsOf(graph, work)
  const isLost = (input: RefWork) => input.over !== undefined && input.over.status !== 'completed'
  const when = work.request.when ?? 'all'
  const skip = () => end(graph, work, { status: 'skipped', reason: 'not met', at })
  if (when === 'all' && inputs.some(isLost)) {
    skip()
    return true
  }
  if (inputs.some((input) => input.over === undefined)) return false
  const usable = work.request.inputIds.filter((id) => {
    const input = standsFor(graph, id)
    return input === undefined || !isLost(input)
  })
  if (when === 'any' && work.request.inputIds.length > 0 && usable.length === 0) skip()
  else if (work.request.forEach === undefined) work.isAdmitted = true
  else spread(graph, work, work.request.forEach, at)
  return true
}

function join(graph: RefGraph, work: RefWork, at: number): boolean {
  const items = itemsOf(graph, work)
  if (items.some((item) => item.over === undefined)) return false
  const lost = items.filter((item) => item.over?.status !== 'completed')
  work.joined = items.flatMap((item) => recordIdsOf(graph, item))
  if (lost.length === 0) end(graph, work, { status: 'completed', at })
  else {
    const reason = `${lost.length} of ${items.length} items did not complete`
    end(graph, work, { status: 'failed', reason, at })
  }
  return true
}

/** The work becomes the works of its items. */
function spread(graph: RefGraph, work: RefWork, input: string, at: number): void {
  const source = standsFor(graph, input)
  const all = source === undefined ? [input] : recordIdsOf(graph, source)
  const artifacts = all.filter(
    (id) => graph.records.find((record) => record.recordId === id)?.kind === 'artifact',
  )
  const records = artifacts.length > 0 ? artifacts : all
  const { forEach: _f, replaces: _r, replacementMode: _m, ...request } = work.request
  const others = work.request.inputIds.filter((id) => id !== input)
  work.items = records.map((_, index) => `${work.id}#${index + 1}`)
  work.startedAt = at
  for (const [index, recordId] of records.entries()) {
    const title =
      request.title === undefined ? {} : { title: `${request.title} ${index + 1}/${records.length}` }
    graph.works.push({
      id: `${work.id}#${index + 1}`,
      request: { ...request, ...title, workId: `${work.id}#${index + 1}`, inputIds: [recordId, ...others] },
      ordinal: graph.works.length + 1,
      revision: work.revision,
      addedAt: at,
      isAdmitted: true,
      endings: 0,
      retries: 0,
      joinedBy: work.id,
      ...(work.operatorId === undefined ? {} : { operatorId: work.operatorId }),
    })
  }
}

/** Everything that takes what these leave, directly or not; what completed hands nothing on any more. */
export function downstream(graph: RefGraph, from: readonly RefWork[]): RefWork[] {
  const reached = new Set(from)
  for (let size = -1; size !== reached.size;) {
    size = reached.size
    for (const work of graph.works) {
      const causes = [...inputsOf(graph, work), ...itemsOf(graph, work)]
      if (causes.some((cause) => reached.has(cause) && cause.over?.status !== 'completed')) reached.add(work)
    }
  }
  return [...reached].filter((work) => !from.includes(work))
}

export function reopen(work: RefWork): void {
  delete work.over
  delete work.claimId
  delete work.joined
  work.isAdmitted = false
  if (work.items === undefined) delete work.startedAt
}

/** What was skipped because of these, and the joins of items among them, are to be done again. */
export function revive(graph: RefGraph, causes: readonly RefWork[]): void {
  const alive = new Set(causes)
  for (let size = -1; size !== alive.size;) {
    size = alive.size
    for (const work of graph.works) {
      if (work.over === undefined || work.replacedBy !== undefined) continue
      const isJoin = itemsOf(graph, work).some((item) => alive.has(item))
      const { status } = work.over
      const isFed = isJoin || inputsOf(graph, work).some((input) => alive.has(input))
      if (!isFed || !(status === 'skipped' || (isJoin && (status === 'failed' || status === 'stopped'))))
        continue
      reopen(work)
      alive.add(work)
    }
  }
}

export function canRetry(work: RefWork): boolean {
  return ['failed', 'cancelled', 'stopped', 'skipped'].includes(work.over?.status ?? '')
}

/** The claim of a work whose attempt waits for somebody's word. */
function heldClaimOf(graph: RefGraph, work: RefWork) {
  const claim = work.over === undefined ? claimOf(graph, work.claimId) : undefined
  return claim?.hold !== undefined && isLive(claim) ? claim : undefined
}

/** Why a work cannot be retried; undefined when it can. */
export function whyNoRetry(graph: RefGraph, id: string): string | undefined {
  const work = workOf(graph, id)
  if (work === undefined) return 'unknown'
  if (work.replacedBy !== undefined) return 'replaced'
  if (workOf(graph, work.joinedBy)?.replacedBy !== undefined) return 'of a join that was replaced'
  const hold = heldClaimOf(graph, work)?.hold
  if (hold !== undefined) return hold.kind === 'model' ? undefined : 'for a person to confirm'
  const again = work.items === undefined ? [work] : itemsOf(graph, work)
  const lost = again.filter(canRetry)
  if (lost.length === 0) return 'nothing failed'
  const busy = lost.some((item) => {
    const claim = claimOf(graph, item.claimId)
    return claim !== undefined && isLive(claim)
  })
  return busy ? 'still running' : undefined
}

export function retry(graph: RefGraph, id: string, reason: string, at: number): void {
  const work = workOf(graph, id)
  if (work === undefined) return
  const held = heldClaimOf(graph, work)
  if (held !== undefined) {
    held.attempt += 1
    held.retryReason = reason
    letGo(graph, held)
    delete held.notBefore
    return
  }
  const again = (work.items === undefined ? [work] : itemsOf(graph, work)).filter(canRetry)
  for (const item of again) {
    reopen(item)
    item.retries += 1
    item.retryReason = reason
  }
  // A join that still waits has nothing to show yet.
  revive(graph, again)
  settle(graph, at)
}

/** Works that wait for each other can never run. */
export function hasCircle(graph: RefGraph): boolean {
  const left = new Set(graph.works.filter((work) => work.over === undefined && !work.isAdmitted))
  for (let size = -1; size !== left.size;) {
    size = left.size
    for (const work of left) {
      const causes = work.items === undefined ? inputsOf(graph, work) : itemsOf(graph, work)
      if (!causes.some((cause) => left.has(cause))) left.delete(work)
    }
  }
  return left.size > 0
}
