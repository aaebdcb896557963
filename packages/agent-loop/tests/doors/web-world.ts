/** A world with DSH's own web server, and callers of its doors. */
import { request as httpRequest } from 'node:http'
import WebServer from '@deepseek-ai/dsh-host-webserver'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { doorToken, type AgentEvent } from '../../src/index.ts'
import { World, type WorldOptions } from '../support/world.ts'

export interface Answer {
  readonly status: number
  readonly body: {
    readonly result?: {
      readonly ok: boolean
      readonly value?: unknown
      readonly error?: { readonly code: string; readonly message: string; readonly details: object }
    }
    readonly rpcId?: string
    readonly error?: string
  }
}

export interface CallOptions {
  readonly headers?: Record<string, string>
  readonly method?: string
  readonly body?: string
  readonly path?: string
}

export type Frame =
  | { readonly type: 'event'; readonly event: AgentEvent }
  | { readonly type: 'end' }
  | { readonly type: 'error'; readonly error: { readonly code: string; readonly message: string } }

export class WebWorld {
  readonly world: World
  readonly port: number

  private constructor(world: World, port: number) {
    this.world = world
    this.port = port
  }

  static async boot(options: WorldOptions = {}): Promise<WebWorld> {
    const world = await World.boot(options)
    await world.ctx.plugin(WebServer as never, { host: '127.0.0.1', port: 0 } as never)
    const { port } = world.ctx.get('webServer') as unknown as { port: number }
    return new WebWorld(world, port)
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`
  }

  get token(): Record<string, string> {
    return { authorization: `Bearer ${doorToken(this.world.ctx)}` }
  }

  /** As DSH's page calls, unless told otherwise. */
  call(name: string, payload: unknown, options: CallOptions = {}): Promise<Answer> {
    const page = { origin: this.origin, 'sec-fetch-site': 'same-origin' }
    const body = JSON.stringify({ type: 'client-request', rpcId: 'r1', method: name, payload })
    return new Promise((resolve, reject) => {
      const call = httpRequest(
        {
          host: '127.0.0.1',
          port: this.port,
          path: options.path ?? `/agent-loop/${name}`,
          method: options.method ?? 'POST',
          agent: false,
          headers: { 'content-type': 'application/json', ...(options.headers ?? page) },
        },
        (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (more: string) => (text += more))
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              // What no route answers has no body.
              body: JSON.parse(text === '' ? '{}' : text) as Answer['body'],
            }),
          )
        },
      )
      call.on('error', reject)
      call.end(options.body ?? body)
    })
  }

  async value<T>(name: string, payload: unknown): Promise<T> {
    const { body } = await this.call(name, payload)
    if (body.result?.ok !== true) throw new Error(JSON.stringify(body))
    return body.result.value as T
  }

  /** A subscription over a real socket. */
  listen(query: string, headers: Record<string, string> = {}, path = 'events'): Listener {
    return new Listener(new WebSocket(`ws://127.0.0.1:${this.port}/agent-loop/${path}?${query}`, { headers }))
  }
}

export class Listener {
  readonly frames: Frame[] = []
  readonly socket: WebSocket
  /** With the code of the close, or the status of a refused handshake. */
  readonly closed: Promise<number>

  constructor(socket: WebSocket) {
    this.socket = socket
    socket.on('message', (data) => this.frames.push(JSON.parse(String(data)) as Frame))
    this.closed = new Promise((resolve) => {
      socket.on('close', (code) => resolve(code))
      socket.on('unexpected-response', (_request, response) => {
        resolve(response.statusCode ?? 0)
        response.destroy()
      })
      socket.on('error', () => undefined)
    })
    onTestFinished(() => socket.terminate())
  }

  get events(): readonly AgentEvent[] {
    return this.frames.flatMap((frame) => (frame.type === 'event' ? [frame.event] : []))
  }
}
