/**
 * A folded graph as JSON and back, so that opening costs what is there and not what happened.
 *
 * A snapshot is derived data: one that cannot be read is passed over, and the stream is folded from
 * its beginning. What was said once is stored once: an update names the works it added.
 */
import type { JsonValue } from 'dsh-durable-log'
import {
  type ChangeChain,
  emptyGraph,
  type EndedChain,
  type FoldedGraph,
  type IdChain,
  idsOf,
  sourceKey,
} from './graph-state.ts'
import { pendingInOrder } from './fold-retries.ts'
import type {
  Claim,
  GraphRecord,
  Operator,
  OperatorBinding,
  ScheduleUpdate,
  Wake,
  WakeAttempt,
  Work,
  WorkRequest,
} from './types.ts'
import { VersionedMap } from './versioned-map.ts'

const VERSION = 1
/** Links of the chains that answer what changed and what ended last. */
const KEPT_LINKS = 1_000

interface StoredUpdate extends Omit<ScheduleUpdate, 'addWork'> {
  readonly added: readonly string[]
}

type Always =
  | 'graphId'
  | 'seq'
  | 'revision'
  | 'changeSeq'
  | 'seenChangeSeq'
  | 'phase'
  | 'closed'
  | 'usage'
  | 'counts'
type Sometimes = 'rootSessionId' | 'finish' | 'createdAt' | 'fence' | 'wait'

interface Stored {
  readonly v: typeof VERSION
  /** What a graph does not have is left out: JSON knows no `undefined`. */
  readonly head: Pick<FoldedGraph, Always> & { readonly [K in Sometimes]?: NonNullable<FoldedGraph[K]> }
  readonly works: readonly Work[]
  readonly operators: readonly Operator[]
  readonly bindings: readonly OperatorBinding[]
  readonly claims: readonly Claim[]
  readonly records: readonly GraphRecord[]
  readonly wakes: readonly Wake[]
  readonly wakeAttempts: readonly WakeAttempt[]
  readonly updates: readonly StoredUpdate[]
  readonly live: {
    readonly pending: readonly string[]
    readonly ready: readonly string[]
    readonly claims: readonly string[]
    readonly scheduledWakes: readonly string[]
    readonly openWakeId?: string
    readonly wokenChangeSeq: number
  }
  readonly dependents: readonly (readonly [string, readonly string[]])[]
  readonly operatorWorks: readonly (readonly [string, readonly string[]])[]
  readonly changes: readonly (readonly [string, number])[]
  readonly changesFrom: number
  readonly ended: readonly (readonly [string, number])[]
}

export function snapshotOf(state: FoldedGraph): JsonValue {
  const { graphId, rootSessionId, seq, revision, changeSeq, seenChangeSeq, phase, closed } = state
  const { finish, createdAt, fence, usage, wait, counts, live, index } = state
  const changes = linksOf(index.changes, (link) => [link.workId, link.seq] as const)
  const stored: Stored = {
    v: VERSION,
    head: {
      graphId,
      seq,
      revision,
      changeSeq,
      seenChangeSeq,
      phase,
      closed,
      usage,
      counts,
      ...(rootSessionId === undefined ? {} : { rootSessionId }),
      ...(finish === undefined ? {} : { finish }),
      ...(createdAt === undefined ? {} : { createdAt }),
      ...(fence === undefined ? {} : { fence }),
      ...(wait === undefined ? {} : { wait }),
    },
    works: [...state.works.values()],
    operators: [...state.operators.values()],
    bindings: [...state.bindings.values()],
    claims: [...state.claims.values()],
    records: [...state.records.values()],
    wakes: [...state.wakes.values()],
    wakeAttempts: [...index.wakeAttempts.values()],
    updates: [...index.updates.values()].map(({ addWork, ...rest }) => ({
      ...rest,
      added: addWork.map((work) => work.workId),
    })),
    live: {
      pending: [...live.pending.keys()],
      ready: [...live.ready.keys()],
      claims: [...live.claims.keys()],
      scheduledWakes: [...live.scheduledWakes.keys()],
      ...(live.openWakeId === undefined ? {} : { openWakeId: live.openWakeId }),
      wokenChangeSeq: live.wokenChangeSeq,
    },
    dependents: [...index.dependents].map(([id, chain]) => [id, idsOf(chain)]),
    operatorWorks: [...index.operatorWorks].map(([id, chain]) => [id, idsOf(chain)]),
    changes: changes.links,
    changesFrom: changes.isCut ? (changes.links[0]?.[1] ?? seq) : index.changesFrom,
    ended: linksOf(index.ended, (link) => [link.workId, link.changeSeq] as const).links,
  }
  return stored as unknown as JsonValue
}

