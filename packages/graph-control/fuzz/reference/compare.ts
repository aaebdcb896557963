/** Whether what a store reads of a graph is what the reference says, and how its parts fit together. */
import { deepStrictEqual, ok } from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { changedWorks, endedWorks, pendingWorks } from '../../src/changes.ts'
import type { FoldedGraph } from '../../src/graph-state.ts'
import { updateOf } from '../../src/kept-updates.ts'
import type { GraphState, Work } from '../../src/index.ts'
import {
  changeSeqOf,
  isLive,
  openWakeOf,
  recordIdsOf,
  type RefClaim,
  type RefGraph,
  type RefWork,
  statusOf,
  usageOf,
  waitingFor,
  wokenUpTo,
} from './graph.ts'

/** What a step may change at first sight. @throws AssertionError with the difference. */
export function compareOutline(state: GraphState | undefined, graph: RefGraph): void {
  if (state === undefined || graph.seq === 0) return compareGraph(state, graph)
  compareHead(state, graph)
  compareLive(state, graph)
}

/** Everything. @throws AssertionError with the difference. */
export function compareGraph(state: GraphState | undefined, graph: RefGraph): void {
  if (state === undefined || graph.seq === 0) {
    return deepStrictEqual([state?.seq ?? 0], [graph.seq], `entries of graph ${graph.graphId}`)
  }
  compareHead(state, graph)
  deepStrictEqual([...state.works.keys()].sort(), graph.works.map((work) => work.id).sort(), 'works')
  for (const work of graph.works) compareWork(state, graph, work)
  comparePlaces(state, graph)
  deepStrictEqual(
    Object.fromEntries(state.operators),
    byKey(graph.operators, (o) => o.operatorId),
    'operators',
  )
  deepStrictEqual(
    Object.fromEntries(state.bindings),
    byKey(graph.bindings, (b) => b.provisionId),
    'bindings',
  )
  const claims = byKey(graph.claims.map(claimView), (claim) => claim.claimId)
  deepStrictEqual(Object.fromEntries(state.claims), claims, 'claims')
  const records = [...state.records.values()].map((record) => ({ ...record, digest: '' }))
  deepStrictEqual(
    byKey(records, (r) => r.recordId),
    byKey(graph.records, (r) => r.recordId),
    'records',
  )
  deepStrictEqual(
    Object.fromEntries(state.wakes),
    byKey(graph.wakes, (wake) => wake.wakeId),
    'wakes',
  )
  compareLive(state, graph)
  compareIndex(state as FoldedGraph, graph)
}

function byKey<T>(values: readonly T[], key: (value: T) => string): Record<string, T> {
  return Object.fromEntries(values.map((value) => [key(value), value]))
}

function compareHead(state: GraphState, graph: RefGraph): void {
  const { rootSessionId, seq, revision, changeSeq, seenChangeSeq, phase, closed, finish, createdAt, fence } =
    state
  const over = graph.works.filter((work) => work.over !== undefined).length
  const isClosed = graph.finish !== undefined
  deepStrictEqual(
    {
      rootSessionId,
      seq,
      revision,
      changeSeq,
      seenChangeSeq,
      phase,
      closed,
      finish,
      createdAt,
      fence,
      wait: state.wait,
      counts: state.counts,
      usage: state.usage,
    },
    {
      rootSessionId: graph.root,
      seq: graph.seq,
      revision: graph.updates.length,
      changeSeq: changeSeqOf(graph),
      seenChangeSeq: graph.seen,
      phase: isClosed ? 'closed' : graph.isDraft ? 'draft' : 'open',
      closed: isClosed,
      finish: graph.finish,
      createdAt: graph.createdAt,
      fence: graph.fence,
      wait: graph.wait,
      counts: { works: graph.works.length, pending: graph.works.length - over, terminal: over },
      usage: usageOf(graph.claims) ?? { inputTokens: 0, outputTokens: 0 },
    },
    'the graph itself',
  )
}

function compareWork(state: GraphState, graph: RefGraph, work: RefWork): void {
  const held = state.works.get(work.id)
  ok(held !== undefined)
  const { reason, endedChangeSeq, ordinal, waitingFor: waits, ...view } = held
  const usage = usageOf(graph.claims.filter((claim) => claim.request.workId === work.id))
  deepStrictEqual(
    {
      ...view,
      waitingFor: [...waits].sort(),
      isExplained: (reason ?? '') !== '',
      isDated: endedChangeSeq !== undefined,
    },
    {
      ...work.request,
      status: statusOf(graph, work),
      revision: work.revision,
      addedAt: work.addedAt,
      waitingFor: waitingFor(graph, work).sort(),
      recordIds: recordIdsOf(graph, work),
      retries: work.retries,
      ...present('retryReason', work.retryReason),
      ...present('claimId', work.claimId),
      ...present('operatorId', work.operatorId),
      ...present('itemWorkIds', work.items),
      ...present('joinedBy', work.joinedBy),
      ...present('replacedBy', work.replacedBy),
      ...present('usage', usage),
      ...present('startedAt', work.startedAt),
      ...present('endedAt', work.over?.at),
      isExplained: work.over !== undefined && work.over.status !== 'completed',
      isDated: work.over !== undefined,
    },
    `work ${work.id}`,
  )
  // The order in which one entry numbers the works of items is the store's.
  if (work.joinedBy === undefined) deepStrictEqual(ordinal, work.ordinal, `place of work ${work.id}`)
  if (['failed', 'cancelled'].includes(work.over?.status ?? '')) {
    ok(reason?.startsWith(work.over?.reason ?? ''), `work ${work.id} tells another reason: ${reason}`)
  }
}

