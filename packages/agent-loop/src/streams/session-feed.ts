/**
 * The runs of a session that came to be since its subscribers looked last. One feed a subscription; a
 * feed holds names of runs and no events.
 */
import { AgentLoopError } from '../errors.ts'

/** A subscriber that missed the beginnings of so many runs starts anew. */
const MAX_NEWCOMERS = 10_000

export class SessionFeed {
  private readonly sessionId: string
  private runIds: string[] = []
  private readonly seen: Set<string>
  private isLagging = false

  /** @param seen runs that the subscription reads anyway. */
  constructor(sessionId: string, seen: Iterable<string>) {
    this.sessionId = sessionId
    this.seen = new Set(seen)
  }

  /** The run has a first event. */
  add(runId: string): void {
    if (this.seen.has(runId)) return
    this.seen.add(runId)
    if (this.runIds.length < MAX_NEWCOMERS) this.runIds.push(runId)
    else this.isLagging = true
  }

  /** The run is over and will not be told again. */
  forget(runId: string): void {
    this.seen.delete(runId)
  }

  /** @throws AgentLoopError `lagging`. */
  take(): readonly string[] {
    if (this.isLagging) {
      throw new AgentLoopError(
        'lagging',
        `the subscription to session ${JSON.stringify(this.sessionId)} missed more than ${MAX_NEWCOMERS} runs; subscribe again`,
      )
    }
    const taken = this.runIds
    this.runIds = []
    return taken
  }
}
