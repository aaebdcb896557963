/** A graph and its works as the page sees them. Pure, at the cost of what is shown. */
import { permitPlace, type Claim, type GraphEpoch, type GraphState, type Work } from 'dsh-graph-control'
import type { LaneWaits } from '../lane-wait.ts'
import type { GraphHead, WaitReason, WorkCard } from './wire.ts'

const TITLE_CHARS = 200
const REASON_CHARS = 500
/** Inputs that a wait reason names one by one. */
const NAMED = 4

/** The first characters of a text in one line, cut at a code point. */
export function firstWords(text: string, chars: number): string {
  // A cut before the spaces are joined keeps this cheap for a long text.
  const line = text
    .slice(0, chars * 4)
    .replaceAll(/\s+/gu, ' ')
    .trim()
  return line.length <= chars ? line : `${line.slice(0, chars).replace(/[\ud800-\udbff]$/u, '')}…`
}

/** What decides besides the graph whether a work goes on. */
export interface Standing {
  /** Works of one graph that may be under way. */
  readonly slots: number
  readonly laneWait: LaneWaits
}

export function workCard(state: GraphState, work: Work, standing?: Standing): WorkCard {
  const { claimId, operatorId, itemWorkIds, reason, retries, startedAt, endedAt, usage } = work
  const claim = claimId === undefined ? undefined : state.claims.get(claimId)
  const sessionId =
    claim?.targetSessionId ??
    (operatorId === undefined ? undefined : state.operators.get(operatorId)?.targetSessionId)
  const waits = waitReasonOf(state, work, standing)
  return {
    id: work.workId,
    ordinal: work.ordinal,
    title: firstWords(work.title ?? work.instruction, TITLE_CHARS),
    status: work.status,
    target: `${work.target.kind}:${work.target.id}`,
    inputIds: work.inputIds,
    addedAt: work.addedAt,
    records: work.recordIds.length,
    ...(waits === undefined ? {} : { waits }),
    ...(reason === undefined ? {} : { reason: firstWords(reason, REASON_CHARS) }),
    ...(claim === undefined || claim.attempt === 0 ? {} : { attempt: claim.attempt }),
    ...(retries === 0 ? {} : { retries }),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(endedAt === undefined ? {} : { endedAt }),
    ...(usage === undefined ? {} : { inputTokens: usage.inputTokens, outputTokens: usage.outputTokens }),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(work.replacedBy === undefined ? {} : { replacedBy: work.replacedBy }),
    ...(work.joinedBy === undefined ? {} : { joinedBy: work.joinedBy }),
    ...(itemWorkIds === undefined
      ? {}
      : { items: { total: itemWorkIds.length, pending: work.waitingFor.length } }),
  }
}

/** What has to happen before a work goes on; `undefined` for one whose session is at work, or that is over. */
export function waitReasonOf(state: GraphState, work: Work, standing?: Standing): WaitReason | undefined {
  if (work.endedAt !== undefined) return undefined
  if (state.phase === 'draft') return { for: 'draft' }
  const claim = work.claimId === undefined ? undefined : state.claims.get(work.claimId)
  if (claim?.hold !== undefined)
    return { for: claim.hold.kind, reason: firstWords(claim.hold.reason, REASON_CHARS) }
  if (claim?.notBefore !== undefined && work.status !== 'waiting') return { for: 'time', at: claim.notBefore }
  if (work.status === 'waiting') {
    const { waitingFor } = work
    return { for: 'works', ids: waitingFor.slice(0, NAMED), more: Math.max(0, waitingFor.length - NAMED) }
  }
  if (work.status !== 'ready') return underWayReason(state, work, claim, standing)
  const busy = work.operatorId === undefined ? undefined : state.live.busyOperators.get(work.operatorId)
  const workId = busy === undefined ? undefined : state.claims.get(busy)?.workId
  return workId === undefined ? { for: 'slot' } : { for: 'operator', workId }
}

/** Of a work that was let go: its place among those, its run's place in the lane, its operator's start. */
function underWayReason(
  state: GraphState,
  { operatorId, status }: Work,
  claim: Claim | undefined,
  standing: Standing | undefined,
): WaitReason | undefined {
  const place = claim === undefined ? undefined : permitPlace(state, claim.claimId)
  if (standing !== undefined && place !== undefined && place > standing.slots) return { for: 'slot' }
  const session = operatorId === undefined ? undefined : state.operators.get(operatorId)?.targetSessionId
  const wait = session === undefined ? undefined : standing?.laneWait(session)
  if (wait !== undefined) return { for: 'lane', ...wait }
  return status === 'claimed' ? { for: 'start' } : undefined
}

export function graphHead(state: GraphState, epochs: readonly GraphEpoch[]): GraphHead {
  const { graphId, seq, revision, phase, createdAt, finish, counts, usage, wait, live, wakes } = state
  const dueAts = [...live.scheduledWakes.keys()].flatMap((id) => wakes.get(id)?.dueAt ?? [])
  return {
    graphId,
    epoch: epochs.find((epoch) => epoch.graphId === graphId)?.epoch ?? 0,
    epochs: epochs.map(({ epoch, graphId: id, createdAt: at }) => ({ epoch, graphId: id, createdAt: at })),
    seq,
    revision,
    phase,
    works: counts.works,
    pending: counts.pending,
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    ...(createdAt === undefined ? {} : { createdAt }),
    ...(finish === undefined
      ? {}
      : {
          finish: {
            reason: firstWords(finish.reason, REASON_CHARS),
            finishedAt: finish.finishedAt,
            results: finish.resultIds.length,
          },
        }),
    ...(wait === undefined
      ? {}
      : {
          wait: {
            until: wait.until,
            since: wait.registeredAt,
            ...(wait.reason === undefined ? {} : { reason: firstWords(wait.reason, REASON_CHARS) }),
          },
        }),
    ...(dueAts.length === 0 ? {} : { nextWakeAt: Math.min(...dueAts) }),
  }
}
