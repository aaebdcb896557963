/**
 * Agents here whose session has gone on at another host. Such an agent does not know what was said there,
 * and what it says is written nowhere; it is closed as soon as nothing of it is under way, and before
 * anything is run in its session again.
 */
import type { Openers } from './openers.ts'

export interface OvertakenAgentsPorts {
  readonly openers: Openers
  /** Whether a turn of the session is open here, or a run under way. */
  readonly isAtWork: (sessionId: string) => boolean
  readonly warn: (text: string) => void
}

export class OvertakenAgents {
  private readonly ports: OvertakenAgentsPorts
  private readonly sessionIds = new Set<string>()

  constructor(ports: OvertakenAgentsPorts) {
    this.ports = ports
  }

  has(sessionId: string): boolean {
    return this.sessionIds.has(sessionId)
  }

  /** A run of the session was started at another host. */
  add(sessionId: string): void {
    if (this.ports.openers.live(sessionId) === undefined) return
    this.sessionIds.add(sessionId)
    this.closeIdle(sessionId)
  }

  /** The session was opened anew, or closed. */
  forget(sessionId: string): void {
    this.sessionIds.delete(sessionId)
  }

  /** Closes the session's agent if it was overtaken and does nothing. */
  closeIdle(sessionId: string): void {
    const { isAtWork, warn } = this.ports
    if (!this.sessionIds.has(sessionId) || isAtWork(sessionId)) return
    this.close(sessionId).then(
      (isGone) => {
        if (!isGone) warn(`session ${JSON.stringify(sessionId)} goes on at another host; open it anew here`)
      },
      (error: unknown) => warn(`session ${JSON.stringify(sessionId)} was not closed: ${String(error)}`),
    )
  }

  /** @returns whether no overtaken agent of the session is left; one that somebody else opened is theirs. */
  async close(sessionId: string): Promise<boolean> {
    return !this.sessionIds.has(sessionId) || (await this.ports.openers.letGo(sessionId))
  }
}
