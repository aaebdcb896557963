/**
 * Failures of LangGraph that say nothing to whoever reads them, in words with a cure. Every other
 * failure of a graph is its own and passes as it is.
 */
import { GraphError, GraphInterruptedError } from './errors.ts'

/** A graph that asked without a checkpointer: LangGraph then throws out of the node. */
function uncheckpointed(graph: string, failure: object): GraphInterruptedError | undefined {
  if (Reflect.get(failure, 'lc_error_code') !== 'MISSING_CHECKPOINTER') return undefined
  return new GraphInterruptedError(
    graph,
    `graph "${graph}" stopped to ask and did not finish: No checkpointer set; compile it with a checkpointer and give its definition a threadId or ephemeralThread`,
    [],
    { cause: failure },
  )
}

/** What LangGraph could not write its task id on, from what it says about that. */
function thrownText(message: string): string {
  const scalar = /^Cannot create property 'pregelTaskId' on (\w+) '([\s\S]*)'$/.exec(message)
  if (scalar !== null) return `the ${scalar[1]} ${JSON.stringify(scalar[2])}`
  const nothing = /^Cannot set properties of (null|undefined)/.exec(message)
  return nothing?.[1] ?? 'a frozen object or Error'
}

/** LangGraph marks what a node throws; what cannot be marked it replaces by the error of trying. */
export function isUnmarkable(failure: unknown): failure is TypeError {
  return failure instanceof TypeError && failure.message.includes('pregelTaskId')
}

function lost(graph: string, failure: object): GraphError | undefined {
  if (!isUnmarkable(failure)) return undefined
  return new GraphError(
    'GRAPH_FAILURE',
    graph,
    `a node of graph "${graph}" threw ${thrownText(failure.message)}, which LangGraph cannot pass on; throw an Error that is not frozen`,
    { cause: failure },
  )
}

/** The failure in words, or the failure itself. */
export function explained(graph: string, failure: unknown): unknown {
  if (typeof failure !== 'object' || failure === null) return failure
  return uncheckpointed(graph, failure) ?? lost(graph, failure) ?? failure
}
