/**
 * What a removal writes into a SQLite file, inside a transaction that somebody else holds.
 *
 * Owns: the trace that a removal leaves for other processes, and how long traces are kept.
 */
import { entryChecksum, FORMAT } from './entry-format.ts'
import type { Placed } from './head-watch.ts'
import { isDamage } from './node-sqlite.ts'
import { REMOVALS, type Statements } from './sqlite-statements.ts'

const REMOVAL_TYPE = 'log/removed'
/** Traces that are kept. Watchers look several times a second, so they miss none of the newest. */
const KEPT_TRACES = 1000

/**
 * @param repair rebuilds the index of entries: rows that it does not fit cannot be deleted.
 * @returns undefined when there was nothing to remove.
 */
export function removeStream(sql: Statements, stream: string, repair: () => void): Placed | undefined {
  const hasEntries = typeof sql.head.get(stream)?.['seq'] === 'number'
  if (!hasEntries && sql.snapshot.get(stream) === undefined) return undefined
  // Before the rows go: its position must lie behind theirs, or theirs would be given anew.
  const position = leaveTrace(sql, stream)
  try {
    sql.deleteEntries.run(stream)
  } catch (error) {
    if (!isDamage(error)) throw error
    repair()
    sql.deleteEntries.run(stream)
  }
  sql.deleteSnapshot.run(stream)
  return { stream, seq: 0, firstPosition: position, lastPosition: position }
}

function leaveTrace(sql: Statements, stream: string): number {
  const seq = Number(sql.head.get(REMOVALS)?.['seq'] ?? 0) + 1
  const appendedAt = Date.now()
  const text = JSON.stringify(stream)
  const checksum = entryChecksum({ stream: REMOVALS, seq, appendedAt, type: REMOVAL_TYPE }, text)
  const trace = sql.insertEntry.run(REMOVALS, seq, FORMAT, appendedAt, REMOVAL_TYPE, text, checksum)
  sql.deleteEntriesUpTo.run(REMOVALS, seq - KEPT_TRACES)
  return Number(trace.lastInsertRowid)
}

/** A row of `headsSince` as it is told: a removal by the name of what was removed. */
export interface HeadRow {
  readonly stream: string
  readonly seq: number
  readonly position: number
}

/** Removals first: what was removed and begun anew has entries behind its removal only. */
export function readHeadRows(rows: readonly HeadRow[]): readonly HeadRow[] {
  const removals = rows.filter(({ seq }) => seq === 0).flatMap(readTrace)
  return [...removals, ...rows.filter(({ seq }) => seq !== 0)]
}

/** A trace that was damaged names nobody. */
function readTrace(row: HeadRow): readonly HeadRow[] {
  try {
    const stream: unknown = JSON.parse(row.stream)
    return typeof stream === 'string' ? [{ ...row, stream }] : []
  } catch {
    return []
  }
}
