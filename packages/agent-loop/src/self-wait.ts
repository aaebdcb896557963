/**
 * Waits from inside a turn. A turn holds its session, and its run a global lane; a turn that waits for a
 * run which needs one of these would wait for itself. Whoever waits for the turn holds what it holds as
 * well, so a circle of waits is found wherever it closes. Pure state.
 */
import { AgentLoopError } from './errors.ts'

export interface Holder {
  readonly sessionId: string
  /** The run whose turn it is; none for a turn that is not ours. */
  readonly runId: string | undefined
  readonly lane: string | undefined
}

export interface Awaited {
  readonly runId: string
  readonly sessionId: string
  readonly lane: string
  /** It has what it needs. */
  readonly hasBegun: boolean
}

interface Wait {
  readonly holder: Holder
  readonly awaited: Awaited
}

export class SelfWaits {
  private readonly waits = new Set<Wait>()

  /**
   * Registers the wait of a turn.
   *
   * @returns ends it.
   * @throws `self-wait`.
   */
  enter(holder: Holder, awaited: Awaited): () => void {
    const held = awaited.hasBegun ? undefined : this.heldWith(holder, awaited)
    if (held !== undefined) {
      throw new AgentLoopError(
        'self-wait',
        `run ${awaited.runId} cannot begin while it is waited for here: ${held}. ` +
          'Accept it for another session and lane (such as "nested"), or end the turn and be told later',
      )
    }
    const wait = { holder, awaited }
    this.waits.add(wait)
    return () => void this.waits.delete(wait)
  }

  /** What the run needs and the chain of waits holds. */
  private heldWith(holder: Holder, awaited: Awaited): string | undefined {
    const seen = new Set<string>()
    const chain = [holder]
    for (let next = chain.pop(); next !== undefined; next = chain.pop()) {
      if (seen.has(next.sessionId)) continue
      seen.add(next.sessionId)
      if (next.sessionId === awaited.sessionId)
        return `a turn of session ${JSON.stringify(next.sessionId)} holds it`
      if (next.lane === awaited.lane) return `a turn in lane "${next.lane}" holds a slot of it`
      for (const { holder: other, awaited: wanted } of this.waits) {
        if (wanted.runId === next.runId) chain.push(other)
      }
    }
    return undefined
  }
}
