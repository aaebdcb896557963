/** Errors of the package, sorted by code. The graph's own errors are not among them: they pass unchanged. */
import { HarnessError } from '@deepseek-ai/dsh-llm'

/** Everything this package can refuse. */
export type GraphErrorCode =
  /** A declaration that cannot be mounted, or a `build` that gives no graph. */
  | 'GRAPH_DEFINITION'
  /** A name that is taken. */
  | 'GRAPH_DUPLICATE'
  /** The author's `validate` rejected the arguments. */
  | 'GRAPH_VALIDATION'
  /** No usable thread id. */
  | 'GRAPH_THREAD'
  /** The time budget ran out. */
  | 'GRAPH_TIMEOUT'
  /** The graph waits for an answer and has not finished. */
  | 'GRAPH_INTERRUPTED'
  /** The final state is not lossless JSON, or not what the result is to be made from. */
  | 'GRAPH_RESULT'
  /** The result breaks the author's `outputSchema`. */
  | 'GRAPH_OUTPUT'
  /** A node threw something that LangGraph lost on the way. */
  | 'GRAPH_FAILURE'
  /** The graph was unmounted while the call ran, or before it began. */
  | 'GRAPH_UNMOUNTED'
  /** A service that the mount needs is missing. */
  | 'GRAPH_UNAVAILABLE'
  /** The model made no acceptable choice. */
  | 'GRAPH_ROUTING'
  /** A router is set up or asked wrongly. */
  | 'GRAPH_ROUTING_CONFIG'

/** Longest part of a name that an error or a warning repeats. */
const NAMED_CHARS = 80

/** A name as it was given, in quotes; cut where it is far too long to be one. */
export function quotedName(name: string): string {
  return JSON.stringify(name.length > NAMED_CHARS ? `${name.slice(0, NAMED_CHARS)}…` : name)
}

/** Base class; route on `code`. */
export class GraphError extends HarnessError {
  declare readonly code: GraphErrorCode
  /** Name of the graph, `undefined` where none was given. */
  readonly graph: string | undefined

  constructor(code: GraphErrorCode, graph: string | undefined, message: string, options?: ErrorOptions) {
    super(message, code, options)
    this.graph = graph
  }
}

/** A declaration that cannot be mounted. `problems` lists all of them. */
export class GraphDefinitionError extends GraphError {
  readonly problems: readonly string[]

  constructor(graph: string | undefined, problems: readonly string[], options?: ErrorOptions) {
    const subject = graph === undefined ? 'graph definition' : `graph definition ${quotedName(graph)}`
    super('GRAPH_DEFINITION', graph, `${subject} is invalid: ${problems.join('; ')}`, options)
    this.problems = problems
  }
}

/** A name that is taken in the same layer. */
export class GraphDuplicateError extends GraphError {
  constructor(graph: string, where: string, cure: string, options?: ErrorOptions) {
    super('GRAPH_DUPLICATE', graph, `graph "${graph}" is already ${where}; ${cure}`, options)
  }
}

/** The author's `validate` rejected the arguments; `reason` is theirs. */
export class GraphValidationError extends GraphError {
  readonly reason: string

  constructor(graph: string, reason: string | undefined, options?: ErrorOptions) {
    const byDefault = `arguments rejected by validate of "${graph}"`
    super(
      'GRAPH_VALIDATION',
      graph,
      reason === undefined ? byDefault : `graph "${graph}" refused the arguments: ${reason}`,
      options,
    )
    this.reason = reason ?? byDefault
  }
}

/** A checkpointer without a thread id, or a thread id that is none. */
export class GraphThreadError extends GraphError {
  constructor(graph: string, message: string, options?: ErrorOptions) {
    super('GRAPH_THREAD', graph, message, options)
  }
}

/** The call's time budget ran out; `timeoutMs` is the budget. */
export class GraphTimeoutError extends GraphError {
  readonly timeoutMs: number

  constructor(graph: string, timeoutMs: number, options?: ErrorOptions) {
    super('GRAPH_TIMEOUT', graph, `graph "${graph}" did not finish within ${timeoutMs} ms`, options)
    this.timeoutMs = timeoutMs
  }
}

/** What a graph asked when it stopped. */
export interface GraphInterrupt {
  /** LangGraph's id of the question, if it gave one. */
  readonly id?: string
  /** The payload as JSON, or its text when it is no JSON. */
  readonly value: unknown
  /** JSON schema of the answer, if the graph gave one. */
  readonly responseSchema?: unknown
}

/** The graph stopped at an interrupt or a breakpoint; its state so far is no result. */
export class GraphInterruptedError extends GraphError {
  readonly interrupts: readonly GraphInterrupt[]

  constructor(graph: string, message: string, interrupts: readonly GraphInterrupt[], options?: ErrorOptions) {
    super('GRAPH_INTERRUPTED', graph, message, options)
    this.interrupts = interrupts
  }
}

/** The final state is not lossless JSON; `path` and `kind` name the first offending value. */
export class GraphResultError extends GraphError {
  readonly path: string
  readonly kind: string

  constructor(graph: string, lossy: { readonly path: string; readonly kind: string }, cure: string) {
    super(
      'GRAPH_RESULT',
      graph,
      `graph "${graph}" ended with a value that is not lossless JSON: ${lossy.path} is ${lossy.kind}; ${cure}`,
    )
    this.path = lossy.path
    this.kind = lossy.kind
  }
}

/** The result breaks the author's `outputSchema`; `violations` lists where. */
export class GraphOutputError extends GraphError {
  readonly violations: readonly string[]

  constructor(graph: string, violations: readonly string[]) {
    super(
      'GRAPH_OUTPUT',
      graph,
      `graph "${graph}" ended with a result that its outputSchema does not allow: ${violations.join('; ')}; correct the graph or the schema`,
    )
    this.violations = violations
  }
}

/** The mount is gone: plugin unloaded, owner disposed, or definition replaced. */
export class GraphUnmountedError extends GraphError {
  constructor(graph: string) {
    super('GRAPH_UNMOUNTED', graph, `graph "${graph}" was unmounted; mount it again before calling it`)
  }
}

/** The text of anything thrown, total for hostile values. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return thrown.message
    return String(thrown)
  } catch {
    return 'a value that cannot be printed'
  }
}
