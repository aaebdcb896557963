/** What the page knows of whether a session supervises graphs. */
import type { FeedMessage, PageMessage } from '../src/feed/wire.ts'
import { Watchers } from './watchers.ts'

export interface SupervisionSource {
  /** `null`: the session is not open at the host, or a child; also before the host has said so. */
  getSnapshot(): boolean | null
  subscribe(listener: () => void): () => void
}

/** One look of the page's connection at a session. */
export class SupervisionLook implements SupervisionSource {
  readonly key: number
  private readonly sessionId: string
  private readonly watchers: Watchers
  private supervised: boolean | null = null

  constructor(key: number, sessionId: string, onWatched: (look: SupervisionLook) => void) {
    this.key = key
    this.sessionId = sessionId
    this.watchers = new Watchers(() => onWatched(this))
  }

  readonly getSnapshot = (): boolean | null => this.supervised

  readonly subscribe = (listener: () => void): (() => void) => this.watchers.subscribe(listener)

  get isWatched(): boolean {
    return this.watchers.isWatched
  }

  watch(): PageMessage {
    return { type: 'supervision', key: this.key, sessionId: this.sessionId }
  }

  hear(message: FeedMessage): void {
    if (message.type !== 'supervision' || message.supervised === this.supervised) return
    this.supervised = message.supervised
    this.watchers.tell()
  }

  /** What was so stays until the next connection tells. */
  disconnected(): void {}
}
