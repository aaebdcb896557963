/** Why a call of the page is refused before anything happens. */
import { HarnessError } from '@deepseek-ai/dsh-llm'

/**
 * - `invalid`: the call is not one of ours.
 * - `not-found`: the session has no such graph, work or record.
 */
export type FeedErrorCode = 'invalid' | 'not-found'

export class FeedError extends HarnessError {
  declare readonly code: FeedErrorCode

  constructor(code: FeedErrorCode, message: string) {
    super(message, code)
  }
}
