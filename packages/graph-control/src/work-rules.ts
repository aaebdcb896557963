/** What the works of one update must keep, against the state they are added to. */
import { GraphControlError } from './errors.ts'
import type { FoldedGraph } from './graph-state.ts'
import { named } from './request-shapes.ts'
import { LIMITS, type WorkRequest } from './types.ts'
import { inputWork } from './work-states.ts'

type Works = readonly WorkRequest[]

/** @throws GraphControlError `work-conflict`, `provision-not-found`, `invalid`. */
export function requireWorks(state: FoldedGraph, works: Works): void {
  requireSelectedBound(works)
  for (const work of works) {
    requireFreshWork(state, work)
    requireConsistent(work)
  }
  requireInputs(state, works)
  requireReplaced(state, works)
  requireNoCircle(state, works)
}

function conflict(message: string): GraphControlError {
  return new GraphControlError('work-conflict', message)
}

function requireSelectedBound(works: Works): void {
  const selected = works.reduce((sum, work) => sum + (work.selectedResultInputs?.length ?? 0), 0)
  if (selected <= LIMITS.selectedResults) return
  throw new GraphControlError(
    'invalid',
    `the update selects ${selected} results of earlier epochs; at most ${LIMITS.selectedResults} are allowed`,
  )
}

function requireFreshWork(state: FoldedGraph, { workId, target }: WorkRequest): void {
  if (state.works.has(workId)) throw conflict(`work id ${workId} is taken`)
  // A stop and an input name their target by id alone, so an id must never mean two things.
  if (workId === state.graphId || state.operators.has(workId) || workId.startsWith('graph_record_')) {
    throw conflict(`work id ${workId} already names something else`)
  }
  if (target.kind === 'operator' && !state.operators.has(target.id)) {
    throw new GraphControlError(
      'provision-not-found',
      `work ${workId} is for operator ${target.id}, which this graph does not have`,
    )
  }
}

function requireConsistent({ workId, forEach, inputIds, replaces, replacementMode }: WorkRequest): void {
  const invalid = (message: string) => new GraphControlError('invalid', message)
  if (forEach !== undefined) {
    if (!inputIds.includes(forEach)) {
      throw invalid(`work ${workId} goes over the records of ${forEach}, which is not one of its inputIds`)
    }
    // The works of its items append their number to its id.
    const longest = LIMITS.idChars - String(LIMITS.items).length - 1
    if (workId.length > longest) {
      throw invalid(`work id ${workId} is too long for forEach: at most ${longest} characters`)
    }
  }
  if (replacementMode === 'none' && replaces !== undefined) {
    throw invalid(`work ${workId} names ${replaces} in replaces, and replacementMode none`)
  }
  if (replacementMode === 'replace' && replaces === undefined) {
    throw invalid(`work ${workId} has replacementMode replace, and names nothing in replaces`)
  }
}

function requireInputs(state: FoldedGraph, works: Works): void {
  const added = new Set(works.map((work) => work.workId))
  for (const { workId, inputIds } of works) {
    const missing = inputIds.filter((id) => !added.has(id) && !state.works.has(id) && !state.records.has(id))
    if (missing.length > 0) {
      throw conflict(
        `work ${workId} takes ${named(missing)} as input, which is neither a work nor a record of this graph`,
      )
    }
  }
}

function requireReplaced(state: FoldedGraph, works: Works): void {
  const replacedHere = new Set<string>()
  for (const { workId, replaces, inputIds } of works) {
    if (replaces === undefined) continue
    if (replaces === workId) throw conflict(`work ${workId} replaces itself`)
    const replaced = state.works.get(replaces)
    if (replaced === undefined) {
      throw conflict(`work ${workId} replaces ${replaces}, which no earlier update added`)
    }
    if (replaced.replacedBy !== undefined) {
      throw conflict(`work ${replaces} was replaced by ${replaced.replacedBy}; replace that one`)
    }
    if (replaced.joinedBy !== undefined) {
      throw conflict(`work ${replaces} does an item of ${replaced.joinedBy}; replace that one`)
    }
    if (replacedHere.has(replaces)) throw conflict(`two works of the update replace ${replaces}`)
    replacedHere.add(replaces)
    if (replaced.status !== 'completed' && inputIds.includes(replaces)) {
      throw conflict(`work ${workId} waits for the result of ${replaces}, which it replaces`)
    }
  }
}

/** Works that wait for each other never start, also where one waits for what it takes the place of. */
function requireNoCircle(state: FoldedGraph, works: Works): void {
  const added = new Map(works.map((work) => [work.workId, work]))
  const heirs = new Map<string, string>()
  for (const { workId, replaces } of works) {
    if (replaces !== undefined && state.works.get(replaces)?.status !== 'completed')
      heirs.set(replaces, workId)
  }
  const upstreamOf = (workId: string): readonly string[] => {
    const inputs = added.get(workId)?.inputIds ?? state.works.get(workId)?.inputIds ?? []
    return inputs.flatMap((input) => {
      if (added.has(input)) return [input]
      // Works of earlier updates lead to new ones only where a new one takes a place.
      const id = heirs.size === 0 ? undefined : inputWork(state, input)?.workId
      if (id === undefined) return []
      const heir = heirs.get(id)
      if (heir !== undefined) return [heir]
      // What completed waits for nothing any more; everything else may be retried, and waits again.
      return state.works.get(id)?.status === 'completed' ? [] : [id]
    })
  }
  const circle = findCircle([...added.keys()], upstreamOf)
  if (circle !== undefined) throw conflict(`works wait for each other in a circle: ${named(circle)}`)
}

/** Depth first with an explicit stack: chains may be longer than the call stack. */
function findCircle(
  starts: readonly string[],
  upstreamOf: (id: string) => readonly string[],
): readonly string[] | undefined {
  const done = new Set<string>()
  for (const start of starts) {
    if (done.has(start)) continue
    const path = [{ id: start, left: [...upstreamOf(start)] }]
    const onPath = new Set([start])
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const next = top.left.pop()
      if (next === undefined) {
        path.pop()
        onPath.delete(top.id)
        done.add(top.id)
      } else if (onPath.has(next)) {
        const ids = path.map((step) => step.id)
        return ids.slice(ids.indexOf(next))
      } else if (!done.has(next)) {
        path.push({ id: next, left: [...upstreamOf(next)] })
        onPath.add(next)
      }
    }
  }
  return undefined
}
