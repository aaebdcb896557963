/** Results of earlier graphs of the same root, as inputs: authorised by what those graphs finished with. */
import type { GraphState, SelectedResultInput } from 'dsh-graph-control'
import { shownName } from './adjustments.ts'
import { AgentGraphError } from './errors.ts'
import type { RootGraphs } from './root-graphs.ts'
import type { UpdateInput } from './types.ts'

const LISTED = 8

/**
 * What each item of `addWork` selects, with works in place of records resolved to the records.
 *
 * @throws AgentGraphError `invalid_input` for what no graph of this root finished with.
 */
export async function selectedOf(
  graphs: RootGraphs,
  input: UpdateInput,
): Promise<readonly (readonly SelectedResultInput[])[]> {
  const sources = new Map<string, GraphState | undefined>()
  const all: (readonly SelectedResultInput[])[] = []
  for (const { selectedResultInputs = [] } of input.addWork ?? []) {
    const selected = new Map<string, SelectedResultInput>()
    for (const { sourceGraphId, resultId } of selectedResultInputs) {
      if (!sources.has(sourceGraphId)) sources.set(sourceGraphId, await graphs.own(sourceGraphId))
      for (const id of await recordsOf(graphs, sources.get(sourceGraphId), sourceGraphId, resultId))
        selected.set(`${sourceGraphId} ${id}`, { sourceGraphId, resultId: id })
    }
    all.push([...selected.values()])
  }
  return all
}

async function recordsOf(
  graphs: RootGraphs,
  source: GraphState | undefined,
  sourceGraphId: string,
  resultId: string,
): Promise<readonly string[]> {
  if (source === undefined) throw await unknownSource(graphs, sourceGraphId)
  const { finish, graphId } = source
  if (finish === undefined)
    throw new AgentGraphError(
      'invalid_input',
      `selectedResultInputs: graph ${graphId} is not finished; name works of the current graph in inputIds`,
    )
  const named = source.works.get(resultId)?.recordIds ?? [resultId]
  const authorised = named.filter((id) => finish.resultIds.includes(id))
  if (authorised.length > 0) return authorised
  const works = new Set(finish.resultIds.map((id) => source.records.get(id)?.workId ?? id))
  const allowed = [...works].slice(0, LISTED).join(', ')
  throw new AgentGraphError(
    'invalid_input',
    `selectedResultInputs: "${shownName(resultId)}" is not among the results that graph ${graphId} finished with: ${allowed === '' ? 'it has none' : allowed}`,
  )
}

async function unknownSource(graphs: RootGraphs, sourceGraphId: string): Promise<AgentGraphError> {
  const own = (await graphs.graphIds()).slice(-LISTED).join(', ')
  return new AgentGraphError(
    'unknown_graph',
    `selectedResultInputs: this session has no graph "${shownName(sourceGraphId)}"; it has ${own === '' ? 'none yet' : own}`,
  )
}
