/**
 * What a folded state must keep, counted anew from its works, claims and wakes: the indexes that are
 * kept incrementally say the same, and nothing waits for what cannot come.
 */
import { expect } from 'vitest'
import { type FoldedGraph, idsOf } from '../src/graph-state.ts'
import { TERMINAL_WORK_STATUSES, type Work } from '../src/index.ts'

const isOver = ({ status }: Work) => TERMINAL_WORK_STATUSES.has(status)

export function expectConsistent(state: FoldedGraph): void {
  const works = [...state.works.values()]
  const ids = (fits: (work: Work) => boolean) => works.filter(fits).map(({ workId }) => workId)
  expect([...state.live.pending.keys()].sort()).toEqual(ids((work) => !isOver(work)).sort())
  expect([...state.live.ready.keys()].sort()).toEqual(ids(({ status }) => status === 'ready').sort())
  const over = ids(isOver).length
  expect(state.counts).toEqual({ works: works.length, pending: works.length - over, terminal: over })
  expect(works.map(({ ordinal }) => ordinal)).toEqual(works.map((_, at) => at + 1))

  const endings = works.flatMap(({ endedChangeSeq }) => endedChangeSeq ?? [])
  expect(new Set(endings).size).toBe(over)
  expect(Math.max(0, ...endings)).toBeLessThanOrEqual(state.changeSeq)
  expect(state.seenChangeSeq).toBeLessThanOrEqual(state.changeSeq)
  expect(state.closed && state.counts.pending > 0).toBe(false)
  expect(state.closed).toBe(state.phase === 'closed')
  expectClaims(state)
  expectWakes(state)
  for (const work of works) expectWork(state, work)
}

function expectClaims(state: FoldedGraph): void {
  const claims = [...state.claims.values()]
  const live = claims.filter(({ admissionStatus }) => ['claimed', 'executing'].includes(admissionStatus))
  const liveIds = live.map(({ claimId }) => claimId).sort()
  expect([...state.live.claims.keys()].sort()).toEqual(liveIds)
  expect([...state.live.busyOperators.values()].sort()).toEqual(liveIds)
  for (const { hold, claimId } of claims) if (hold !== undefined) expect(liveIds).toContain(claimId)
  const runs = claims.map(({ targetRunId }) => targetRunId)
  expect(new Set(runs).size).toBe(runs.length)
  const spent = works(state).reduce((sum, { usage }) => sum + (usage?.inputTokens ?? 0), 0)
  expect(state.usage.inputTokens).toBe(spent)
}

function works(state: FoldedGraph): Work[] {
  return [...state.works.values()]
}

function expectWakes(state: FoldedGraph): void {
  const wakes = [...state.wakes.values()]
  const scheduled = wakes.filter(
    ({ status, dueAt, attempts }) => status === 'pending' && dueAt !== undefined && attempts === 0,
  )
  expect([...state.live.scheduledWakes.keys()].sort()).toEqual(scheduled.map(({ wakeId }) => wakeId).sort())
  const unsettled = ['pending', 'running', 'waiting_permission', 'retryable_failed']
  const open = wakes.filter((wake) => unsettled.includes(wake.status) && !scheduled.includes(wake))
  expect(open.map(({ wakeId }) => wakeId)).toEqual(
    state.live.openWakeId === undefined ? [] : [state.live.openWakeId],
  )
  for (const { currentAttemptId, status } of wakes) {
    expect(currentAttemptId !== undefined).toBe(status === 'running' || status === 'waiting_permission')
    if (currentAttemptId === undefined) continue
    expect(state.index.wakeAttempts.get(currentAttemptId)?.status).toBe(status)
  }
}

/** The work that an input stands for now. */
function standIn(state: FoldedGraph, inputId: string): Work | undefined {
  const work = state.works.get(inputId)
  return work?.replacedBy === undefined ? work : standIn(state, work.replacedBy)
}

function expectWork(state: FoldedGraph, work: Work): void {
  const inputs = work.inputIds.flatMap((id) => standIn(state, id) ?? [])
  const items = work.itemWorkIds?.map((id) => state.works.get(id))
  const awaited = [...new Set(items ?? inputs)]
  const missing = awaited.flatMap((held) => (held === undefined || isOver(held) ? [] : [held.workId]))
  const needsAll = (work.when ?? 'all') === 'all' && work.itemWorkIds === undefined
  if (work.status === 'waiting') {
    expect(work.waitingFor).toEqual(missing)
    expect(missing.length).toBeGreaterThan(0)
    // It hears of the end of each, or it would wait for ever.
    for (const id of missing) expect(idsOf(state.index.dependents.get(id))).toContain(work.workId)
    if (needsAll)
      for (const input of inputs) expect(isOver(input) && input.status !== 'completed').toBe(false)
  } else {
    expect(work.waitingFor).toEqual([])
  }
  if (['ready', 'claimed', 'running', 'completed'].includes(work.status) && needsAll) {
    for (const input of inputs) expect(input.status).toBe('completed')
  }
  if (items !== undefined && work.status === 'completed') {
    expect(items.map((item) => item?.status)).toEqual(items.map(() => 'completed'))
  }
  if (items !== undefined && isOver(work)) expect(missing).toEqual([])
  expectOfWork(state, work)
}

function expectOfWork(state: FoldedGraph, work: Work): void {
  if (work.replacedBy !== undefined) expect(isOver(work)).toBe(true)
  if (isOver(work) && work.status !== 'completed') expect(work.reason).toBeDefined()
  if (work.status === 'completed' && work.itemWorkIds === undefined) {
    expect(work.recordIds.length).toBeGreaterThan(0)
  }
  const owners = new Set([work.workId, ...(work.itemWorkIds ?? [])])
  for (const id of work.recordIds) expect(owners).toContain(state.records.get(id)?.workId)
  const live = [...state.live.claims.keys()].flatMap((id) => state.claims.get(id) ?? [])
  const own = live.filter((claim) => claim.workId === work.workId)
  expect(own.length).toBeLessThanOrEqual(1)
  if (work.status === 'claimed' || work.status === 'running') {
    expect(own.map(({ claimId }) => claimId)).toEqual([work.claimId])
  }
}