function present(key: string, value: unknown): Record<string, unknown> {
  return value === undefined ? {} : { [key]: value }
}

/** Places and change numbers are each given once. */
function comparePlaces(state: GraphState, graph: RefGraph): void {
  const works = [...state.works.values()]
  const ordinals = works.map((work) => work.ordinal).sort((a, b) => a - b)
  deepStrictEqual(
    ordinals,
    works.map((_, index) => index + 1),
    'places of works',
  )
  const changes = works.flatMap((work) => work.endedChangeSeq ?? [])
  deepStrictEqual(new Set(changes).size, changes.length, 'change numbers')
  ok(Math.max(0, ...changes) <= changeSeqOf(graph), 'a change number is to come')
}

function claimView(claim: RefClaim) {
  return {
    ...claim.request,
    claimedAt: claim.claimedAt,
    admissionStatus: claim.status,
    attempt: claim.attempt,
    ...present('retryReason', claim.retryReason),
    ...present('notBefore', claim.notBefore),
    ...present('hold', claim.hold),
    ...present('cancellationReason', claim.cancellationReason),
    ...present('outcome', claim.outcome),
    ...present('recordId', claim.conclusionId),
  }
}

function compareLive({ live }: GraphState, graph: RefGraph): void {
  const claims = graph.claims.filter(isLive)
  const keys = (held: ReadonlyMap<string, unknown>) => [...held.keys()].sort()
  deepStrictEqual(
    {
      pending: keys(live.pending),
      ready: keys(live.ready),
      claims: [...live.claims.keys()],
      busy: Object.fromEntries(live.busyOperators),
      open: live.openWakeId,
      toCome: [...live.scheduledWakes.keys()],
      woken: live.wokenChangeSeq,
    },
    {
      pending: graph.works
        .filter((work) => work.over === undefined)
        .map((work) => work.id)
        .sort(),
      ready: graph.works
        .filter((work) => statusOf(graph, work) === 'ready')
        .map((work) => work.id)
        .sort(),
      claims: claims.map((claim) => claim.request.claimId),
      busy: Object.fromEntries(claims.map(({ request }) => [request.targetOperatorId, request.claimId])),
      open: openWakeOf(graph)?.wakeId,
      toCome: graph.toCome,
      woken: wokenUpTo(graph),
    },
    'what is live',
  )
}

function compareIndex(state: FoldedGraph, graph: RefGraph): void {
  deepStrictEqual(
    Array.from(state.index.updates.values(), (update) => updateOf(update, state.works)),
    graph.updates,
    'updates',
  )
  deepStrictEqual([...state.index.wakeAttempts.values()], graph.attempts, 'wake attempts')
  const works = [...state.works.values()]
  const after = Math.floor(works.length / 3)
  const pending = works.filter((work) => work.endedAt === undefined && work.ordinal > after)
  pending.sort((a, b) => a.ordinal - b.ordinal)
  deepStrictEqual(
    ids(pendingWorks(state, { afterOrdinal: after, limit: 3 })),
    ids(pending.slice(0, 3)),
    'a page of pending works',
  )
  const ended = works.filter((work) => work.endedChangeSeq !== undefined)
  ended.sort((a, b) => (b.endedChangeSeq ?? 0) - (a.endedChangeSeq ?? 0))
  deepStrictEqual(ids(endedWorks(state, { limit: 3 })), ids(ended.slice(0, 3)), 'the works that ended last')
}

/** @throws AssertionError when a work that changed since is left out, or told of twice. */
export function compareChanges(state: GraphState, before: ReadonlyMap<string, Work>, seq: number): void {
  const told = changedWorks(state as FoldedGraph, seq)
  if (told === undefined) return
  const named = ids(told)
  deepStrictEqual(new Set(named).size, named.length, 'changes name a work twice')
  const left = [...state.works.values()].filter((work) => !isDeepStrictEqual(before.get(work.workId), work))
  for (const { workId } of left) ok(named.includes(workId), `changes since ${seq} leave out ${workId}`)
}

function ids(works: readonly Work[]): string[] {
  return works.map((work) => work.workId)
}