/** The state that a snapshot holds; `undefined` for what is none of this graph at this position. */
export function stateOfSnapshot(graphId: string, seq: number, snapshot: JsonValue): FoldedGraph | undefined {
  const stored = snapshot as unknown as Stored
  if (stored?.v !== VERSION || stored.head.graphId !== graphId || stored.head.seq !== seq) return undefined
  const { head, live } = stored
  const works = mapOf(stored.works, (work) => work.workId)
  const operators = mapOf(stored.operators, (operator) => operator.operatorId)
  const claims = mapOf(stored.claims, (claim) => claim.claimId)
  const updates = stored.updates.map((update) => updateOf(update, works))
  const held = live.claims.flatMap((id) => claims.get(id) ?? [])
  return Object.freeze<FoldedGraph>({
    ...emptyGraph(graphId),
    ...head,
    ...(head.finish === undefined ? {} : { finish: Object.freeze(head.finish) }),
    ...(head.fence === undefined ? {} : { fence: Object.freeze(head.fence) }),
    ...(head.wait === undefined ? {} : { wait: Object.freeze(head.wait) }),
    usage: Object.freeze(head.usage),
    counts: Object.freeze(head.counts),
    works,
    operators,
    claims,
    bindings: mapOf(stored.bindings, (binding) => binding.provisionId),
    records: mapOf(stored.records, (record) => record.recordId),
    wakes: mapOf(stored.wakes, (wake) => wake.wakeId),
    live: Object.freeze({
      // An earlier form of the state kept them in order of arrival.
      pending: pendingInOrder(works, live.pending),
      ready: marksOf(live.ready),
      claims: marksOf(live.claims),
      scheduledWakes: marksOf(live.scheduledWakes),
      busyOperators: VersionedMap.from(held.map((claim) => [claim.targetOperatorId, claim.claimId])),
      openWakeId: live.openWakeId,
      wokenChangeSeq: live.wokenChangeSeq,
    }),
    index: Object.freeze({
      updates: VersionedMap.from(updates.map((update) => [update.updateId, update])),
      sources: VersionedMap.from(updates.map((update) => [sourceKey(update.source), update.updateId])),
      provisions: VersionedMap.from(stored.operators.map((o) => [o.provisionId, o.operatorId])),
      sessions: VersionedMap.from(stored.operators.map((o) => [o.targetSessionId, o.operatorId])),
      operatorWorks: VersionedMap.from(stored.operatorWorks.map(([id, ids]) => [id, chainOf(ids)] as const)),
      intents: VersionedMap.from(stored.claims.map((claim) => [claim.intentId, claim.claimId])),
      turns: VersionedMap.from([
        ...stored.operators.map((o) => [o.initialTurnId, o.workId] as const),
        ...stored.claims.map((claim) => [claim.targetTurnId, claim.workId] as const),
      ]),
      runs: VersionedMap.from([
        ...stored.operators.map((o) => [o.initialRunId, o.workId] as const),
        ...stored.claims.map((claim) => [claim.targetRunId, claim.workId] as const),
      ]),
      dependents: VersionedMap.from(stored.dependents.map(([id, ids]) => [id, chainOf(ids)] as const)),
      wakeAttempts: mapOf(stored.wakeAttempts, (attempt) => attempt.attemptId),
      changes: changesOf(stored.changes),
      changesFrom: stored.changesFrom,
      ended: endedOf(stored.ended),
    }),
  })
}

/** Nothing that only the fold knows is part of what was asked for. */
function updateOf({ added, ...rest }: StoredUpdate, works: VersionedMap<Work>): ScheduleUpdate {
  const addWork = added.map((workId) => {
    const work = works.get(workId)
    if (work === undefined) throw new Error(`the snapshot has update ${rest.updateId} without work ${workId}`)
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

function mapOf<V extends object>(values: readonly V[], key: (value: V) => string): VersionedMap<V> {
  return VersionedMap.from(values.map((value) => [key(value), Object.freeze(value)] as const))
}

function marksOf(ids: readonly string[]): VersionedMap<true> {
  return VersionedMap.from(ids.map((id) => [id, true] as const))
}

/** Oldest first; only the newest ones are kept. */
function linksOf<C extends { readonly earlier: C | undefined }, L>(
  chain: C | undefined,
  linkOf: (link: C) => L,
): { links: readonly L[]; isCut: boolean } {
  const links: L[] = []
  let link = chain
  for (; link !== undefined && links.length < KEPT_LINKS; link = link.earlier) links.push(linkOf(link))
  return { links: links.toReversed(), isCut: link !== undefined }
}

function chainOf(ids: readonly string[]): IdChain {
  let chain: IdChain | undefined
  for (const id of ids) chain = { id, earlier: chain }
  if (chain === undefined) throw new Error('the snapshot has an empty chain')
  return chain
}

function changesOf(links: Stored['changes']): ChangeChain | undefined {
  let chain: ChangeChain | undefined
  for (const [workId, seq] of links) chain = { workId, seq, earlier: chain }
  return chain
}

function endedOf(links: Stored['ended']): EndedChain | undefined {
  let chain: EndedChain | undefined
  for (const [workId, changeSeq] of links) chain = { workId, changeSeq, earlier: chain }
  return chain
}
