/**
 * The door in the web server of a profile that has one:
 *
 *     POST /agent-loop/<operation>          DSH's unary RPC
 *     GET  /agent-loop/events?runId=…       a WebSocket of events, see `event-socket.ts`
 *     GET  /agent-loop/lanes?sessionId=…    a WebSocket of lanes and queues, each time they have moved
 *
 * Owns the routes and what is under way in them. Who may come in is `fence.ts`, what is answered is
 * `operations.ts`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Context } from '@deepseek-ai/cordis'
import { admit } from './fence.ts'
import { EventSockets } from './event-socket.ts'
import type { AgentOperations } from './operations.ts'
import { problemOf, readRpcRequest, rpcFailure, rpcValue } from './rpc-answer.ts'

export const WEB_PATH = '/agent-loop'
/** What is told over sockets: path and operation. */
const STREAMS = [
  ['events', 'events'],
  ['lanes', 'lanes.watch'],
] as const
const MAX_BODY_BYTES = 8 * 1024 * 1024

/** DSH's `ctx.webServer`, as far as it is used here. */
interface WebServer {
  register(route: {
    readonly kind: 'prefix'
    readonly path: string
    readonly handler: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  }): () => void
  registerUpgrade(route: {
    readonly path: string
    readonly handler: (request: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void>
  }): () => void
}

export interface WebDoorDeps {
  readonly operations: AgentOperations
  readonly token: string
}

/** Opens the door while the web server is there. A host without it is a host all the same, and says why. */
export function openWebDoor(ctx: Context, deps: WebDoorDeps): void {
  ctx.inject(['webServer'], (child: Context) => {
    const server = child.get('webServer') as unknown as WebServer
    const calls = new WebCalls(deps)
    const sockets = new EventSockets(deps)
    child.effect(() => {
      const undos: (() => void)[] = []
      try {
        undos.push(
          server.register({
            kind: 'prefix',
            path: WEB_PATH,
            handler: (request, response) => calls.answer(request, response),
          }),
        )
        for (const [path, operation] of STREAMS)
          undos.push(
            server.registerUpgrade({
              path: `${WEB_PATH}/${path}`,
              handler: (request, socket, head) => sockets.open(operation, request, socket, head),
            }),
          )
      } catch (error) {
        // A path is taken by whoever came first.
        child
          .logger('agent-loop-host')
          .warn('%s', `there is no ${WEB_PATH} in the web server: ${String(error)}`)
      }
      return async () => {
        for (const undo of undos) undo()
        await Promise.all([calls.close(), sockets.close()])
      }
    }, 'web door of the agent-loop host')
  })
}

class WebCalls {
  private readonly deps: WebDoorDeps
  private readonly closing = new AbortController()
  private readonly underWay = new Set<Promise<void>>()

  constructor(deps: WebDoorDeps) {
    this.deps = deps
  }

  answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answered = this.tell(request, response)
      // The caller has gone: there is nobody to tell.
      .catch(() => void response.destroy())
      .finally(() => this.underWay.delete(answered))
    this.underWay.add(answered)
    return answered
  }

  async close(): Promise<void> {
    this.closing.abort()
    await Promise.all(this.underWay)
  }

  private async tell(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { operations, token } = this.deps
    const admission = admit(request, token)
    if (admission.kind === 'refused') return send(response, 403, { error: admission.why })
    const name = (request.url ?? '').split('?')[0]?.slice(WEB_PATH.length + 1) ?? ''
    const operation = Object.hasOwn(operations, name) ? operations[name] : undefined
    if (request.method !== 'POST' || operation?.kind !== 'call') {
      return send(response, 404, { error: `there is no call ${JSON.stringify(name)}` })
    }
    if (operation.mutates && !admission.mayChange) {
      return send(response, 401, { error: `${name} changes something: show the token of the run file` })
    }
    if (request.headers['content-type']?.split(';')[0]?.trim().toLowerCase() !== 'application/json') {
      return send(response, 415, { error: 'the body must be application/json' })
    }
    const body = await bodyOf(request)
    if (body === undefined) return send(response, 413, { error: 'the body is too large' })
    const asked = readRpcRequest(body)
    if (asked === undefined || asked.method !== name) {
      const why = `the body must be a client-request whose method is ${JSON.stringify(name)}`
      return send(response, 400, rpcFailure(asked?.rpcId ?? 'invalid-request', refusal(why)))
    }
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    try {
      const signal = AbortSignal.any([this.closing.signal, gone.signal])
      send(response, 200, rpcValue(asked.rpcId, await operation.call(asked.payload, signal)))
    } catch (error) {
      send(response, 200, rpcFailure(asked.rpcId, error))
    }
  }
}

function refusal(message: string): Error {
  return Object.assign(new Error(message), { code: 'invalid' })
}

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function send(response: ServerResponse, status: number, body: object): void {
  if (response.destroyed || response.headersSent) return
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(status === 413 ? { connection: 'close' } : {}),
  })
  response.end(jsonOf(body))
}

function jsonOf(body: object): string {
  try {
    return JSON.stringify(body)
  } catch (error) {
    return JSON.stringify({ error: problemOf(error).message })
  }
}
