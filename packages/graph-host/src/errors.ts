/** The one error class of the graph host. */
import { HarnessError } from '@deepseek-ai/dsh-llm'

/**
 * - `invalid-config`: a setting does not make sense; the row does not load.
 * - `unknown-operator`: a work names a kind or an operator that is not there.
 * - `root-not-live`: an operator can only be opened while its root session is live.
 * - `run-refused`: the agent-loop host refused the run for what it asks; asking again changes nothing.
 * - `invalid-request`: a shell asked for something that cannot be meant.
 * - `unknown-graph`, `unknown-work`: a person named one that is not there.
 * - `not-held`: a work that waits for nobody was to be confirmed.
 * - `wake-failed`: the root's turn did not end well; the wake is tried again.
 */
export type GraphHostErrorCode =
  | 'invalid-config'
  | 'unknown-operator'
  | 'root-not-live'
  | 'run-refused'
  | 'invalid-request'
  | 'unknown-graph'
  | 'unknown-work'
  | 'not-held'
  | 'wake-failed'

/** Errors that another attempt cannot cure. */
const PERMANENT: ReadonlySet<GraphHostErrorCode> = new Set<GraphHostErrorCode>([
  'invalid-config',
  'unknown-operator',
  'run-refused',
])

export class GraphHostError extends HarnessError {
  declare readonly code: GraphHostErrorCode

  constructor(code: GraphHostErrorCode, message: string, options?: ErrorOptions) {
    super(message, code, options)
  }

  /** Whether the same attempt may go well later. */
  get retryable(): boolean {
    return !PERMANENT.has(this.code)
  }
}

/** For a log line: a logger shows an error among its arguments as an empty object. */
export function textOfError(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}
