/**
 * A folded graph as JSON and back, so that opening costs what is there and not what happened.
 *
 * A snapshot is derived data: one that cannot be read is passed over, and the stream is folded from
 * its beginning. What was said once is stored once: an update names the works it added. What grows with
 * the graph is read when it is first asked for.
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
import type { Claim, GraphRecord, Operator, OperatorBinding, Wake, WakeAttempt, Work } from './types.ts'
import type { KeptUpdate } from './kept-updates.ts'
import { decodeTable, encodeTable, type Table } from './snapshot-tables.ts'
import { VersionedMap } from './versioned-map.ts'

const VERSION = 2
const VERSIONS: ReadonlySet<unknown> = new Set([1, VERSION])
/** Links of the chains that answer what changed and what ended last. */
const KEPT_LINKS = 1_000

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

type Pair = readonly [string, readonly string[]]

interface Stored {
  /** 1 had lists in place of the texts of its tables. */
  readonly v: 1 | typeof VERSION
  /** What a graph does not have is left out: JSON knows no `undefined`. */
  readonly head: Pick<FoldedGraph, Always> & { readonly [K in Sometimes]?: NonNullable<FoldedGraph[K]> }
  readonly works: Table<Work>
  readonly operators: Table<Operator>
  readonly bindings: Table<OperatorBinding>
  readonly claims: Table<Claim>
  readonly records: Table<GraphRecord>
  readonly wakes: Table<Wake>
  readonly wakeAttempts: Table<WakeAttempt>
  readonly updates: Table<KeptUpdate>
  readonly live: {
    readonly pending: readonly string[]
    readonly ready: readonly string[]
    readonly claims: readonly string[]
    /** Not in version 1. */
    readonly busyOperators?: readonly (readonly [string, string])[]
    readonly scheduledWakes: readonly string[]
    readonly openWakeId?: string
    readonly wokenChangeSeq: number
  }
  readonly dependents: readonly (readonly [string, readonly string[]])[]
  readonly operatorWorks: Table<{ readonly id: string; readonly works: readonly string[] }>
  readonly changes: readonly (readonly [string, number])[]
  readonly changesFrom: number
  readonly ended: readonly (readonly [string, number])[]
  readonly endedFrom: number
}

/** The whole at once. */
export function snapshotOf(state: FoldedGraph): JsonValue {
  const steps = snapshotSteps(state)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** In steps of a millisecond or so, between which others may do what they like. */
export function* snapshotSteps(state: FoldedGraph): Generator<undefined, JsonValue> {
  const { graphId, rootSessionId, seq, revision, changeSeq, seenChangeSeq, phase, closed } = state
  const { finish, createdAt, fence, usage, wait, counts, live, index } = state
  const changes = linksOf(index.changes, (link) => [link.workId, link.seq] as const)
  const ended = linksOf(index.ended, (link) => [link.workId, link.changeSeq] as const)
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
    works: yield* encodeTable(state.works.values()),
    operators: yield* encodeTable(state.operators.values()),
    bindings: yield* encodeTable(state.bindings.values()),
    claims: yield* encodeTable(state.claims.values()),
    records: yield* encodeTable(state.records.values()),
    wakes: yield* encodeTable(state.wakes.values()),
    wakeAttempts: yield* encodeTable(index.wakeAttempts.values()),
    updates: yield* encodeTable(index.updates.values()),
    live: {
      pending: [...live.pending.keys()],
      ready: [...live.ready.keys()],
      claims: [...live.claims.keys()],
      busyOperators: [...live.busyOperators],
      scheduledWakes: [...live.scheduledWakes.keys()],
      ...(live.openWakeId === undefined ? {} : { openWakeId: live.openWakeId }),
      wokenChangeSeq: live.wokenChangeSeq,
    },
    dependents: [...index.dependents].map(([id, chain]) => [id, idsOf(chain)]),
    operatorWorks: yield* encodeTable(listed(index.operatorWorks)),
    changes: changes.links,
    changesFrom: changes.isCut ? (changes.links[0]?.[1] ?? seq) : index.changesFrom,
    ended: ended.links,
    endedFrom: ended.isCut ? (ended.links[0]?.[1] ?? 0) : index.endedFrom,
  }
  return stored as unknown as JsonValue
}

