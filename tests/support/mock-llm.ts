/**
 * A chat-completions server on 127.0.0.1 in the manner of DeepSeek: streamed deltas, tool-call
 * arguments in fragments, usage in the last chunk. What it answers is the test's to say, per
 * request; what it was asked is kept.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WireRequest, type WireBody } from './chat-wire.ts'

export interface MockToolCall {
  readonly name: string
  readonly arguments: object
}

/** What the model does with one request. */
export interface MockAnswer {
  readonly text?: string
  readonly toolCalls?: readonly MockToolCall[]
  /** In place of an answer. */
  readonly fault?: MockFault
}

/**
 * An HTTP status; `reset`, the connection closes before there is an answer; `disconnect`, in the middle
 * of the stream; `stall`, the stream stands still in its middle; `malformed`, it holds what is no JSON;
 * `overflow`, the conversation does not fit the model.
 */
export type MockFault = number | 'reset' | 'disconnect' | 'stall' | 'malformed' | 'overflow'

/** May wait, to hold a model back. A throw is answered with 400 and kept in `failures`. */
export type Responder = (request: WireRequest) => MockAnswer | Promise<MockAnswer>

export interface MockLlm extends AsyncDisposable {
  /** What `DEEPSEEK_BASE_URL` takes. */
  readonly baseUrl: string
  /** Every chat request, in order of arrival. */
  readonly requests: readonly WireRequest[]
  /** Requests that nobody should have made, and errors of the responder. */
  readonly failures: readonly string[]
  /** Puts another responder in place and forgets the requests. */
  play(respond: Responder): void
}

const OVERFLOW = {
  message: "This model's maximum context length is 131072 tokens. Please reduce the length of the messages.",
  type: 'invalid_request_error',
  code: 'context_length_exceeded',
}

/** Short enough that every name, key and escape is cut somewhere. */
const FRAGMENT_CHARS = 5

function fragments(text: string): string[] {
  return text.match(new RegExp(`[\\s\\S]{1,${FRAGMENT_CHARS}}`, 'gu')) ?? []
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString('utf8')
}

function finishOf(answer: MockAnswer): string {
  return (answer.toolCalls ?? []).length > 0 ? 'tool_calls' : 'stop'
}

/** Unique over all requests of the process: a session may meet several responders. */
function freshCallId(): string {
  return `call_${randomUUID()}`
}

function usageOf(request: WireRequest, answer: MockAnswer): object {
  const prompt = Math.ceil(JSON.stringify(request.body).length / 4)
  const completion = Math.ceil(JSON.stringify(answer).length / 4)
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

/** The deltas of an answer, as DeepSeek cuts them. */
function* deltasOf(request: WireRequest, answer: MockAnswer): Generator<object> {
  yield { role: 'assistant', content: '' }
  for (const content of fragments(answer.text ?? '')) yield { content }
  for (const [position, call] of (answer.toolCalls ?? []).entries()) {
    yield {
      tool_calls: [
        {
          index: position,
          id: freshCallId(),
          type: 'function',
          function: { name: call.name, arguments: '' },
        },
      ],
    }
    for (const part of fragments(JSON.stringify(call.arguments)))
      yield { tool_calls: [{ index: position, function: { arguments: part } }] }
  }
}

function stream(response: ServerResponse, request: WireRequest, answer: MockAnswer): void {
  const frame = {
    id: `chat-${request.index}`,
    object: 'chat.completion.chunk',
    created: 1,
    model: request.body.model,
  }
  const send = (choice: object, rest: object = {}) =>
    response.write(`data: ${JSON.stringify({ ...frame, choices: [{ index: 0, ...choice }], ...rest })}\n\n`)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const delta of deltasOf(request, answer)) {
    send({ delta, finish_reason: null })
    if (answer.fault === 'disconnect') return void response.destroy()
    if (answer.fault === 'malformed') return void response.end('data: {"choices": [{"delta": {"con\n\n')
    // The client ends it, or the server's end.
    if (answer.fault === 'stall') return
  }
  send({ delta: {}, finish_reason: finishOf(answer) }, { usage: usageOf(request, answer) })
  response.end('data: [DONE]\n\n')
}

function whole(request: WireRequest, answer: MockAnswer): object {
  const tool_calls = (answer.toolCalls ?? []).map((call) => ({
    id: freshCallId(),
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }))
  const message = {
    role: 'assistant',
    content: answer.text ?? '',
    ...(tool_calls.length === 0 ? {} : { tool_calls }),
  }
  return {
    id: `chat-${request.index}`,
    object: 'chat.completion',
    created: 1,
    model: request.body.model,
    choices: [{ index: 0, message, finish_reason: finishOf(answer) }],
    usage: usageOf(request, answer),
  }
}

function json(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}

class Server implements MockLlm {
  baseUrl = ''
  requests: WireRequest[] = []
  failures: string[] = []
  private respond: Responder
  private readonly server = createServer((request, response) => void this.serve(request, response))

  constructor(respond: Responder) {
    this.respond = respond
  }

  async listen(): Promise<void> {
    this.server.listen(0, '127.0.0.1')
    await once(this.server, 'listening')
    this.baseUrl = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`
  }

  play(respond: Responder): void {
    this.respond = respond
    this.requests = []
    this.failures = []
  }

  private async serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await bodyOf(incoming)
      if (incoming.method !== 'POST' || incoming.url !== '/v1/chat/completions') {
        this.failures.push(`${incoming.method} ${incoming.url}`)
        return json(response, 404, { error: { message: 'this server has chat completions only' } })
      }
      await this.answer(JSON.parse(body) as WireBody, response)
    } catch (error) {
      this.failures.push(error instanceof Error ? (error.stack ?? error.message) : String(error))
      if (response.headersSent) response.destroy()
      else json(response, 400, { error: { message: String(error) } })
    }
  }

  private async answer(body: WireBody, response: ServerResponse): Promise<void> {
    const request = new WireRequest(this.requests.length, body)
    this.requests.push(request)
    const answer = await this.respond(request)
    if (answer.fault === 'reset') return void response.destroy()
    if (answer.fault === 'overflow') return json(response, 400, { error: OVERFLOW })
    if (typeof answer.fault === 'number')
      return json(response, answer.fault, { error: { message: `fault ${answer.fault}` } })
    if (body.stream === true) stream(response, request, answer)
    else json(response, 200, whole(request, answer))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.close()
    this.server.closeAllConnections()
    await once(this.server, 'close')
  }
}

export async function startMockLlm(respond: Responder): Promise<MockLlm> {
  const server = new Server(respond)
  await server.listen()
  return server
}
