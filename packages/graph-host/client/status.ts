/** What stands for a status in the picture. Pure. */
import type { WorkCardStatus } from '../src/feed/wire.ts'

/** A status, or `held`: it waits for the person; or `absent`: it was not there yet. */
export type Mark = WorkCardStatus | 'held' | 'absent'

export function markOf(work: { status: WorkCardStatus; waits?: { for: string } | undefined }): Mark {
  return work.waits?.for === 'person' ? 'held' : work.status
}
