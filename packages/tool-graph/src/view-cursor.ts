/**
 * Cursors of a view: `work:<ordinal>:<graph>` and `ended:<change>:<graph>`. Keysets, so that they
 * stay valid when the work they name moved on; the last part is a digest of the graph id, so that a
 * cursor of another graph is refused. Opaque to the model.
 */
import { stableHash } from 'dsh-graph-control'

export interface ViewPlace {
  readonly section: 'work' | 'ended'
  readonly key: number
}

function tagOf(graphId: string): string {
  return stableHash(graphId).slice('sha256:'.length, 'sha256:'.length + 8)
}

export function cursorFor(graphId: string, section: ViewPlace['section'], key: number): string {
  return `${section}:${key}:${tagOf(graphId)}`
}

const CURSOR = /^(?<section>work|ended):(?<key>\d{1,15}):(?<tag>[0-9a-f]{8})$/u

/** @returns `undefined` for what is no cursor of this graph. */
export function readCursor(graphId: string, cursor: string): ViewPlace | undefined {
  const { section, key, tag } = CURSOR.exec(cursor.trim())?.groups ?? {}
  if (section === undefined || key === undefined || tag !== tagOf(graphId)) return undefined
  return { section: section === 'ended' ? 'ended' : 'work', key: Number(key) }
}
