/**
 * Whether what an update asks for can be had: agents, presets, code graphs and models against the
 * catalog, targets of stops and retries against the graph. Refusals name what is allowed. Pure.
 */
import type { GraphState } from 'dsh-graph-control'
import { shownName } from './adjustments.ts'
import { suggestion } from './model-habits.ts'
import { TOLD_PROBLEMS } from './problems.ts'
import type { AddWorkInput, CatalogEntry, OperatorCatalog, UpdateInput } from './types.ts'

const LISTED = 20

function unknown(field: string, id: string, allowed: readonly CatalogEntry[]): string {
  const names = allowed.slice(0, LISTED).map((entry) => entry.id)
  const more = allowed.length > names.length ? ` and ${allowed.length - names.length} more` : ''
  return `unknown ${field} "${shownName(id)}"; available: ${names.join(', ') || 'none'}${more}`
}

function has(allowed: readonly CatalogEntry[], id: string): boolean {
  return allowed.some((entry) => entry.id === id)
}

/** Every target and model that cannot be had, each with what can. */
export function catalogProblems(input: UpdateInput, catalog: OperatorCatalog | undefined): readonly string[] {
  if (catalog === undefined) return []
  return (input.addWork ?? []).flatMap((item, index) => [
    ...targetProblem(item, catalog).map((problem) => `addWork[${index}]: ${problem}`),
    ...modelProblem(item, catalog).map((problem) => `addWork[${index}]: ${problem}`),
  ])
}

function targetProblem(item: AddWorkInput, { agents, presets, graphs = [] }: OperatorCatalog): string[] {
  if (item.operatorId !== undefined) return []
  if (item.graphName !== undefined)
    return has(graphs, item.graphName) ? [] : [unknown('graphName', item.graphName, graphs)]
  if (item.subagentId !== undefined)
    return has(presets, item.subagentId) ? [] : [unknown('subagentId', item.subagentId, presets)]
  const agentId = item.agentId ?? 'default'
  return has(agents, agentId) ? [] : [unknown('agentId', agentId, agents)]
}

function modelProblem({ model, effort }: AddWorkInput, { models }: OperatorCatalog): string[] {
  if (models === undefined) return []
  if (model !== undefined && !has(models, model)) return [unknown('model', model, models)]
  if (effort === undefined) return []
  const efforts = effortsOf(models, model)
  if (efforts === undefined || efforts.includes(effort)) return []
  const whose = model === undefined ? '' : ` of model ${model}`
  return [`unknown effort "${shownName(effort)}"${whose}; available: ${efforts.join(', ') || 'none'}`]
}

/** Those of the model; without one the operator's own is meant, which is one of the models. */
function effortsOf(
  models: NonNullable<OperatorCatalog['models']>,
  model: string | undefined,
): readonly string[] | undefined {
  if (model !== undefined) return models.find((entry) => entry.id === model)?.efforts
  const all = models.flatMap(({ efforts }) => efforts ?? [])
  return models.every(({ efforts }) => efforts !== undefined) ? [...new Set(all)] : undefined
}

/**
 * Ids that name nothing of this graph, with those that look like them. Of many faults only those
 * that will be told are looked for: looking for what is like a name costs as much as there are names.
 */
export function referenceProblems(input: UpdateInput, state: GraphState | undefined): readonly string[] {
  const problems: string[] = []
  for (const find of faultsOf(input, state)) {
    if (problems.length > TOLD_PROBLEMS) break
    problems.push(find())
  }
  return problems
}

function* faultsOf(input: UpdateInput, state: GraphState | undefined): Generator<() => string> {
  const added = new Set((input.addWork ?? []).flatMap((item) => item.workId ?? []))
  const hasWork = (id: string) => state?.works.has(id) === true
  const hasOperator = (id: string) => state?.operators.has(id) === true
  const hasInput = (id: string) => added.has(id) || hasWork(id) || state?.records.has(id) === true
  const isTarget = (id: string) => hasWork(id) || hasOperator(id) || id === state?.graphId || id === 'graph'
  const nearWork = (id: string) => suggestion(id, newestFirst(added, state))
  const nearKnown = (id: string) => suggestion(id, newestFirst(new Set(), state))
  for (const [index, item] of (input.addWork ?? []).entries()) {
    const at = `addWork[${index}]`
    for (const id of item.inputIds)
      if (!hasInput(id)) yield () => `${at}.inputIds: no work or record "${shownName(id)}"${nearWork(id)}`
    const { replaces, operatorId } = item
    if (replaces !== undefined && !hasWork(replaces))
      yield () => `${at}.replaces: no work "${shownName(replaces)}"${nearKnown(replaces)}`
    if (operatorId !== undefined && !hasOperator(operatorId))
      yield* operatorFault(operatorId, at, state, nearKnown)
  }
  for (const { targetId } of input.stop ?? [])
    if (!isTarget(targetId))
      yield () => `stop: no work or operator "${shownName(targetId)}"${nearKnown(targetId)}`
  for (const { workId } of input.retry ?? [])
    if (!hasWork(workId)) yield () => `retry: no work "${shownName(workId)}"${nearKnown(workId)}`
}

/** An operator may be named by its work, once it has one. */
function* operatorFault(
  name: string,
  at: string,
  state: GraphState | undefined,
  near: (id: string) => string,
): Generator<() => string> {
  const work = state?.works.get(name)
  if (work === undefined)
    yield () => `${at}.operatorId: no operator or work "${shownName(name)}"${near(name)}`
  else if (work.operatorId === undefined)
    yield () =>
      `${at}.operatorId: work "${name}" is ${work.status} and has no operator yet; wait until it runs, or take its result through inputIds`
}

/** Models name what they saw last; a large graph is not searched to its beginning. */
function newestFirst(added: ReadonlySet<string>, state: GraphState | undefined): readonly string[] {
  return [...added, ...[...(state?.works.keys() ?? [])].toReversed()]
}
