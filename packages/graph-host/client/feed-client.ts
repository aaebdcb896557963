/**
 * The page's one connection to the feed, shared by everything that shows a graph. It is there while
 * something looks, and comes back by itself: what the page has is told, so that only the rest is sent.
 */
import type { FeedMessage, PageMessage } from '../src/feed/wire.ts'
import { RunsLook, type RunsSource } from './code-run.ts'
import { EMPTY_MODEL, reduce, withConnection, type GraphModel } from './graph-model.ts'
import { SupervisionLook, type SupervisionSource } from './supervision-look.ts'
import { Watchers } from './watchers.ts'

/** What the page looks at through its connection. */
type AnyLook = Look | RunsLook | SupervisionLook

/** A connection, and what it tells. */
export interface Socket {
  send(text: string): void
  close(): void
}

export interface SocketListener {
  opened(): void
  heard(text: string): void
  /** Also for one that never opened. */
  closed(): void
}

export interface FeedClientOptions {
  /** Rejects when the host cannot be asked. */
  readonly ticket: () => Promise<string>
  readonly open: (ticket: string, listener: SocketListener) => Socket
}

export interface GraphSource {
  getSnapshot(): GraphModel
  subscribe(listener: () => void): () => void
}

const FIRST_PAUSE_MS = 500
const LAST_PAUSE_MS = 10_000
/** A page that turns to another tab for a moment keeps its connection. */
const LINGER_MS = 5_000

export class FeedClient {
  private readonly options: FeedClientOptions
  private readonly looks = new Map<string, AnyLook>()
  private readonly byKey = new Map<number, AnyLook>()
  private socket: Socket | undefined
  private isOpen = false
  private pauseMs = FIRST_PAUSE_MS
  private retry: ReturnType<typeof setTimeout> | undefined
  private linger: ReturnType<typeof setTimeout> | undefined
  private connecting = false
  private closed = false

  constructor(options: FeedClientOptions) {
    this.options = options
  }

  /** The graph of a session: the newest one, or the one that is named. The same source for the same names. */
  of(sessionId: string, graphId?: string): GraphSource {
    const name = JSON.stringify(['graph', sessionId, graphId])
    return this.look(name, (key) => new Look(key, sessionId, graphId, (look) => this.changed(look))) as Look
  }

  /** The runs of code graphs that a session calls. */
  runsOf(sessionId: string): RunsSource {
    const name = JSON.stringify(['runs', sessionId])
    return this.look(name, (key) => new RunsLook(key, sessionId, (look) => this.changed(look))) as RunsLook
  }

  /** Whether a session supervises graphs. */
  supervisionOf(sessionId: string): SupervisionSource {
    const name = JSON.stringify(['supervision', sessionId])
    return this.look(
      name,
      (key) => new SupervisionLook(key, sessionId, (look) => this.changed(look)),
    ) as SupervisionLook
  }

  private look(name: string, make: (key: number) => AnyLook): AnyLook {
    let look = this.looks.get(name)
    if (look === undefined) {
      look = make(this.looks.size + 1)
      this.looks.set(name, look)
      this.byKey.set(look.key, look)
    }
    return look
  }

  close(): void {
    this.closed = true
    clearTimeout(this.retry)
    clearTimeout(this.linger)
    this.socket?.close()
    this.socket = undefined
  }

  /** Somebody began or ceased to look. */
  private changed(look: AnyLook): void {
    if (this.isOpen) this.say(look.isWatched ? look.watch() : { type: 'unwatch', key: look.key })
    clearTimeout(this.linger)
    if ([...this.looks.values()].some((one) => one.isWatched)) this.connect()
    else this.linger = setTimeout(() => this.socket?.close(), LINGER_MS)
  }

  private connect(): void {
    if (this.closed || this.connecting || this.socket !== undefined) return
    this.connecting = true
    clearTimeout(this.retry)
    this.options.ticket().then(
      (ticket) => this.open(ticket),
      () => {
        this.connecting = false
        this.again()
      },
    )
  }

  private open(ticket: string): void {
    this.connecting = false
    if (this.closed) return
    const socket = this.options.open(ticket, {
      opened: () => {
        this.isOpen = true
        this.pauseMs = FIRST_PAUSE_MS
        for (const look of this.looks.values()) if (look.isWatched) this.say(look.watch())
      },
      heard: (text) => {
        const message = JSON.parse(text) as FeedMessage
        this.byKey.get(message.key)?.hear(message)
      },
      closed: () => {
        if (this.socket === socket) this.lost()
      },
    })
    this.socket = socket
  }

  private lost(): void {
    this.socket = undefined
    this.isOpen = false
    for (const look of this.looks.values()) look.disconnected()
    this.again()
  }

  private again(): void {
    if (this.closed || ![...this.looks.values()].some((look) => look.isWatched)) return
    this.retry = setTimeout(() => this.connect(), this.pauseMs)
    this.pauseMs = Math.min(this.pauseMs * 2, LAST_PAUSE_MS)
  }

  private say(message: PageMessage): void {
    this.socket?.send(JSON.stringify(message))
  }
}

class Look implements GraphSource {
  readonly key: number
  private readonly sessionId: string
  private readonly graphId: string | undefined
  private readonly watchers: Watchers
  private model = EMPTY_MODEL

  constructor(key: number, sessionId: string, graphId: string | undefined, onWatched: (look: Look) => void) {
    this.key = key
    this.sessionId = sessionId
    this.graphId = graphId
    this.watchers = new Watchers(() => onWatched(this))
  }

  readonly getSnapshot = (): GraphModel => this.model

  readonly subscribe = (listener: () => void): (() => void) => this.watchers.subscribe(listener)

  get isWatched(): boolean {
    return this.watchers.isWatched
  }

  watch(): PageMessage {
    const { key, sessionId, graphId } = this
    const { head, phase, incoming } = this.model
    const isWhole = head !== undefined && phase === 'live' && incoming === undefined
    return {
      type: 'watch',
      key,
      sessionId,
      ...(graphId === undefined ? {} : { graphId }),
      ...(isWhole ? { have: { graphId: head.graphId, seq: head.seq } } : {}),
    }
  }

  hear(message: FeedMessage): void {
    this.become(reduce(this.model, message))
  }

  disconnected(): void {
    this.become(withConnection(this.model, false))
  }

  private become(model: GraphModel): void {
    if (model === this.model) return
    this.model = model
    this.watchers.tell()
  }
}
