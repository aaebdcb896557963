/** The one error class of the graph host. */
import { HarnessError } from '@deepseek-ai/dsh-llm'

/**
 * - `invalid-config`: a setting does not make sense; the row does not load.
 * - `unknown-operator`: a work names a kind or an operator that is not there.
 * - `root-not-live`: an operator can only be opened while its root session is live.
 * - `wake-failed`: the root's turn did not end well; the wake is tried again.
 */
export type GraphHostErrorCode = 'invalid-config' | 'unknown-operator' | 'root-not-live' | 'wake-failed'

export class GraphHostError extends HarnessError {
  declare readonly code: GraphHostErrorCode

  constructor(code: GraphHostErrorCode, message: string, options?: ErrorOptions) {
    super(message, code, options)
  }
}

/** For a log line: a logger shows an error among its arguments as an empty object. */
export function textOfError(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}
