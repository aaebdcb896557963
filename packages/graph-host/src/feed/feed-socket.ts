/**
 * The socket of the pages: each page has one, and looks through it at as many sessions as it shows.
 *
 * Owns: who may connect, the connections, their end. Does not own: what is sent.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { GraphControl, GraphState } from 'dsh-graph-control'
import { WebSocketServer, type WebSocket } from 'ws'
import type { CodeRuns } from './code-runs.ts'
import { GraphWatch } from './graph-watch.ts'
import { parsePageMessage } from './page-message.ts'
import type { SupervisedSessions } from './supervised-sessions.ts'
import { isSameOrigin, type Tickets } from './same-origin.ts'
import type { Standing } from './work-card.ts'
import type { FeedMessage, PageMessage } from './wire.ts'

/** Looks of one page at a time, and pages of this host. */
const WATCHES = 32
const PAGES = 128
const MESSAGE_BYTES = 4 * 1024
/** Bytes that a page has not taken, from which on it gets no more. */
const FULL_BYTES = 2 * 1024 * 1024
/** A page that does not answer for two of these is gone. */
const PING_MS = 30_000

export interface FeedSocketOptions {
  readonly store: GraphControl
  readonly tickets: Tickets
  readonly runs: CodeRuns
  readonly supervised: SupervisedSessions
  readonly standing: () => Standing
}

/** Something that a page looks at. */
interface Look {
  committed?(state: GraphState): void
  lanesMoved?(): void
  epochsMoved?(rootSessionId: string): void
  graphMoved?(graphId: string): void
  close(): void
}

export class FeedSocket {
  private readonly options: FeedSocketOptions
  private readonly server = new WebSocketServer({ noServer: true, maxPayload: MESSAGE_BYTES })
  private readonly pages = new Map<WebSocket, Map<number, Look>>()
  private readonly silent = new WeakSet<WebSocket>()
  private readonly unsubscribe: () => void
  private readonly pings: ReturnType<typeof setInterval>

  constructor(options: FeedSocketOptions) {
    this.options = options
    this.unsubscribe = options.store.onCommitted((state) => {
      for (const watches of this.pages.values())
        for (const watch of watches.values()) watch.committed?.(state)
    })
    this.pings = setInterval(() => this.ping(), PING_MS)
    this.pings.unref()
  }

  /** Takes a connection over, or refuses it with 403 or 503. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const ticket = new URL(request.url ?? '/', 'http://page').searchParams.get('ticket')
    if (!isSameOrigin(request.headers) || !this.options.tickets.redeem(ticket))
      return refuse(socket, '403 Forbidden')
    if (this.pages.size >= PAGES) return refuse(socket, '503 Service Unavailable')
    this.server.handleUpgrade(request, socket, head, (page) => this.welcome(page))
  }

  /** A run that stood in line may have its slot, or the other way round. */
  lanesMoved(): void {
    for (const looks of this.pages.values()) for (const look of looks.values()) look.lanesMoved?.()
  }

  /** A root has another epoch, whoever opened it. */
  epochsMoved(rootSessionId: string): void {
    for (const looks of this.pages.values())
      for (const look of looks.values()) look.epochsMoved?.(rootSessionId)
  }

  /** There is something new in a graph, which the store need not have in memory. */
  graphMoved(graphId: string): void {
    for (const looks of this.pages.values()) for (const look of looks.values()) look.graphMoved?.(graphId)
  }

  close(): void {
    clearInterval(this.pings)
    this.unsubscribe()
    for (const page of this.pages.keys()) {
      this.leave(page)
      page.terminate()
    }
    this.server.close()
  }

  private welcome(page: WebSocket): void {
    this.pages.set(page, new Map())
    page.on('message', (data, isBinary) => {
      const message = isBinary ? undefined : parsePageMessage(String(data))
      if (message === undefined) return page.close(1008, 'not a message of this feed')
      this.hear(page, message)
    })
    page.on('pong', () => this.silent.delete(page))
    page.on('close', () => this.leave(page))
    // It is followed by a close.
    page.on('error', () => undefined)
  }

  private hear(page: WebSocket, message: PageMessage): void {
    const watches = this.pages.get(page)
    if (watches === undefined) return
    const { key } = message
    watches.get(key)?.close()
    watches.delete(key)
    if (message.type === 'unwatch') return
    if (watches.size >= WATCHES) return page.close(1008, 'too many watches')
    const send = (told: FeedMessage) => page.send(JSON.stringify(told))
    if (message.type === 'runs') {
      const close = this.options.runs.watch(message.sessionId, (news) => send({ type: 'run', key, news }))
      return void watches.set(key, { close })
    }
    if (message.type === 'supervision') {
      const tell = (supervised: boolean | null) => send({ type: 'supervision', key, supervised })
      return void watches.set(key, { close: this.options.supervised.watch(message.sessionId, tell) })
    }
    const { sessionId, graphId, have } = message
    const isFull = () => page.bufferedAmount > FULL_BYTES
    const { standing, store } = this.options
    watches.set(key, new GraphWatch({ store, key, sessionId, graphId, have, send, isFull, standing }))
  }

  private leave(page: WebSocket): void {
    for (const watch of this.pages.get(page)?.values() ?? []) watch.close()
    this.pages.delete(page)
  }

  private ping(): void {
    for (const page of this.pages.keys()) {
      if (this.silent.has(page)) page.terminate()
      else {
        this.silent.add(page)
        page.ping()
      }
    }
  }
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
}
