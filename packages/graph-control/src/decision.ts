/**
 * A decision: what a request commits, given the state it finds. Deciding is pure and may happen
 * again, when another process wrote first.
 */
import type { GraphEntry } from './entries.ts'
import { GraphControlError } from './errors.ts'
import type { FoldedGraph } from './graph-state.ts'

export interface Decision<T> {
  /** Appended together or not at all; none when what was asked for is already there. */
  readonly entries: readonly GraphEntry[]
  /** The answer, read from the state that the entries led to. */
  readonly answer: (state: FoldedGraph) => T
}

export type Decide<T> = (state: FoldedGraph) => Decision<T> | Promise<Decision<T>>

export function commit<T>(
  entries: GraphEntry | readonly GraphEntry[],
  answer: Decision<T>['answer'],
): Decision<T> {
  return { entries: 'type' in entries ? [entries] : entries, answer }
}

export function unchanged<T>(answer: T): Decision<T> {
  return { entries: [], answer: () => answer }
}

/** @throws GraphControlError `graph-not-found` for a graph without entries. */
export function requireGraph(state: FoldedGraph): void {
  if (state.seq === 0) {
    throw new GraphControlError('graph-not-found', `no graph ${state.graphId}: commit an update to it first`)
  }
}

/** @throws GraphControlError `schedule-closed`. */
export function requireOpen(state: FoldedGraph): void {
  if (state.closed) {
    throw new GraphControlError(
      'schedule-closed',
      `graph ${state.graphId} is finished; open the next epoch to go on`,
    )
  }
}

/** @throws GraphControlError `draft-conflict`: nothing of a draft runs. */
export function requireNoDraft(state: FoldedGraph): void {
  if (state.phase === 'draft') {
    throw new GraphControlError(
      'draft-conflict',
      `graph ${state.graphId} is a draft; nothing of it runs before an update commits it (draft: commit)`,
    )
  }
}

/** @throws GraphControlError `schedule-revision-conflict`. */
export function requireRevision(state: FoldedGraph, expected: number): void {
  if (state.revision !== expected) {
    throw new GraphControlError(
      'schedule-revision-conflict',
      `graph ${state.graphId} is at revision ${state.revision}, not ${expected}; read it and decide again`,
    )
  }
}

/** What a fold has just put there. */
export function committed<V>(map: ReadonlyMap<string, V>, id: string): V {
  const value = map.get(id)
  if (value === undefined) throw new Error(`the fold left nothing under ${id}`)
  return value
}
