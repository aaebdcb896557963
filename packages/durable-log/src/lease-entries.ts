/**
 * Entries of a lease stream, format 1, and the state they fold to. Pure.
 *
 * | entry | data | allowed when |
 * |---|---|---|
 * | `lease/acquired` | epoch, holderId, process, acquiredAt, deadlineAt | the epoch is the next one |
 * | `lease/renewed` | epoch, deadlineAt | this epoch is held |
 * | `lease/released` | epoch | this epoch is held |
 *
 * Whether a lease may be taken over is a matter of clocks and processes, not of the fold.
 */
import { corrupt } from './entry-format.ts'
import type { LeaseHolder } from './lease-types.ts'
import { parseProcess } from './process-identity.ts'
import type { Entry, JsonValue, StoredEntry } from './types.ts'

export interface LeaseState {
  /** Seq of the last entry; 0 before the first. */
  readonly seq: number
  /** Of the newest acquisition; 0 before the first. */
  readonly epoch: number
  /** Undefined once it was released. */
  readonly holder: LeaseHolder | undefined
  readonly acquiredAt: number
  readonly deadlineAt: number
}

const FORMAT = 1
/** The last moment a Date can hold. */
const LATEST_TIME = 8.64e15

export const NEVER_LEASED: LeaseState = Object.freeze({
  seq: 0,
  epoch: 0,
  holder: undefined,
  acquiredAt: 0,
  deadlineAt: 0,
})

export function acquiredEntry(
  epoch: number,
  { holderId, process }: LeaseHolder,
  acquiredAt: number,
  deadlineAt: number,
): Entry {
  return {
    type: 'lease/acquired',
    data: { format: FORMAT, epoch, holderId, process: { ...process }, acquiredAt, deadlineAt },
  }
}

export function renewedEntry(epoch: number, deadlineAt: number): Entry {
  return { type: 'lease/renewed', data: { format: FORMAT, epoch, deadlineAt } }
}

export function releasedEntry(epoch: number): Entry {
  return { type: 'lease/released', data: { format: FORMAT, epoch } }
}

/** @throws DurableLogError `corrupt` for an entry that no holder can have written. */
export function foldLease(stream: string, state: LeaseState, entry: StoredEntry): LeaseState {
  const fields = fieldsOf(entry.data)
  const isHeldEpoch = fields?.epoch === state.epoch && state.holder !== undefined
  const { seq } = entry
  switch (entry.type) {
    case 'lease/acquired':
      if (fields?.holder === undefined || fields.epoch !== state.epoch + 1) break
      return { ...fields, seq }
    case 'lease/renewed':
      if (!isHeldEpoch) break
      return { ...state, seq, deadlineAt: fields.deadlineAt }
    case 'lease/released':
      if (!isHeldEpoch) break
      return { ...state, seq, holder: undefined }
    default:
  }
  throw corrupt(stream, seq, `is no lease entry that can follow (${entry.type})`)
}

export function leaseSnapshot({ epoch, holder, acquiredAt, deadlineAt }: LeaseState): JsonValue {
  const held = holder === undefined ? {} : { holderId: holder.holderId, process: { ...holder.process } }
  return { format: FORMAT, epoch, acquiredAt, deadlineAt, ...held }
}

/** @returns undefined for a snapshot that cannot be used; the entries say the same. */
export function parseLeaseSnapshot(seq: number, snapshot: JsonValue): LeaseState | undefined {
  const fields = fieldsOf(snapshot)
  return fields === undefined ? undefined : { ...fields, seq }
}

function fieldsOf(data: JsonValue): Omit<LeaseState, 'seq'> | undefined {
  if (typeof data !== 'object' || data === null) return undefined
  const { format, epoch, holderId, process, acquiredAt, deadlineAt } = data as Record<string, unknown>
  if (format !== FORMAT || !isCount(epoch)) return undefined
  const identity = parseProcess(process)
  const holder =
    typeof holderId === 'string' && identity !== undefined ? { holderId, process: identity } : undefined
  return {
    epoch,
    holder,
    acquiredAt: timeOf(acquiredAt),
    deadlineAt: timeOf(deadlineAt),
  }
}

/** Anything that is no time a clock can show is the beginning of time: a lease that is over. */
function timeOf(value: unknown): number {
  return isCount(value) && value <= LATEST_TIME ? value : 0
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
