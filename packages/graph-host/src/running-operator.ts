/** What an operator's session does now, for whoever watches over it. */
import type { Route } from './routes.ts'

export interface RunningOperator {
  readonly runId: string
  readonly workId: string
  /** Tools that a person allowed for this work although each use asks for approval. */
  readonly granted: ReadonlySet<string>
  /** The model of this run. */
  readonly route: Route
}

/** By session; `undefined` for one that does no work here now. */
export type FindOperator = (sessionId: string) => RunningOperator | undefined
