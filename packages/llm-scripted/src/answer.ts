/** Turns a step and the values of its conversation into the chunks of an answer. Pure. */
import { CallId, type StreamChunk, type TokenUsage } from '@deepseek-ai/dsh-llm'
import type { RequestView } from './request-view.ts'
import { fillJson, fillTemplate, type Captures } from './templates.ts'
import type { Step } from './types.ts'

/** What the model says, complete. */
export interface Answer {
  readonly reasoning: string | undefined
  readonly text: string | undefined
  readonly toolCalls: readonly AnsweredCall[]
}

export interface AnsweredCall {
  readonly id: string
  readonly name: string
  /** JSON text. */
  readonly arguments: string
}

/**
 * @param nextCallId makes the id of each tool call, in order.
 * @throws ScriptedLlmError `unknown-capture` when a template names a value that is not there.
 */
export function composeAnswer(step: Step, captures: Captures, nextCallId: () => string): Answer {
  return {
    reasoning: step.reasoning === undefined ? undefined : fillTemplate(step.reasoning, captures),
    text: step.text === undefined ? undefined : fillTemplate(step.text, captures),
    toolCalls: step.toolCalls.map((call) => ({
      name: call.name,
      arguments: JSON.stringify(fillJson(call.arguments, captures)),
      id: nextCallId(),
    })),
  }
}

/** The chunks of an answer without usage and finish, in the order reasoning, text, tool calls. */
export function chunksOf(answer: Answer, chunkChars: number): StreamChunk[] {
  const chunks: StreamChunk[] = []
  let index = 0
  for (const [type, text] of [['reasoning', answer.reasoning] as const, ['text', answer.text] as const]) {
    if (text === undefined) continue
    chunks.push({ type: 'block-start', index, blockType: type })
    for (const part of split(text, chunkChars)) chunks.push({ type: `${type}-delta`, index, text: part })
    chunks.push({ type: 'block-end', index, block: { type, text } })
    index += 1
  }
  for (const call of answer.toolCalls) {
    const block = { type: 'tool-call', ...call, id: CallId(call.id) } as const
    chunks.push({ type: 'block-start', index, blockType: 'tool-call' })
    chunks.push({
      type: 'tool-call-delta',
      index,
      id: block.id,
      name: call.name,
      argumentsDelta: call.arguments,
    })
    chunks.push({ type: 'block-end', index, block })
    index += 1
  }
  return chunks
}

/**
 * Counted, not measured: a token is four characters, rounded up. The input is the system prompt and the
 * text of the conversation, without tool schemas; the output what was said, names of tools included.
 */
export function usageOf(request: RequestView, answer: Answer): TokenUsage {
  const { reasoning = '', text = '' } = answer
  const calls = answer.toolCalls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0)
  return {
    inputTokens: Math.ceil((request.system.length + request.conversation.length) / 4),
    outputTokens: Math.ceil((reasoning.length + text.length + calls) / 4),
  }
}

/** Parts of `size` characters; a character outside the basic plane is never cut in two. */
function split(text: string, size: number): string[] {
  if (text.length <= size) return [text]
  const characters = Array.from(text)
  const parts: string[] = []
  for (let start = 0; start < characters.length; start += size) {
    parts.push(characters.slice(start, start + size).join(''))
  }
  return parts
}
