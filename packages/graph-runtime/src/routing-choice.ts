/**
 * Judges what the model chose: one call, a graph that is there, arguments that are an object. A choice
 * that passes is run. What the model is told of one that does not is made up here.
 */
import { clip, readArguments } from './routing-arguments.ts'
import type { CheckedRouting } from './routing-config.ts'
import type { RoutingEvents } from './routing-events.ts'
import { runChoice, type Rejection, type Settled } from './routing-execution.ts'
import type { FilteredGraphs } from './routing-filter.ts'
import type { ModelAnswer } from './routing-model.ts'
import { listNames, nearNames, sameName } from './routing-names.ts'
import type { GraphRoutingRepair, GraphRoutingRequest } from './routing-types.ts'
import type { GraphEntry } from './types.ts'

export interface ChoiceParts {
  readonly config: Pick<CheckedRouting, 'multiple' | 'repair'>
  readonly request: GraphRoutingRequest
  readonly graphs: FilteredGraphs
  readonly events: RoutingEvents
  readonly signal: AbortSignal
}

/** A judged choice. */
export interface Judged {
  readonly settled: Exclude<Settled, { kind: 'gone' }>
  /** The graph's name, after repairs. */
  readonly tool: string
  readonly repaired: readonly GraphRoutingRepair[]
}

/**
 * Judges the first call of an answer, which has one, and runs it when it may run.
 *
 * @throws see `runChoice`.
 */
export async function judge(answer: ModelAnswer, parts: ChoiceParts): Promise<Judged> {
  const { config, graphs } = parts
  const [call] = answer.calls
  const given = call?.name ?? ''
  if (config.multiple === 'reject' && answer.calls.length > 1) {
    return { settled: severalCalls(answer), tool: given, repaired: [] }
  }
  const tool = config.repair ? repairedName(given, graphs) : given
  const renamed: readonly GraphRoutingRepair[] = tool === given ? [] : ['name']
  const entry = graphs.get(tool)
  if (entry === undefined) return { settled: unknownTool(given, graphs), tool, repaired: renamed }
  const read = readArguments(call?.arguments ?? '', readerOf(entry, answer, config.repair))
  if (read.kind === 'rejected') return { settled: read, tool, repaired: renamed }
  const repaired = [...renamed, ...read.repaired]
  const { request, signal, events } = parts
  const agent = request.agent === undefined ? {} : { agent: request.agent }
  const choice = { tool, args: read.args, request: request.input, signal, ...agent }
  const settled = await runChoice({ ...choice, entry: () => graphs.get(tool) }, events)
  return { settled: settled.kind === 'gone' ? unknownTool(tool, graphs) : settled, tool, repaired }
}

function readerOf(entry: GraphEntry, answer: ModelAnswer, repair: boolean) {
  return {
    tool: entry.name,
    hasParameter: (name: string) => Object.hasOwn(entry.parameters.properties ?? {}, name),
    violations: (args: unknown) => entry.check(args),
    repair,
    truncated: answer.finish === 'max-tokens',
  }
}

/** The graph's name that was given, or the one that it can only have meant. */
function repairedName(given: string, graphs: FilteredGraphs): string {
  return graphs.get(given) === undefined ? (sameName(given, graphs.names()) ?? given) : given
}

function severalCalls({ calls }: ModelAnswer): Rejection {
  const reason = `call exactly one tool; this answer called ${calls.length}, and none was run`
  return { kind: 'rejected', rejection: 'MULTIPLE_CALLS', reason }
}

function unknownTool(given: string, graphs: FilteredGraphs): Rejection {
  const names = graphs.names()
  const near = nearNames(given, names).map((name) => `"${name}"`)
  const subject =
    given === '' ? 'the call names no tool' : `tool ${JSON.stringify(clip(given, 64))} does not exist`
  const hint = near.length === 0 ? '' : ` did you mean ${near.join(' or ')}?`
  const reason = `${subject};${hint} choose one of ${listNames(names)}`
  return { kind: 'rejected', rejection: 'UNKNOWN_TOOL', reason }
}
