/**
 * The mark of the process that uses a KvUnit, kept in the unit's global slot.
 *
 * A backend may rewrite the whole medium from its memory with every put, so a second process would
 * undo the first one's appends. The mark refuses it wherever it can see that the first one lives.
 * It is no lock: two processes that open in the same instant do not see each other, and neither do
 * two on different machines.
 */
import { DurableLogError } from './errors.ts'
import type { Processes, ProcessIdentity } from './lease-types.ts'
import { isSameProcess, parseProcess } from './process-identity.ts'

const FORMAT = 1

/** The value of the global slot while this process uses the unit. */
export function ownerMark(self: ProcessIdentity): unknown {
  return { format: FORMAT, owner: { ...self } }
}

/**
 * @param mark what the global slot holds.
 * @throws DurableLogError `unavailable` when another live process uses the unit, or the slot holds
 *   something else.
 */
export function assertOwnable(mark: unknown, processes: Processes): void {
  if (mark === null || mark === undefined) return
  const { format, owner } = (typeof mark === 'object' ? mark : {}) as { format?: unknown; owner?: unknown }
  const process = format === FORMAT ? parseProcess(owner) : undefined
  if (process === undefined) {
    throw new DurableLogError(
      'unavailable',
      'the global slot of the storage unit is not that of a log; the unit belongs to another program or to a newer version',
    )
  }
  if (isSameProcess(process, processes.self) || processes.stateOf(process) !== 'alive') return
  throw new DurableLogError(
    'unavailable',
    `the storage unit of the log is in use by process ${process.pid}, and it serves one process at a time; ` +
      'end that one, or use the sqlite backend, which processes can share',
  )
}
