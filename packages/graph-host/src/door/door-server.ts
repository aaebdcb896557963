/**
 * The loopback door of a running host: `POST /v1/<operation>` with JSON, answered with
 * `{ ok: true, value }` or `{ ok: false, error: { code, message } }`.
 *
 * A caller shows the token of the run file, which only the same user can read. Whatever a browser
 * sends is refused besides (it adds `Origin` or `Sec-Fetch-Site`), and so is a name that was made to
 * lead to this port (`Host`). Owns: the server and the requests under way. Does not own: what an
 * operation does.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type DoorOperations = Readonly<
  Record<string, (args: Readonly<Record<string, unknown>>) => Promise<unknown>>
>

export interface Door {
  readonly port: number
  readonly token: string
  /** Refuses what comes, and resolves when what is under way has been answered. Idempotent. */
  close(): Promise<void>
}

const HOST = '127.0.0.1'
const MAX_BODY_BYTES = 64 * 1024
const REQUEST_MS = 10_000
const MAX_CONNECTIONS = 16
const PATH = /^\/v1\/([a-z][a-z-]{0,31})$/u

/** Opens the door on a port of the system's choice. It keeps no process alive. */
export async function openDoor(operations: DoorOperations): Promise<Door> {
  // Loaded here, so that a host without a door does not pay for it.
  const { createServer } = await import('node:http')
  const token = randomBytes(32).toString('hex')
  const underWay = new Set<Promise<void>>()
  const server = createServer(
    { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS },
    (request, response) => {
      const answered = answer({ operations, token, portOf: () => portOf(server) }, request, response)
        // The caller has gone: there is nobody to tell.
        .catch(() => void response.destroy())
        .finally(() => underWay.delete(answered))
      underWay.add(answered)
    },
  )
  server.maxConnections = MAX_CONNECTIONS
  server.unref()
  server.on('connection', (socket) => void socket.unref())
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, HOST, resolve)
  })
  let closing: Promise<void> | undefined
  return { port: portOf(server), token, close: () => (closing ??= close(server, underWay)) }
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo | null)?.port ?? 0
}

async function close(server: Server, underWay: ReadonlySet<Promise<void>>): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  await Promise.all(underWay)
  server.closeAllConnections()
  await closed
}

interface Guarded {
  readonly operations: DoorOperations
  readonly token: string
  readonly portOf: () => number
}

async function answer(guarded: Guarded, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const refusal = refusalOf(guarded, request)
  if (refusal !== undefined) return send(response, refusal.status, failure(refusal.code, refusal.message))
  const name = PATH.exec(request.url ?? '')?.[1] ?? ''
  const operation = Object.hasOwn(guarded.operations, name) ? guarded.operations[name] : undefined
  if (operation === undefined)
    return send(response, 404, failure('unknown-operation', `there is no operation ${request.url}`))
  const args = await bodyOf(request)
  if (args === undefined)
    return send(response, 400, failure('invalid', 'the body must be a JSON object of at most 64 KiB'))
  try {
    send(response, 200, { ok: true, value: (await operation(args)) ?? null })
  } catch (error) {
    send(response, 200, failure(codeOf(error), error instanceof Error ? error.message : String(error)))
  }
}

interface Refusal {
  readonly status: number
  readonly code: string
  readonly message: string
}

/** Nothing of a request is read before it passed this. */
function refusalOf(
  { portOf: port, token }: Guarded,
  { headers, method }: IncomingMessage,
): Refusal | undefined {
  const { authorization = '', host = '', origin } = headers
  if (host !== `${HOST}:${port()}` && host !== `localhost:${port()}`)
    return { status: 403, code: 'foreign-host', message: 'this door is for programs of this machine' }
  if (origin !== undefined || headers['sec-fetch-site'] !== undefined)
    return { status: 403, code: 'foreign-origin', message: 'this door is not for web pages' }
  if (!isToken(authorization, token))
    return { status: 401, code: 'unauthorized', message: 'show the token of the run file' }
  if (method !== 'POST') return { status: 405, code: 'invalid', message: 'operations are posted' }
  if (headers['content-type']?.split(';')[0] !== 'application/json')
    return { status: 415, code: 'invalid', message: 'the body must be application/json' }
  return undefined
}

/** In the same time for every wrong one. */
function isToken(authorization: string, token: string): boolean {
  const given = Buffer.from(authorization)
  const wanted = Buffer.from(`Bearer ${token}`)
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}

async function bodyOf(request: IncomingMessage): Promise<Readonly<Record<string, unknown>> | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) return undefined
    chunks.push(chunk)
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

function failure(code: string, message: string) {
  return { ok: false, error: { code, message } }
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : 'internal'
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  })
  response.end(JSON.stringify(body))
}
