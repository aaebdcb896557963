/** Events of a run as a test writes them, and what a person gets of them. */
import { RunReplies } from '../../src/replies/run-replies.ts'
import type { Reply, ReplyOptions, ReplyPayload } from '../../src/replies/types.ts'
import type {
  AgentEvent,
  AssistantData,
  DeliveryReceipt,
  EventBlock,
  EventBody,
  LifecycleData,
} from '../../src/streams/types.ts'

export const delta = (text: string, message = 1, block = 0): EventBody =>
  assistant({ phase: 'delta', message, block, delta: text })

export const textEnd = (text: string, message = 1, block = 0): EventBody =>
  assistant({ phase: 'text-end', message, block, text })

export const messageEnd = (text: string, message = 1, images: readonly EventBlock[] = []): EventBody =>
  assistant({ phase: 'message-end', message, text, images, toolCalls: 0 })

export const reset = (message = 1): EventBody =>
  assistant({ phase: 'reset', message, reason: 'compaction-retry' })

/** A message as models write them: deltas of one character, the end of the text, the end of the message. */
export const said = (text: string, message = 1): EventBody[] => [
  ...[...text].map((letter) => delta(letter, message)),
  textEnd(text, message),
  messageEnd(text, message),
]

export const thought = (text: string, message = 1): EventBody[] => [
  { stream: 'thinking', data: { phase: 'delta', message, block: 9, delta: text } },
  { stream: 'thinking', data: { phase: 'end', message, block: 9, text } },
]

export interface CallOptions {
  readonly message?: number
  readonly args?: string
  readonly failed?: string
  readonly code?: string
  readonly receipt?: Omit<DeliveryReceipt, 'message'>
}

export function called(name: string, options: CallOptions = {}): EventBody[] {
  const { message = 1, args = 'a', failed, code, receipt } = options
  const callId = `${name} ${args}`
  const content = [{ type: 'text' as const, text: failed ?? 'fine' }]
  const isError = failed !== undefined
  const more = {
    ...(code === undefined ? {} : { code }),
    ...(receipt === undefined ? {} : { receipt: { message, ...receipt } }),
  }
  return [
    { stream: 'tool', data: { phase: 'start', message, callId, name, args: { args } } },
    { stream: 'tool', data: { phase: 'end', message, callId, name, isError, content, ...more } },
  ]
}

export const ended = lifecycle({ phase: 'end', state: 'ok', endedAt: 1 })

export const failed = (code: string, message: string, state: 'error' | 'aborted' | 'timed-out' = 'error') =>
  lifecycle({ phase: 'error', state, endedAt: 1, error: { code, message } })

export const image = (id: string): EventBlock => ({ type: 'image', id, mediaType: 'image/png', bytes: 1 })

/** The replies to these events. */
export function tell(bodies: readonly (EventBody | EventBody[])[], options: ReplyOptions = {}): Reply[] {
  const replies = new RunReplies('r', options)
  return asEvents(bodies.flat()).flatMap((event) => [...replies.push(event)])
}

export function asEvents(bodies: readonly EventBody[], runId = 'r'): AgentEvent[] {
  return bodies.map((body, index) => ({ runId, sessionId: 's', seq: index + 1, ts: 0, ...body }))
}

export function final(replies: readonly Reply[]): Extract<Reply, { kind: 'final' }> {
  const last = replies.at(-1)
  if (last?.kind !== 'final') throw new Error('the last reply is no final')
  return last
}

export const lines = (payloads: readonly ReplyPayload[]): string[] =>
  payloads.map(({ kind, text, images }) => `${kind}: ${text}${images.length > 0 ? ` +${images.length}` : ''}`)

export function blocks(replies: readonly Reply[]): string[] {
  return lines(replies.flatMap((reply) => (reply.kind === 'block' ? [reply.payload] : [])))
}

export function deltas(replies: readonly Reply[]): string[] {
  return replies.flatMap((reply) => (reply.kind === 'delta' ? [reply.text] : []))
}

function assistant(data: AssistantData): EventBody {
  return { stream: 'assistant', data }
}

function lifecycle(data: LifecycleData): EventBody {
  return { stream: 'lifecycle', data }
}
