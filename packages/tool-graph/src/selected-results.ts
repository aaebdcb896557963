/**
 * What a model may name in place of an id: a work for the records of it, a work for its operator. Pure.
 */
import { shownName } from './adjustments.ts'
import { AgentGraphError } from './errors.ts'
import { suggestion } from './model-habits.ts'
import type { GraphState } from 'dsh-graph-control'

/** A record to be read, from a character on. */
export interface ResultPlace {
  readonly recordId: string
  readonly offset: number
}

export interface ResultPlaces {
  readonly places: readonly ResultPlace[]
  /** What to ask for next, for the records that are not among the places; one entry a name. */
  readonly more: readonly string[]
}

/** `<record>` or `<work>`, then `@<offset>` of a later page, or `@<n>.<offset>` of a work's n-th next record. */
const PLACE = /^(?<id>.+?)(?:@(?:(?<skip>\d{1,6})\.)?(?<offset>\d{1,9}))?$/u

/**
 * The records that the names stand for, at most `limit` in all.
 *
 * @throws AgentGraphError `invalid_input` for an id that names nothing that was left.
 */
export function resultPlaces(state: GraphState, names: readonly string[], limit: number): ResultPlaces {
  const places: ResultPlace[] = []
  const more: string[] = []
  for (const name of names) {
    const { id, skip, offset } = placeNamed(state, name)
    const records = recordsNamed(state, id, 'results').slice(skip)
    const room = limit - places.length
    for (const [index, recordId] of records.slice(0, room).entries())
      places.push({ recordId, offset: index === 0 ? offset : 0 })
    if (records.length > room) more.push(`${id}@${skip + room}.${room === 0 ? offset : 0}`)
  }
  return { places, more }
}

/** An id may end like a place: what there is goes first. */
function placeNamed(state: GraphState, name: string): { id: string; skip: number; offset: number } {
  if (state.records.has(name) || state.works.has(name)) return { id: name, skip: 0, offset: 0 }
  const { id = name, skip = '0', offset = '0' } = PLACE.exec(name)?.groups ?? {}
  return { id, skip: Number(skip), offset: Number(offset) }
}

/** The record itself; of a work its conclusion, of a joined one those of its items. */
export function finishRecords(state: GraphState, names: readonly string[]): readonly string[] {
  const ids = names.flatMap((name) => recordsNamed(state, name, 'finish.resultIds'))
  return [...new Set(ids)]
}

function recordsNamed(state: GraphState, id: string, field: string): readonly string[] {
  if (state.records.has(id)) return [id]
  const work = state.works.get(id)
  if (work === undefined)
    throw new AgentGraphError(
      'invalid_input',
      `${field}: "${shownName(id)}" names no work and no record of graph ${state.graphId}${suggestion(id, state.works.keys())}`,
    )
  if (work.recordIds.length > 0) return work.recordIds
  const heir = work.replacedBy === undefined ? '' : `; ${work.replacedBy} took its place`
  throw new AgentGraphError(
    'invalid_input',
    `${field}: work "${id}" is ${work.status} and left no record${heir}; name works that are completed`,
  )
}

/** The operator meant: itself, or the one that does the named work. */
export function operatorNamed(state: GraphState | undefined, name: string): string {
  if (state === undefined || state.operators.has(name)) return name
  return state.works.get(name)?.operatorId ?? name
}
