/**
 * The state a graph stream folds into: the public views of {@link GraphState}, and the indexes that
 * keep a fold and a check at the cost of what changes.
 *
 * Owns: the shape of a state, how the next one is drawn from it. Does not own: what an entry does.
 */
import type {
  Claim,
  GraphCounts,
  GraphFence,
  GraphLive,
  GraphRecord,
  GraphState,
  Operator,
  OperatorBinding,
  ScheduleUpdate,
  Wake,
  WakeAttempt,
  Wait,
  Work,
} from './types.ts'
import type { KeptUpdate } from './kept-updates.ts'
import { VersionedMap } from './versioned-map.ts'

/** Ids in reverse order of arrival; adding one shares the rest. */
export interface IdChain {
  readonly id: string
  readonly earlier: IdChain | undefined
}

/** The ids of a chain in order of arrival. */
export function idsOf(chain: IdChain | undefined): readonly string[] {
  const ids: string[] = []
  for (let link = chain; link !== undefined; link = link.earlier) ids.push(link.id)
  return ids.toReversed()
}

/** The works whose view changed, newest first, each with the position of the entry that did it. */
export interface ChangeChain {
  readonly workId: string
  readonly seq: number
  readonly earlier: ChangeChain | undefined
}

/** The works that ended, newest first. Stale where the work was retried and ended anew since. */
export interface EndedChain {
  readonly workId: string
  readonly changeSeq: number
  readonly earlier: EndedChain | undefined
}

export interface GraphIndex {
  /** By update id, in order of revision. */
  readonly updates: VersionedMap<KeptUpdate>
  /** By {@link sourceKey}: the update of a tool call. */
  readonly sources: VersionedMap<string>
  /** Provision id → operator id. */
  readonly provisions: VersionedMap<string>
  /** Child session → operator id. */
  readonly sessions: VersionedMap<string>
  /** Operator id → the works done by it. */
  readonly operatorWorks: VersionedMap<IdChain>
  /** Intent id → claim id. */
  readonly intents: VersionedMap<string>
  /** Turn id → the work it was given to. */
  readonly turns: VersionedMap<string>
  /** Run id of a first attempt → the work it was given to. */
  readonly runs: VersionedMap<string>
  /** Work id → works that take it as an input; gone once it completed, for then nothing can change. */
  readonly dependents: VersionedMap<IdChain>
  /** In order of their beginning. */
  readonly wakeAttempts: VersionedMap<WakeAttempt>
  readonly changes: ChangeChain | undefined
  /** What changed up to this position is not in `changes`. */
  readonly changesFrom: number
  readonly ended: EndedChain | undefined
  /** Works that ended at or before this change are not all in `ended`. */
  readonly endedFrom: number
}

export interface FoldedLive extends GraphLive {
  readonly pending: VersionedMap<true>
  readonly ready: VersionedMap<true>
  readonly claims: VersionedMap<true>
  readonly busyOperators: VersionedMap<string>
  readonly scheduledWakes: VersionedMap<true>
}

export interface FoldedGraph extends GraphState {
  readonly works: VersionedMap<Work>
  readonly operators: VersionedMap<Operator>
  readonly bindings: VersionedMap<OperatorBinding>
  readonly claims: VersionedMap<Claim>
  readonly records: VersionedMap<GraphRecord>
  readonly wakes: VersionedMap<Wake>
  readonly live: FoldedLive
  readonly index: GraphIndex
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** The next state while one entry is being folded into it. */
export interface Draft extends Mutable<Omit<FoldedGraph, 'live' | 'index' | 'counts'>> {
  readonly live: Mutable<FoldedLive>
  readonly index: Mutable<GraphIndex>
  readonly counts: Mutable<GraphCounts>
  /** A work came back to life in this entry: what is pending is not in order of places now. */
  isReordered?: true
  /** The works that this entry changed; kept once it changed more than one. */
  touched?: Set<string> | undefined
}

/** Shared by all works that have nothing in such a list. */
export const NOTHING: readonly string[] = Object.freeze([])

/** An entry that no state of this graph admits. The stream that holds it cannot be read further. */
export class FoldError extends Error {}

export function emptyGraph(graphId: string): FoldedGraph {
  return Object.freeze<FoldedGraph>({
    graphId,
    rootSessionId: undefined,
    seq: 0,
    revision: 0,
    changeSeq: 0,
    seenChangeSeq: 0,
    phase: 'open',
    closed: false,
    finish: undefined,
    createdAt: undefined,
    fence: undefined as GraphFence | undefined,
    usage: Object.freeze({ inputTokens: 0, outputTokens: 0 }),
    works: VersionedMap.empty(),
    operators: VersionedMap.empty(),
    bindings: VersionedMap.empty(),
    claims: VersionedMap.empty(),
    records: VersionedMap.empty(),
    wakes: VersionedMap.empty(),
    wait: undefined as Wait | undefined,
    counts: Object.freeze({ works: 0, pending: 0, terminal: 0 }),
    live: Object.freeze({
      pending: VersionedMap.empty<true>(),
      ready: VersionedMap.empty<true>(),
      claims: VersionedMap.empty<true>(),
      busyOperators: VersionedMap.empty<string>(),
      openWakeId: undefined,
      scheduledWakes: VersionedMap.empty<true>(),
      wokenChangeSeq: 0,
    }),
    index: Object.freeze({
      updates: VersionedMap.empty<KeptUpdate>(),
      sources: VersionedMap.empty<string>(),
      provisions: VersionedMap.empty<string>(),
      sessions: VersionedMap.empty<string>(),
      operatorWorks: VersionedMap.empty<IdChain>(),
      intents: VersionedMap.empty<string>(),
      turns: VersionedMap.empty<string>(),
      runs: VersionedMap.empty<string>(),
      dependents: VersionedMap.empty<IdChain>(),
      wakeAttempts: VersionedMap.empty<WakeAttempt>(),
      changes: undefined,
      changesFrom: 0,
      ended: undefined,
      endedFrom: 0,
    }),
  })
}

export function draftOf(state: FoldedGraph): Draft {
  return { ...state, counts: { ...state.counts }, live: { ...state.live }, index: { ...state.index } }
}

/** Closes a draft. */
export function stateOf(draft: Draft): FoldedGraph {
  Object.freeze(draft.counts)
  Object.freeze(draft.live)
  Object.freeze(draft.index)
  return Object.freeze(draft)
}

/** What is there under `id`, or a fold error that says what was not. */
export function held<V extends NonNullable<unknown>>(map: VersionedMap<V>, id: string, what: string): V {
  const value = map.get(id)
  if (value === undefined) throw new FoldError(`names ${what} ${id}, which is not there`)
  return value
}

export function sourceKey(source: ScheduleUpdate['source']): string {
  return JSON.stringify([source.sessionId, source.runId, source.toolCallId])
}
