/**
 * Streams over a WebSocket: `/agent-loop/events?runId=…|sessionId=…&afterSeq=n`, and the lanes at
 * `/agent-loop/lanes?sessionId=…`. Each message is one JSON object: `{ type: 'event', event }`, and at the end `{ type: 'end' }` or `{ type: 'error', error }`.
 *
 * An event is read when the one before it has left for the network, so a reader that is slow gets merged
 * deltas and nothing gathers here. What the reader says is not listened to. Closing the socket ends the
 * subscription and nothing else.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { backgroundClock, type Clock } from '../clock.ts'
import { admit } from './fence.ts'
import type { AgentOperations } from './operations.ts'
import { problemOf } from './rpc-answer.ts'

const MAX_SOCKETS = 64
const MAX_MESSAGE_BYTES = 4_096
/** A peer that does not answer between two of these is gone. */
const HEARTBEAT_MS = 30_000
const NORMAL = 1000
const GOING_AWAY = 1001
const REFUSED = 1008

export interface EventSocketsDeps {
  readonly operations: AgentOperations
  readonly token: string
  readonly clock?: Clock
}

export class EventSockets {
  private readonly deps: EventSocketsDeps
  private readonly clock: Clock
  private readonly sockets = new Map<WebSocket, Promise<void>>()
  private readonly closing = new AbortController()

  constructor(deps: EventSocketsDeps) {
    this.deps = deps
    this.clock = deps.clock ?? backgroundClock
  }

  /** @param name of an operation that is a stream. */
  async open(name: string, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { operations, token } = this.deps
    const admission = admit(request, token)
    const operation = operations[name]
    if (admission.kind === 'refused') return refuse(socket, '403 Forbidden')
    if (operation?.kind !== 'stream' || this.closing.signal.aborted)
      return refuse(socket, '503 Service Unavailable')
    if (this.sockets.size >= MAX_SOCKETS) return refuse(socket, '503 Service Unavailable')
    // Loaded here, so that a profile without a web server does not pay for it.
    const { WebSocketServer } = await import('ws')
    const server = new WebSocketServer({
      noServer: true,
      maxPayload: MAX_MESSAGE_BYTES,
      clientTracking: false,
    })
    server.handleUpgrade(request, socket, head, (client) => {
      const closed = new Promise<void>((resolve) => client.once('close', () => resolve()))
      const told = this.tell(client, (signal) => operation.stream(requestOf(request.url), signal))
      const over = Promise.all([closed, told]).then(() => void this.sockets.delete(client))
      this.sockets.set(client, over)
    })
  }

  async close(): Promise<void> {
    this.closing.abort()
    const over = [...this.sockets.values()]
    for (const client of this.sockets.keys()) client.terminate()
    await Promise.all(over)
  }

  /** Never rejects. */
  private async tell(
    client: WebSocket,
    subscribe: (signal: AbortSignal) => AsyncIterable<unknown>,
  ): Promise<void> {
    const gone = new AbortController()
    client.once('close', () => gone.abort())
    client.on('error', () => client.terminate())
    const stopBeating = this.beat(client)
    try {
      const signal = AbortSignal.any([this.closing.signal, gone.signal])
      for await (const event of subscribe(signal)) await send(client, { type: 'event', event })
      if (!signal.aborted) await send(client, { type: 'end' })
      client.close(this.closing.signal.aborted ? GOING_AWAY : NORMAL)
    } catch (error) {
      await send(client, { type: 'error', error: problemOf(error) }).catch(() => undefined)
      client.close(REFUSED)
    } finally {
      stopBeating()
    }
  }

  private beat(client: WebSocket): () => void {
    let isAlive = true
    let disarm: () => void
    client.on('pong', () => (isAlive = true))
    const next = (): void => {
      disarm = this.clock.after(HEARTBEAT_MS, () => {
        if (!isAlive) return client.terminate()
        isAlive = false
        client.ping()
        next()
      })
    }
    next()
    return () => disarm()
  }
}

/** Rejects when the reader is gone. */
function send(client: WebSocket, message: object): Promise<void> {
  return new Promise((resolve, reject) => {
    client.send(JSON.stringify(message), (error) => (error == null ? resolve() : reject(error)))
  })
}

function requestOf(url = ''): object {
  const { searchParams } = new URL(url, 'http://127.0.0.1')
  const asked: Record<string, unknown> = Object.fromEntries(searchParams)
  const { afterSeq, follow } = asked
  if (typeof afterSeq === 'string')
    asked['afterSeq'] = /^\d{1,15}$/u.test(afterSeq) ? Number(afterSeq) : afterSeq
  if (follow === 'true' || follow === 'false') asked['follow'] = follow === 'true'
  return asked
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
}
