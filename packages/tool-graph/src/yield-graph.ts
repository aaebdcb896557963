/**
 * One call of `yield_agent_graph`: the wait is registered before anything is read for the answer, so
 * that a change between the two wakes the root.
 */
import { endedWorks, pendingWorks, stableHash, type GraphState, type Work } from 'dsh-graph-control'
import { shownName } from './adjustments.ts'
import { costOf, firstOf } from './data-text.ts'
import { AgentGraphError } from './errors.ts'
import type { RootGraphs } from './root-graphs.ts'
import type { GraphCall, YieldAnswer, YieldInput } from './types.ts'
import { selectionOf, VIEW_PAGE, type GraphView } from './view.ts'
import { waitsForOf, type Standing } from './work-view.ts'

const TOLD_WAITS = 16
const TOLD_BYTES = 2 * 1024

export async function yieldGraph(
  graphs: RootGraphs,
  call: GraphCall,
  input: YieldInput,
  standingOf: (state: GraphState) => Standing = () => ({}),
): Promise<{ readonly answer: YieldAnswer; readonly changed?: GraphView }> {
  const before = await graphs.own(input.graphId)
  if (before === undefined) throw await graphs.unknown(input.graphId)
  requireWakeable(before)
  const until = input.until ?? 'any'
  const wait = await graphs.store.registerWait({
    graphId: before.graphId,
    waitId: waitIdOf(before, call, { ...input, until }),
    until,
    ...(input.reason === undefined ? {} : { reason: input.reason }),
  })
  const now = (await graphs.store.readGraph(before.graphId)) ?? before
  const waitingFor = waitsOf(now, standingOf(now))
  const answer = {
    graphId: now.graphId,
    wakeId: wait.waitId,
    pendingWorkCount: now.counts.pending,
    until,
    waitingFor,
    ...(now.counts.pending > waitingFor.length
      ? { moreWaiting: now.counts.pending - waitingFor.length }
      : {}),
  }
  if (!isAnsweredAtOnce(now, until)) return { answer: { ...answer, deliveredOnIdle: true } }
  await graphs.store.acknowledgeChanges(now.graphId, now.changeSeq)
  return { answer: { ...answer, deliveredOnIdle: false }, changed: unseenOf(now) }
}

/** @throws AgentGraphError when nothing that may happen would wake the session. */
function requireWakeable(state: GraphState): void {
  const { graphId, closed, phase, counts, changeSeq, live } = state
  if (closed) throw new AgentGraphError('graph_closed', `graph ${graphId} is finished: answer the user`)
  if (phase === 'draft')
    throw new AgentGraphError(
      'nothing_to_yield',
      'the graph is a draft and nothing of it runs: commit it with draft: commit, or stop its works',
    )
  if (changeSeq > toldUpTo(state) || live.scheduledWakes.size > 0) return
  if (counts.pending === 0)
    throw new AgentGraphError(
      'nothing_to_yield',
      'no work is pending, so nothing would wake you: finish the graph or add work',
    )
  if (!canMove(state))
    throw new AgentGraphError(
      'nothing_to_yield',
      `every pending work waits for you: retry or stop ${heldForModel(state).join(', ')}`,
    )
}

/**
 * Something pending goes on without the model: it runs, a person may confirm it, or it is ready and
 * its operator is not held up by a work that waits for the model.
 */
function canMove(state: GraphState): boolean {
  const { claims, live, works } = state
  const isHeld = (claimId: string) => claims.get(claimId)?.hold?.kind === 'model'
  for (const claimId of live.claims.keys()) {
    const work = works.get(claims.get(claimId)?.workId ?? '')
    if (work?.endedAt === undefined && !isHeld(claimId)) return true
  }
  for (const workId of live.ready.keys()) {
    const busyWith = live.busyOperators.get(works.get(workId)?.operatorId ?? '')
    if (busyWith === undefined || !isHeld(busyWith)) return true
  }
  return false
}

function heldForModel({ live, claims }: GraphState): readonly string[] {
  const held = [...live.claims.keys()].flatMap((claimId) => claims.get(claimId) ?? [])
  return held.slice(0, 8).map((claim) => shownName(claim.workId))
}

/** A second yield with nothing new is the same wait. */
function waitIdOf(state: GraphState, call: GraphCall, { until, reason }: YieldInput): string {
  const { wait, graphId } = state
  const isSame = wait?.until === until && wait?.reason === reason
  if (wait !== undefined && isSame && state.changeSeq <= toldUpTo(state)) return wait.waitId
  const inputs = { graphId, turn: call.turn, toolCallId: call.toolCallId, until }
  return `graph_wait_${stableHash(inputs).slice('sha256:'.length, 'sha256:'.length + 32)}`
}

/** The changes that the root knows of: those it was shown, and those that its present turn brought. */
function toldUpTo(state: GraphState): number {
  const open = state.live.openWakeId === undefined ? undefined : state.wakes.get(state.live.openWakeId)
  return Math.max(state.seenChangeSeq, open?.status === 'running' ? open.snapshotVersion : 0)
}

/** Something happened already that the root does not know of. */
function isAnsweredAtOnce(state: GraphState, until: 'any' | 'all'): boolean {
  if (state.changeSeq <= toldUpTo(state)) return false
  return until === 'any' || state.counts.pending === 0
}

/** What ended since, and what is held: both are what a root is woken for. */
function unseenOf(state: GraphState): GraphView {
  const told = toldUpTo(state)
  const ended = endedWorks(state, { limit: VIEW_PAGE })
  return selectionOf(state, [
    ...heldWorks(state),
    ...ended.filter((work) => (work.endedChangeSeq ?? 0) > told),
  ])
}

function heldWorks({ live, claims, works }: GraphState): readonly Work[] {
  return [...live.claims.keys()].flatMap((claimId) => {
    const claim = claims.get(claimId)
    return claim?.hold === undefined ? [] : (works.get(claim.workId) ?? [])
  })
}

function waitsOf(state: GraphState, standing: Standing): readonly string[] {
  const lines = pendingWorks(state, { limit: TOLD_WAITS }).map((work) => {
    const waits = waitsForOf(state, work, standing)
    return waits.length === 0 ? `${work.workId} (${work.status})` : `${work.workId}: ${waits.join(', ')}`
  })
  return firstOf(lines, TOLD_BYTES, costOf)
}
