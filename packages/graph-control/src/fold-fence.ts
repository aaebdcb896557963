/** A newer holder of the root's lease commits from here on; entries of older ones cannot follow. */
import type { GraphEntryData } from './entries.ts'
import { type Draft, FoldError } from './graph-state.ts'

export function foldFence(draft: Draft, { epoch, holderId }: GraphEntryData<'fence'>): void {
  if (draft.fence !== undefined && epoch <= draft.fence.epoch) {
    throw new FoldError(`takes the lease in epoch ${epoch}, and it is in epoch ${draft.fence.epoch}`)
  }
  draft.fence = Object.freeze({ epoch, holderId })
}
