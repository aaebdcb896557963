/**
 * The state of one session's lane: what runs and what waits, first in, first out. Pure state; what
 * running means is the host's.
 *
 * A lane that is *held* keeps its order and hands out nothing: its runs come from before this
 * process, and the process has no right to the session yet.
 */
import type { LaneSnapshot } from './types.ts'

export class Lane {
  readonly sessionId: string
  held: boolean
  private active: string | undefined
  private readonly waiting = new Set<string>()

  constructor(sessionId: string, held: boolean) {
    this.sessionId = sessionId
    this.held = held
  }

  get running(): string | undefined {
    return this.active
  }

  get isEmpty(): boolean {
    return this.active === undefined && this.waiting.size === 0
  }

  has(runId: string): boolean {
    return this.active === runId || this.waiting.has(runId)
  }

  /** Adds a run at the end; one that is here already keeps its place. */
  enqueue(runId: string): void {
    if (this.active !== runId) this.waiting.add(runId)
  }

  /** Takes the next run out of the queue and makes it the running one; none while another runs. */
  take(): string | undefined {
    if (this.held || this.active !== undefined) return undefined
    const [next] = this.waiting
    if (next === undefined) return undefined
    this.waiting.delete(next)
    this.active = next
    return next
  }

  /** Gives the place of the running run free. */
  finish(runId: string): void {
    if (this.active === runId) this.active = undefined
  }

  /** Takes a waiting run out of the queue. @returns whether it was waiting. */
  remove(runId: string): boolean {
    return this.waiting.delete(runId)
  }

  snapshot(): LaneSnapshot {
    return { sessionId: this.sessionId, running: this.active, queued: [...this.waiting] }
  }
}
