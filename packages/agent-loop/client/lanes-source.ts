/**
 * What the page of lanes shows, looked for anew once a second while somebody looks at it: lanes move with
 * every run of every session, and nobody needs each step of that.
 *
 * Owns: when it looks. A look that fails keeps what was seen last, and says so.
 */
import type { QueuedItem } from '../src/queue-types.ts'
import type { LanesDoor, LanesReport } from './door.ts'

/** Milliseconds between the end of a look and the next one; twice as long after each that failed. */
const PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 32_000

export interface LanesView {
  /** `undefined` before the first look has come back. */
  readonly report: LanesReport | undefined
  /** Of the sessions that wait for something or that were asked for, by session. */
  readonly queues: ReadonlyMap<string, readonly QueuedItem[]>
  /** Why the newest look failed. */
  readonly problem: string | undefined
}

/** Time and whether anybody can see the page; the browser's, or a test's. */
export interface Surroundings {
  after(ms: number, act: () => void): () => void
  isSeen(): boolean
  /** @returns the undo. */
  onSeen(act: () => void): () => void
}

export class LanesSource {
  private readonly door: LanesDoor
  private readonly around: Surroundings
  private readonly sessionId: string
  private view: LanesView = { report: undefined, queues: new Map(), problem: undefined }
  private readonly listeners = new Set<() => void>()
  private leave: (() => void) | undefined
  private look: () => void = () => undefined
  private pauseMs = PAUSE_MS

  /** @param sessionId the session that is open: its queue is shown with what was dropped, also when nothing waits. */
  constructor(door: LanesDoor, around: Surroundings, sessionId: string) {
    this.door = door
    this.around = around
    this.sessionId = sessionId
  }

  readonly getSnapshot = (): LanesView => this.view

  /** Looks from the first listener on, until the last one has gone. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    this.leave ??= this.begin()
    return () => {
      this.listeners.delete(listener)
      if (this.listeners.size > 0) return
      this.leave?.()
      this.leave = undefined
    }
  }

  /** Looks at once: something was just done. */
  readonly lookNow = (): void => this.look()

  private begin(): () => void {
    const end = new AbortController()
    let disarm: () => void = () => undefined
    let round = 0
    const look = async (): Promise<void> => {
      disarm()
      const own = (round += 1)
      if (this.around.isSeen()) await this.lookOnce(end.signal, () => own === round)
      if (!end.signal.aborted && own === round) disarm = this.around.after(this.pauseMs, () => void look())
    }
    const unsee = this.around.onSeen(() => void look())
    this.look = () => void look()
    void look()
    return () => {
      end.abort()
      disarm()
      unsee()
      this.look = () => undefined
    }
  }

  /** @param isNewest whether no later look has begun, which knows better. */
  private async lookOnce(signal: AbortSignal, isNewest: () => boolean): Promise<void> {
    try {
      const report = await this.door.lanes(signal)
      const asked = new Set([this.sessionId])
      for (const { sessionId, queued } of report.lanes) if (queued.length > 0) asked.add(sessionId)
      const queues = await Promise.all(
        Array.from(asked, async (id) => [id, await this.door.queue(id, signal)] as const),
      )
      this.pauseMs = PAUSE_MS
      if (isNewest()) this.become({ report, queues: new Map(queues), problem: undefined })
    } catch (error) {
      this.pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * this.pauseMs)
      if (signal.aborted || !isNewest()) return
      this.become({ ...this.view, problem: error instanceof Error ? error.message : String(error) })
    }
  }

  private become(view: LanesView): void {
    this.view = view
    for (const listener of this.listeners) listener()
  }
}
