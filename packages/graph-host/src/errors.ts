/** The one error class of the graph host. */
import { HarnessError } from '@deepseek-ai/dsh-llm'

/**
 * - `invalid-config`: a setting does not make sense; the row does not load.
 * - `unknown-operator`: a work names a kind or an operator that is not there.
 * - `unknown-model`: a work names a model that the configuration does not have any more.
 * - `depth-limit`: a session would be delegated deeper than the configuration allows.
 * - `no-repository`: a worktree is wanted where there is no git repository with a commit.
 * - `git-failed`: git refused; the text is its own.
 * - `root-not-live`: an operator can only be opened while its root session is live.
 * - `run-refused`: the agent-loop host refused the run for what it asks; asking again changes nothing.
 * - `invalid-request`: a shell asked for something that cannot be meant.
 * - `unknown-graph`, `unknown-work`: a person named one that is not there.
 * - `not-held`: a work that waits for nobody was to be confirmed.
 * - `nothing-to-confirm`: the work does not wait for a person.
 * - `invalid-grant`: what a person wants to allow cannot be allowed.
 * - `wake-failed`: the root's turn did not end well; the wake is tried again.
 */
export type GraphHostErrorCode =
  | 'invalid-config'
  | 'unknown-operator'
  | 'unknown-model'
  | 'depth-limit'
  | 'no-repository'
  | 'git-failed'
  | 'root-not-live'
  | 'run-refused'
  | 'invalid-request'
  | 'unknown-graph'
  | 'unknown-work'
  | 'not-held'
  | 'nothing-to-confirm'
  | 'invalid-grant'
  | 'wake-failed'

/** Errors that another attempt cannot cure. */
const PERMANENT: ReadonlySet<GraphHostErrorCode> = new Set<GraphHostErrorCode>([
  'invalid-config',
  'unknown-operator',
  'unknown-model',
  'depth-limit',
  'no-repository',
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
