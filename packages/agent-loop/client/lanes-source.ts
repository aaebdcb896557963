/**
 * What the page of lanes shows, told by the host as it moves while somebody looks at it.
 *
 * Owns: when there is a connection. One that is lost leaves what was seen last, says so, and is tried again.
 */
import type { QueuedItem } from '../src/queue-types.ts'
import type { LanesDoor, LanesNews } from './door.ts'

/** Milliseconds before a connection that was lost is tried again; twice as long after each that failed. */
const PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 32_000

export interface LanesView {
  /** `undefined` before the host has told anything. */
  readonly news: LanesNews | undefined
  /** When that was, epoch milliseconds. */
  readonly at: number
  readonly queues: ReadonlyMap<string, readonly QueuedItem[]>
  /** Why there is no connection. */
  readonly problem: string | undefined
}

/** Time and whether anybody can see the page; the browser's, or a test's. */
export interface Surroundings {
  now(): number
  after(ms: number, act: () => void): () => void
  isSeen(): boolean
  /** @returns the undo. */
  onSeen(act: () => void): () => void
}

export class LanesSource {
  private readonly door: LanesDoor
  private readonly around: Surroundings
  private readonly sessionId: string
  private view: LanesView = { news: undefined, at: 0, queues: new Map(), problem: undefined }
  private readonly listeners = new Set<() => void>()
  private stop: (() => void) | undefined
  private leave: (() => void) | undefined
  private disarm: (() => void) | undefined
  private pauseMs = PAUSE_MS

  /** @param sessionId the session that is open: its queue is shown with what was dropped, also when nothing waits. */
  constructor(door: LanesDoor, around: Surroundings, sessionId: string) {
    this.door = door
    this.around = around
    this.sessionId = sessionId
  }

  readonly getSnapshot = (): LanesView => this.view

  /** Is told from the first listener on, until the last one has gone. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    this.stop ??= this.begin()
    return () => {
      this.listeners.delete(listener)
      if (this.listeners.size > 0) return
      this.stop?.()
      this.stop = undefined
    }
  }

  private begin(): () => void {
    const unsee = this.around.onSeen(() => this.look())
    this.look()
    return () => {
      unsee()
      this.disconnect()
    }
  }

  /** A page that nobody sees has no connection; one that is seen again does not wait for the pause to end. */
  private look(): void {
    if (!this.around.isSeen()) return this.disconnect()
    if (this.leave !== undefined) return
    this.disarm?.()
    this.leave = this.door.watch(this.sessionId, {
      heard: (news) => {
        this.pauseMs = PAUSE_MS
        const queues = new Map(news.queues.map(({ items, sessionId }) => [sessionId, items]))
        this.become({ news, at: this.around.now(), queues, problem: undefined })
      },
      lost: (problem) => {
        this.leave = undefined
        this.disarm = this.around.after(this.pauseMs, () => this.look())
        this.pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * this.pauseMs)
        this.become({ ...this.view, problem })
      },
    })
  }

  private disconnect(): void {
    this.disarm?.()
    this.disarm = undefined
    this.leave?.()
    this.leave = undefined
  }

  private become(view: LanesView): void {
    this.view = view
    for (const listener of this.listeners) listener()
  }
}
