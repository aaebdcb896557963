/**
 * Cursors of a view: `work:<ordinal>:<graph>`, `ended:<change>:<graph>`, `since:<seq>.<ordinal>:<graph>`.
 * Keysets, so that they stay valid when the work they name moved on; the last part is a digest of the
 * graph id, so that a cursor of another graph is refused. Opaque to the model.
 */
import { stableHash } from 'dsh-graph-control'

export interface ViewPlace {
  readonly section: 'work' | 'ended' | 'since'
  readonly key: number
  /** Of `since`: the position that the changes are since. */
  readonly since: number
}

function tagOf(graphId: string): string {
  return stableHash(graphId).slice('sha256:'.length, 'sha256:'.length + 8)
}

export function cursorFor(graphId: string, section: 'work' | 'ended', key: number): string {
  return `${section}:${key}:${tagOf(graphId)}`
}

export function sinceCursor(graphId: string, since: number, afterOrdinal: number): string {
  return `since:${since}.${afterOrdinal}:${tagOf(graphId)}`
}

const CURSOR = /^(?<section>work|ended|since):(?:(?<since>\d{1,15})\.)?(?<key>\d{1,15}):(?<tag>[0-9a-f]{8})$/u

/** @returns `undefined` for what is no cursor of this graph. */
export function readCursor(graphId: string, cursor: string): ViewPlace | undefined {
  const { section, since, key, tag } = CURSOR.exec(cursor.trim())?.groups ?? {}
  if (key === undefined || tag !== tagOf(graphId)) return undefined
  if (section === 'since')
    return since === undefined ? undefined : { section, key: Number(key), since: Number(since) }
  if ((section !== 'work' && section !== 'ended') || since !== undefined) return undefined
  return { section, key: Number(key), since: 0 }
}
