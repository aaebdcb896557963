/**
 * One page of a read from a SQLite file. Owns where a page ends, and that it follows the one before.
 */
import { corrupt, decodeEntry, type EntryRow } from './entry-format.ts'
import { DurableLogError } from './errors.ts'
import { isDamage } from './node-sqlite.ts'
import type { Statements } from './sqlite-statements.ts'
import type { StoredEntry } from './types.ts'

/** Where a reading stands; without position when it has read nothing yet. */
export interface Place {
  readonly seq: number
  readonly position?: number
}

export interface Page {
  readonly entries: readonly StoredEntry[]
  readonly last: Place
  readonly isLast: boolean
}

type PlacedRow = EntryRow & { readonly position: number }

/** A page ends after so many characters of data. */
const PAGE_LENGTH = 1024 * 1024

/** @returns undefined when the entry that the page follows is not there any more. */
export function readPage(sql: Statements, stream: string, after: Place, count: number): Page | undefined {
  const entries: StoredEntry[] = []
  let length = 0
  let last = after
  // A page after the first one looks at the entry before it, too: seqs come again after a removal,
  // positions do not.
  let isFollowed = after.position === undefined
  const first = isFollowed ? after.seq + 1 : after.seq
  try {
    for (const row of sql.entries.iterate(stream, first, isFollowed ? count : count + 1)) {
      const entry = row as unknown as PlacedRow
      if (!isFollowed) {
        if (entry.seq !== after.seq || entry.position !== after.position) return undefined
        isFollowed = true
        continue
      }
      const seq = last.seq + 1
      entries.push(decodeEntry(stream, seq, entry))
      last = { seq, position: entry.position }
      length += entry.data.length
      if (length >= PAGE_LENGTH) return { entries, last, isLast: false }
    }
  } catch (error) {
    if (error instanceof DurableLogError || !isDamage(error)) throw error
    throw corrupt(stream, last.seq + 1, 'cannot be read', error)
  }
  return isFollowed ? { entries, last, isLast: entries.length < count } : undefined
}
