/** Calls through the door of a running host. */
import type { IncomingMessage } from 'node:http'
import type { RunningHost } from './run-file.ts'

export interface Refusal {
  readonly code: string
  readonly message: string
}

export type DoorAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: Refusal }

const CALL_MS = 15_000
/** A run's result with everything it said, or one event. */
const MAX_ANSWER_CHARACTERS = 16 * 1024 * 1024

/** What a host refused in the middle of a stream. */
export class DoorRefusal extends Error {
  readonly code: string

  constructor({ code, message }: Refusal) {
    super(message)
    this.code = code
  }
}

export interface CallOptions {
  /** How long the host may take beyond an ordinary answer, milliseconds. */
  readonly waitMs?: number
  /** How long an ordinary answer may take. Default 15,000. */
  readonly patienceMs?: number
}

/**
 * @throws Error when the host does not answer; a refusal is an answer.
 */
export async function callHost(
  host: RunningHost,
  operation: string,
  args: object,
  { patienceMs = CALL_MS, waitMs = 0 }: CallOptions = {},
): Promise<DoorAnswer> {
  const response = await responseOf({ host, operation, args, patienceMs: patienceMs + waitMs })
  let text = ''
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk
    if (text.length > MAX_ANSWER_CHARACTERS) throw new Error('its answer is too large')
  }
  const answer = JSON.parse(text) as DoorAnswer
  if (answer.ok !== true && answer.ok !== false) throw new Error('its answer cannot be read')
  return answer
}

/**
 * The values of an operation that answers with a stream, as they come; ends with it.
 *
 * @param signal ends the call and nothing else.
 * @throws DoorRefusal what the host refuses with; Error when it does not answer or breaks off.
 */
export async function* streamFromHost(
  host: RunningHost,
  operation: string,
  args: object,
  signal: AbortSignal,
): AsyncGenerator<unknown, void, undefined> {
  const response = await responseOf({ host, operation, args, patienceMs: CALL_MS, signal })
  for await (const line of linesOf(response)) {
    const told = JSON.parse(line) as {
      readonly value?: unknown
      readonly ok?: boolean
      readonly error?: Refusal
    }
    if (told.error !== undefined) throw new DoorRefusal(told.error)
    if (told.ok === true) return
    yield told.value
  }
  if (!signal.aborted) throw new Error('it broke off')
}

interface Call {
  readonly host: RunningHost
  readonly operation: string
  readonly args: object
  /** How long it may take until the answer begins, milliseconds. */
  readonly patienceMs: number
  readonly signal?: AbortSignal
}

async function responseOf({ args, host, operation, patienceMs, signal }: Call): Promise<IncomingMessage> {
  const { request } = await import('node:http')
  const body = JSON.stringify(args)
  return await new Promise((resolve, reject) => {
    const call = request(
      {
        host: '127.0.0.1',
        port: host.port,
        path: `/v1/${operation}`,
        method: 'POST',
        agent: false,
        headers: {
          authorization: `Bearer ${host.token}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
        ...(signal === undefined ? {} : { signal }),
      },
      (response) => {
        clearTimeout(late)
        resolve(response)
      },
    )
    const late = setTimeout(() => call.destroy(new Error(`no answer within ${patienceMs} ms`)), patienceMs)
    call.on('error', (error) => {
      clearTimeout(late)
      reject(error)
    })
    call.end(body)
  })
}

async function* linesOf(response: IncomingMessage): AsyncGenerator<string, void, undefined> {
  let rest = ''
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > MAX_ANSWER_CHARACTERS) throw new Error('its answer is too large')
    yield* lines
  }
  // A refusal comes without an end of line.
  if (rest !== '') yield rest
}
