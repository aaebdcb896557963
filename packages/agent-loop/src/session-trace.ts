/**
 * What a session's own log says about a run: where its message is, and what its turn came to.
 * Pure readings of session events.
 */
import type { SessionEvent, TurnEndReason } from '@deepseek-ai/dsh-session'
import type { Settlement } from './run-record.ts'

/** Longer replies are cut at this many characters, and say so; even escaped they fit into one entry. */
export const MAX_REPLY_CHARACTERS = 600_000

/**
 * Where a message is:
 * - `absent`: never seen, or taken out of the inbox again without a turn.
 * - `pending`: in the inbox.
 * - `claimed`: a turn took it; `delivered` tells whether it reached the conversation, and `end` is
 *   there once that turn is closed.
 */
export type MessageTrace =
  | { readonly kind: 'absent' }
  | { readonly kind: 'pending' }
  | {
      readonly kind: 'claimed'
      readonly turn: number
      readonly delivered: boolean
      readonly end?: TurnEndReason
    }

/** Follows one message through the events of a session, its own part (without a fork's seed). */
export function traceMessage(events: readonly SessionEvent[], messageId: string): MessageTrace {
  const inbox: Record<'next-turn' | 'next-step', string[]> = { 'next-turn': [], 'next-step': [] }
  let openTurn = 0
  let trace: MessageTrace = { kind: 'absent' }
  for (const event of events) {
    switch (event.type) {
      case 'turn/start':
        openTurn = event.data.turn
        break
      case 'agent/inbox/spliced': {
        const { target, start, removedCount = 0, inserted, outcome } = event.data
        const removed = inbox[target].splice(start, removedCount, ...inserted.map((message) => message.id))
        if (removed.includes(messageId)) {
          trace =
            outcome === 'canceled'
              ? { kind: 'absent' }
              : { kind: 'claimed', turn: openTurn, delivered: false }
        }
        if (inserted.some((message) => message.id === messageId)) trace = { kind: 'pending' }
        break
      }
      case 'user/message':
        if (event.data.id === messageId) trace = { kind: 'claimed', turn: openTurn, delivered: true }
        break
      case 'turn/end':
        trace = closed(trace, event)
        break
      default:
        break
    }
  }
  return trace
}

function closed(trace: MessageTrace, { data }: SessionEvent<'turn/end'>): MessageTrace {
  return trace.kind === 'claimed' && trace.turn === data.turn ? { ...trace, end: data.reason } : trace
}

/** Whether the event is something that the agent did, and not only something that happened to it. */
export function isProgress(event: SessionEvent): boolean {
  switch (event.type) {
    case 'assistant/chunk': {
      const { chunk } = event.data
      if (chunk.type === 'tool-call-delta') return chunk.argumentsDelta !== ''
      return (chunk.type === 'text-delta' || chunk.type === 'reasoning-delta') && chunk.text !== ''
    }
    case 'assistant/message':
    case 'tool/call':
    case 'tool/result':
    case 'step/start':
      return true
    default:
      return false
  }
}

/** The last text of the assistant in a turn, and the usage of all its messages together. */
export function readTurn(events: readonly SessionEvent[], turn: number): Pick<Settlement, 'reply' | 'usage'> {
  let reply: string | undefined
  let usage: { inputTokens: number; outputTokens: number } | undefined
  for (let index = events.length - 1; index >= 0; index -= 1) {
    const event = events[index]
    if (event === undefined || (event.type === 'turn/start' && event.data.turn <= turn)) break
    if (event.type !== 'assistant/message' || event.data.turn !== turn) continue
    reply ??= textOf(event)
    if (event.data.usage === undefined) continue
    usage ??= { inputTokens: 0, outputTokens: 0 }
    usage.inputTokens += countOf(event.data.usage.inputTokens)
    usage.outputTokens += countOf(event.data.usage.outputTokens)
  }
  return { ...(reply === undefined ? {} : { reply }), ...(usage === undefined ? {} : { usage }) }
}

/** Adapters report what their provider sent. */
function countOf(tokens: number): number {
  return Number.isFinite(tokens) && tokens > 0 ? tokens : 0
}

function textOf(event: SessionEvent<'assistant/message'>): string | undefined {
  const text = event.data.message.content
    .flatMap((block) => (block.type === 'text' ? [block.text] : []))
    .join('')
  return text.trim() === '' ? undefined : keptReply(text)
}

/** A reply as it is kept. */
export function keptReply(text: string): string {
  if (text.length <= MAX_REPLY_CHARACTERS) return text.toWellFormed()
  const left = text.length - MAX_REPLY_CHARACTERS
  return `${text.slice(0, MAX_REPLY_CHARACTERS).toWellFormed()}\n[cut: ${left} more characters]`
}
