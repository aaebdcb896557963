/** Rows in Cordis patches: who brings which id. */
import { parse, type Tags } from 'yaml'

export interface Row {
  readonly id: string
  readonly name: string
}

/** `!!js` is the loader's own tag; here it only has to parse. */
const LOADER_TAGS: Tags = [{ tag: 'tag:yaml.org,2002:js', resolve: (text: string) => text }]

export function parsePatch(text: string): unknown {
  return parse(text, { customTags: LOADER_TAGS })
}

/** Rows that a patch inserts, those inside groups included. */
export function insertedRows(patch: unknown): readonly Row[] {
  if (Array.isArray(patch)) return patch.flatMap(insertedRows)
  if (patch === null || typeof patch !== 'object') return []
  const { id, name, insert, config } = patch as Record<string, unknown>
  const own = typeof id === 'string' && typeof name === 'string' ? [{ id, name }] : []
  return [...own, ...insertedRows(insert), ...(Array.isArray(config) ? insertedRows(config) : [])]
}
