/**
 * What a model may name in place of an id: a work for the records of it, a work for its operator. Pure.
 */
import { nearest } from './model-habits.ts'
import { AgentGraphError } from './errors.ts'
import type { GraphState } from 'dsh-graph-control'

/** A record to be read, from a character on. */
export interface ResultPlace {
  readonly recordId: string
  readonly offset: number
}

/** `<record>` or `<work>`, then `@<offset>` if not from the beginning. */
const PLACE = /^(?<id>.+?)(?:@(?<offset>\d{1,9}))?$/u

/** @throws AgentGraphError `invalid_input` for an id that names nothing that was left. */
export function resultPlaces(state: GraphState, names: readonly string[]): readonly ResultPlace[] {
  return names.flatMap((name) => {
    const { id = name, offset = '0' } = PLACE.exec(name.trim())?.groups ?? {}
    return recordsNamed(state, id, 'results').map((recordId) => ({ recordId, offset: Number(offset) }))
  })
}

/** The record itself; of a work its conclusion, of a joined one those of its items. */
export function finishRecords(state: GraphState, names: readonly string[]): readonly string[] {
  const ids = names.flatMap((name) => recordsNamed(state, name, 'finish.resultIds'))
  return [...new Set(ids)]
}

function recordsNamed(state: GraphState, id: string, field: string): readonly string[] {
  if (state.records.has(id)) return [id]
  const work = state.works.get(id)
  if (work === undefined) {
    const known = [...state.works.keys()]
    throw new AgentGraphError(
      'invalid_input',
      `${field}: "${id}" names no work and no record of graph ${state.graphId}${suggestion(id, known)}`,
    )
  }
  if (work.recordIds.length > 0) return work.recordIds
  throw new AgentGraphError('invalid_input', `${field}: work "${id}" is ${work.status} and left no record`)
}

/** The operator meant: itself, or the one that does the named work. */
export function operatorNamed(state: GraphState | undefined, name: string): string {
  if (state === undefined || state.operators.has(name)) return name
  return state.works.get(name)?.operatorId ?? name
}

/** `; did you mean …`, or nothing where no name is like it. */
export function suggestion(name: string, known: Iterable<string>): string {
  const like = nearest(name, known)
  return like.length === 0 ? '' : `; did you mean ${like.map((id) => `"${id}"`).join(', ')}?`
}
