/**
 * The fold: entries of a graph stream in, state of the graph out. Pure, and the cost of an entry is
 * the cost of what it changes.
 *
 * Owns: which entry does what. Does not own: whether a caller may commit it (the store's checks are
 * stricter, and name the cure), nor where entries come from.
 */
import type { GraphEntry } from './entries.ts'
import {
  foldBegin,
  foldBind,
  foldCancel,
  foldClaim,
  foldHold,
  foldProvision,
  foldRearm,
  foldRetry,
  foldSettle,
} from './fold-activations.ts'
import { foldFence } from './fold-fence.ts'
import { foldOpened, foldUpdate } from './fold-schedule.ts'
import {
  foldSeen,
  foldWait,
  foldWake,
  foldWakeAttempt,
  foldWakesSuperseded,
  foldWakeSettled,
} from './fold-wakes.ts'
import { type Draft, draftOf, type FoldedGraph, stateOf } from './graph-state.ts'
import { asOneWriter } from './versioned-map.ts'

/**
 * The state after one more entry. The state before stays valid.
 *
 * @throws FoldError for an entry that this state does not admit.
 */
export function fold(state: FoldedGraph, entry: GraphEntry): FoldedGraph {
  return foldAll(state, [entry])
}

/**
 * The state after all of the entries; the cost of the states between is saved.
 *
 * @throws FoldError for the first entry that the state before it does not admit.
 */
export function foldAll(state: FoldedGraph, entries: readonly GraphEntry[]): FoldedGraph {
  const draft = draftOf(state)
  asOneWriter(() => {
    for (const entry of entries) {
      apply(draft, entry)
      draft.seq += 1
      draft.touched = undefined
    }
  })
  return stateOf(draft)
}

function apply(draft: Draft, entry: GraphEntry): void {
  switch (entry.type) {
    case 'graph/opened':
      return foldOpened(draft, entry.data)
    case 'update':
      return foldUpdate(draft, entry.data)
    case 'provision':
      return foldProvision(draft, entry.data)
    case 'claim':
      return foldClaim(draft, entry.data)
    case 'begin':
      return foldBegin(draft, entry.data)
    case 'retry':
      return foldRetry(draft, entry.data)
    case 'rearm':
      return foldRearm(draft, entry.data)
    case 'hold':
      return foldHold(draft, entry.data)
    case 'bind':
      return foldBind(draft, entry.data)
    case 'fence':
      return foldFence(draft, entry.data)
    case 'cancel':
      return foldCancel(draft, entry.data)
    case 'settle':
      return foldSettle(draft, entry.data)
    case 'wait':
      return foldWait(draft, entry.data)
    case 'seen':
      return foldSeen(draft, entry.data)
    case 'wake':
      return foldWake(draft, entry.data)
    case 'wake-attempt':
      return foldWakeAttempt(draft, entry.data)
    case 'wake-settled':
      return foldWakeSettled(draft, entry.data)
    case 'wakes-superseded':
      return foldWakesSuperseded(draft, entry.data)
  }
}
