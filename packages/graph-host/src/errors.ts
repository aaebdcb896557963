/** The one error class of the graph host. */
import { HarnessError } from '@deepseek-ai/dsh-llm'

/**
 * - `unknown-operator`: a work names a kind or an operator that is not there.
 * - `root-not-live`: an operator can only be opened while its root session is live.
 * - `wake-failed`: the root's turn did not end well; the wake is tried again.
 */
export type GraphHostErrorCode = 'unknown-operator' | 'root-not-live' | 'wake-failed'

export class GraphHostError extends HarnessError {
  declare readonly code: GraphHostErrorCode

  constructor(code: GraphHostErrorCode, message: string, options?: ErrorOptions) {
    super(message, code, options)
  }
}
