/** The one error class of the graph store. */
import { HarnessError } from '@deepseek-ai/dsh-llm'

/**
 * - `graph-not-found`, `graph-exists`, `epoch-conflict`: the registry.
 * - `schedule-closed`: the graph is finished; nothing is added to it.
 * - `schedule-revision-conflict`: the caller decided on an older revision.
 * - `schedule-update-conflict`: the same update id or the same tool call with another payload.
 * - `work-conflict`: a work id is taken or names a work that does not exist, or the state of a work
 *   forbids the step (it is over, it still waits, it keeps the graph from being finished).
 * - `intent-claim-conflict`, `intent-not-found`: claims.
 * - `draft-conflict`: the step is for a draft and the graph is none, or the other way round.
 * - `provision-conflict`, `provision-not-found`, `binding-conflict`: operators and their worktrees.
 * - `attempt-conflict`: a result of an attempt that is no longer the live one.
 * - `record-not-found`: no such record.
 * - `wake-conflict`, `wake-not-found`, `wake-attempt-not-found`, `wake-already-delivered`: wakes.
 * - `invalid`: malformed input; the message names the field. Nothing was written.
 * - `lease-lost`: a later holder of the root's lease commits to this graph now.
 * - `quarantined`: the stored stream cannot be folded; other graphs are not affected.
 * - `closed`: the store was closed.
 */
export type GraphControlErrorCode =
  | 'graph-not-found'
  | 'graph-exists'
  | 'epoch-conflict'
  | 'schedule-closed'
  | 'schedule-revision-conflict'
  | 'schedule-update-conflict'
  | 'work-conflict'
  | 'intent-claim-conflict'
  | 'intent-not-found'
  | 'provision-conflict'
  | 'provision-not-found'
  | 'binding-conflict'
  | 'draft-conflict'
  | 'attempt-conflict'
  | 'record-not-found'
  | 'wake-conflict'
  | 'wake-not-found'
  | 'wake-attempt-not-found'
  | 'wake-already-delivered'
  | 'invalid'
  | 'lease-lost'
  | 'quarantined'
  | 'closed'

export class GraphControlError extends HarnessError {
  declare readonly code: GraphControlErrorCode

  constructor(code: GraphControlErrorCode, message: string, options?: ErrorOptions) {
    super(message, code, options)
  }
}
