/**
 * Whether what an update asks for can be had: agents, presets, code graphs and models against the
 * catalog, targets of stops and retries against the graph. Refusals name what is allowed. Pure.
 */
import type { GraphState } from 'dsh-graph-control'
import { suggestion } from './selected-results.ts'
import type { AddWorkInput, CatalogEntry, OperatorCatalog, UpdateInput } from './types.ts'

const LISTED = 20

function unknown(field: string, id: string, allowed: readonly CatalogEntry[]): string {
  const names = allowed.slice(0, LISTED).map((entry) => entry.id)
  const more = allowed.length > names.length ? ` and ${allowed.length - names.length} more` : ''
  return `unknown ${field} "${id}"; available: ${names.join(', ') || 'none'}${more}`
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
  // Without a model the operator's own is meant, and only the host knows whether it has that effort.
  const efforts = models.find((entry) => entry.id === model)?.efforts
  if (efforts === undefined || efforts.includes(effort)) return []
  return [`unknown effort "${effort}" of model ${model ?? ''}; available: ${efforts.join(', ') || 'none'}`]
}

/** Ids that name nothing of this graph, with those that look like them. */
export function referenceProblems(input: UpdateInput, state: GraphState | undefined): readonly string[] {
  const works = state?.works ?? new Map<string, unknown>()
  const added = new Set((input.addWork ?? []).flatMap((item) => item.workId ?? []))
  const known = [...works.keys(), ...added]
  const isInput = (id: string) => added.has(id) || works.has(id) || state?.records.has(id) === true
  const isTarget = (id: string) =>
    works.has(id) || state?.operators.has(id) === true || id === state?.graphId || id === 'graph'
  return [
    ...(input.addWork ?? []).flatMap((item, index) => [
      ...item.inputIds
        .filter((id) => !isInput(id))
        .map((id) => `addWork[${index}].inputIds: no work or record "${id}"${suggestion(id, known)}`),
      ...(item.replaces === undefined || works.has(item.replaces)
        ? []
        : [
            `addWork[${index}].replaces: no work "${item.replaces}"${suggestion(item.replaces, works.keys())}`,
          ]),
    ]),
    ...(input.stop ?? [])
      .filter(({ targetId }) => !isTarget(targetId))
      .map(({ targetId }) => `stop: no work or operator "${targetId}"${suggestion(targetId, works.keys())}`),
    ...(input.retry ?? [])
      .filter(({ workId }) => !works.has(workId))
      .map(({ workId }) => `retry: no work "${workId}"${suggestion(workId, works.keys())}`),
  ]
}