/** The state that a snapshot holds; `undefined` for what is none of this graph at this position. */
export function stateOfSnapshot(graphId: string, seq: number, snapshot: JsonValue): FoldedGraph | undefined {
  const stored = snapshot as unknown as Stored
  if (!VERSIONS.has(stored?.v) || stored.head.graphId !== graphId || stored.head.seq !== seq) return undefined
  const { head, live } = stored
  // Read once, by whichever map is asked first.
  const operatorRows = once(() => decodeTable(stored.operators))
  const claimRows = once(() => decodeTable(stored.claims))
  const updateRows = once(() => decodeTable(stored.updates))
  const works = tableOf(stored.works, (work) => work.workId)
  const operators = VersionedMap.deferred(() => keyed(operatorRows(), (operator) => operator.operatorId))
  const claims = VersionedMap.deferred(() => keyed(claimRows(), (claim) => claim.claimId))
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
    bindings: tableOf(stored.bindings, (binding) => binding.provisionId),
    records: tableOf(stored.records, (record) => record.recordId),
    wakes: tableOf(stored.wakes, (wake) => wake.wakeId),
    live: Object.freeze({
      // Version 1 kept them in order of arrival.
      pending: stored.v === 1 ? pendingInOrder(works, live.pending) : marksOf(live.pending),
      ready: marksOf(live.ready),
      claims: marksOf(live.claims),
      scheduledWakes: marksOf(live.scheduledWakes),
      busyOperators: VersionedMap.from(live.busyOperators ?? busyOf(live.claims, claims)),
      openWakeId: live.openWakeId,
      wokenChangeSeq: live.wokenChangeSeq,
    }),
    index: Object.freeze({
      updates: VersionedMap.deferred(() => keyed(updateRows(), (update) => update.updateId)),
      sources: VersionedMap.deferred(() =>
        updateRows().map((update) => [sourceKey(update.source), update.updateId] as const),
      ),
      provisions: VersionedMap.deferred(() =>
        operatorRows().map((operator) => [operator.provisionId, operator.operatorId] as const),
      ),
      sessions: VersionedMap.deferred(() =>
        operatorRows().map((operator) => [operator.targetSessionId, operator.operatorId] as const),
      ),
      operatorWorks: VersionedMap.deferred(() => {
        const chains = decodeTable(stored.operatorWorks)
        // In version 1 they were pairs.
        const pairs = chains.map((chain) =>
          Array.isArray(chain) ? (chain as unknown as Pair) : ([chain.id, chain.works] as const),
        )
        return pairs.map(([id, ids]) => [id, chainOf(ids)] as const)
      }),
      intents: VersionedMap.deferred(() =>
        claimRows().map((claim) => [claim.intentId, claim.claimId] as const),
      ),
      turns: VersionedMap.deferred(() => [
        ...operatorRows().map((operator) => [operator.initialTurnId, operator.workId] as const),
        ...claimRows().map((claim) => [claim.targetTurnId, claim.workId] as const),
      ]),
      runs: VersionedMap.deferred(() => [
        ...operatorRows().map((operator) => [operator.initialRunId, operator.workId] as const),
        ...claimRows().map((claim) => [claim.targetRunId, claim.workId] as const),
      ]),
      dependents: VersionedMap.from(stored.dependents.map(([id, ids]) => [id, chainOf(ids)] as const)),
      wakeAttempts: tableOf(stored.wakeAttempts, (attempt) => attempt.attemptId),
      changes: changesOf(stored.changes),
      changesFrom: stored.changesFrom,
      ended: endedOf(stored.ended),
      endedFrom: stored.endedFrom,
    }),
  })
}

function* listed(chains: VersionedMap<IdChain>): Generator<{ id: string; works: readonly string[] }> {
  for (const [id, chain] of chains) yield { id, works: idsOf(chain) }
}

function tableOf<V extends object>(table: Table<V>, key: (value: V) => string): VersionedMap<V> {
  return VersionedMap.deferred(() => keyed(decodeTable(table), key))
}

function keyed<V extends object>(values: readonly V[], key: (value: V) => string): (readonly [string, V])[] {
  return values.map((value) => [key(value), value] as const)
}

function once<T>(read: () => T): () => T {
  let known: { readonly value: T } | undefined
  return () => (known ??= { value: read() }).value
}

function busyOf(live: readonly string[], claims: VersionedMap<Claim>): (readonly [string, string])[] {
  const held = live.flatMap((id) => claims.get(id) ?? [])
  return held.map((claim) => [claim.targetOperatorId, claim.claimId] as const)
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
